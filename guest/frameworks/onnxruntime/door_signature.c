// SPDX-License-Identifier: Apache-2.0
// Signatures of inferences of Python programs: names, types and shapes of what is fed. Caches ("past_key_values.0.key") do not count,
// nor does a mask that is longer than the first input: they grow with each call of a decoder. Also how much of token ids is padding.
// Called by door_python_runs.c, with the interpreter held.
#include "frameworks/common/text_writer.h"
#include "frameworks/onnxruntime/door_objects.h"

#include <string.h>

#define RANK_MAXIMUM 16

struct shape {
  int64_t dims[RANK_MAXIMUM];
  python_size rank; // at most RANK_MAXIMUM are kept
};
struct writing {
  struct text_writer text;
  struct shape first;
  bool has_first;
  struct padding_of_call padding;
};
struct python_buffer { // Py_buffer
  void *elements, *object;
  python_size bytes, element_bytes;
  int is_read_only, rank;
  const char *format;
  python_size *dims, *strides, *offsets;
  void *internal;
};
#define IN_ORDER (0x38 | 0x4) // PyBUF_C_CONTIGUOUS | PyBUF_FORMAT

static void *call_method(void *object, const char *name) // new; NULL: it has none
{
  void *method = ort_module.python->get_attribute(object, name);
  void *result = method != NULL ? ort_module.python->call_object(method, NULL) : NULL;
  ort_object_release(method);
  return result;
}

// Of an array, or of the module's own value.
static bool read_shape(void *value, bool is_own, struct shape *ret_shape)
{
  const struct python *py = ort_module.python;
  void *shape = is_own ? call_method(value, "shape") : py->get_attribute(value, "shape");
  ret_shape->rank = shape != NULL ? py->sequence_size(shape) : -1;
  for (python_size i = 0; i < ret_shape->rank && i < RANK_MAXIMUM; i++) {
    void *item = py->sequence_item(shape, i);
    ret_shape->dims[i] = item != NULL ? py->int_value(item) : -1;
    ort_object_release(item);
  }
  ort_object_release(shape);
  py->error_clear();
  return ret_shape->rank >= 0;
}

// "int64" of an array, "tensor(int64)" of the module's own value.
static void put_type(struct text_writer *text, void *value, bool is_own)
{
  void *type = is_own ? NULL : ort_module.python->get_attribute(value, "dtype");
  void *name = is_own         ? call_method(value, "data_type")
               : type != NULL ? ort_module.python->get_attribute(type, "name")
                              : NULL;
  const char *found = ort_text_of(name);
  text_put(text, found != NULL ? found : "?");
  ort_object_release(name);
  ort_object_release(type);
  ort_module.python->error_clear();
}

static bool is_cache(const char *name)
{
  return strstr(name, "past") != NULL || strstr(name, "cache") != NULL || strstr(name, "present") != NULL;
}

// Token ids and masks: whole numbers in two dimensions, of an array. Those of one byte each are a picture, or a mask.
static void look_for_padding(struct writing *writing, void *value, bool is_mask)
{
  const struct python *py = ort_module.python;
  static int (*get)(void *object, struct python_buffer *buffer, int flags);
  static void (*release)(struct python_buffer * buffer);
  struct python_buffer buffer = {.object = NULL};
  if (!padding_may_change(&writing->padding, is_mask))
    return;
  if (get == NULL || release == NULL) {
    void *symbols[] = {py->symbol("PyObject_GetBuffer"), py->symbol("PyBuffer_Release")};
    memcpy(&get, &symbols[0], sizeof get);
    memcpy(&release, &symbols[1], sizeof release);
  }
  if (get == NULL || release == NULL)
    return;
  if (get(value, &buffer, IN_ORDER) != 0) {
    py->error_clear();
    return;
  }
  const char *formats = is_mask ? "lqiB?" : "lqi";
  if (buffer.rank == 2 && buffer.format != NULL && buffer.format[0] != 0 && strchr(formats, buffer.format[0]) != NULL)
    padding_look(&writing->padding, &(struct padding_input){.elements = buffer.elements,
                                                            .size = (uint32_t)buffer.element_bytes,
                                                            .rows = (uint64_t)buffer.dims[0],
                                                            .columns = (uint64_t)buffer.dims[1],
                                                            .is_mask = is_mask});
  release(&buffer);
}

static void add(struct writing *writing, const char *name, void *value, bool is_mask)
{
  void *class = ort_module.value_class;
  bool is_own = class != NULL && ort_module.python->is_instance(value, class) > 0;
  struct text_writer *text = &writing->text;
  struct shape shape;
  if (!read_shape(value, is_own, &shape))
    return;
  bool is_long = shape.rank > 0 && shape.rank <= RANK_MAXIMUM && writing->first.rank > 1 &&
                 shape.dims[shape.rank - 1] > writing->first.dims[1];
  if (is_mask && writing->has_first && is_long)
    return;
  text_put(text, text->length > 0 ? ", " : "");
  text_put(text, name);
  text_put(text, "=");
  put_type(text, value, is_own);
  text_put(text, "[");
  for (python_size i = 0; i < shape.rank && i < RANK_MAXIMUM; i++) {
    text_put(text, i > 0 ? "," : "");
    text_put_integer(text, shape.dims[i]);
  }
  text_put(text, shape.rank > RANK_MAXIMUM ? ",...]" : "]");
  if (!is_own && shape.rank == 2)
    look_for_padding(writing, value, is_mask);
  if (!writing->has_first)
    writing->first = shape;
  writing->has_first = true;
}

bool ort_signature_of_feed(void *feed, char *text, size_t size, struct padding *ret_padding)
{
  const struct python *py = ort_module.python;
  struct writing writing = {.text = {text, size, 0}};
  text[0] = 0;
  if (feed == NULL || py->dict_size(feed) < 1) {
    py->error_clear();
    return false;
  }
  for (int masks = 0; masks < 2; masks++) { // they come last
    python_size position = 0;
    void *key, *value;
    while (py->dict_next(feed, &position, &key, &value)) {
      py->incref(key); // a class of the program's may change the dictionary
      py->incref(value);
      const char *name = ort_text_of(key);
      if (name != NULL && !is_cache(name) && (strstr(name, "mask") != NULL) == (masks == 1))
        add(&writing, name, value, masks == 1);
      py->decref(value);
      py->decref(key);
    }
  }
  *ret_padding = writing.padding.padding;
  return writing.text.length > 0;
}
