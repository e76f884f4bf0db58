// SPDX-License-Identifier: Apache-2.0
// Signatures of outermost module calls: names, types and shapes of the tensors that are passed themselves, by place or by keyword.
// Tensors in other objects (caches, lists) do not count, nor does a mask that is longer than the first input: it covers a cache and
// grows with each call. Also how much of token ids is padding. Called by tracer_modules.c, with the interpreter held; no code
// of the program runs.
#include "frameworks/common/text_writer.h"
#include "frameworks/pytorch/tracer.h"

#define TEXT_SIZE 512u
#define TYPES 32u
#define RANK_MAXIMUM 16u

static const struct python *py;
static void *tensor_class; // borrowed, alive as long as torch is
static struct {
  const void *type; // torch.dtype: one object each, which is never freed
  const char *text; // "float32"
} types[TYPES];
static uint32_t type_count;
static const char *last_signature; // of any thread: the interpreter is held

struct input {
  int64_t dims[RANK_MAXIMUM];
  int64_t rank; // at most RANK_MAXIMUM are kept
};
struct writing {
  struct text_writer text;
  struct input first;
  bool has_first;
  struct padding_of_call padding;
};

void pytorch_inputs_start(const struct python *python, void *class)
{
  py = python;
  tensor_class = class;
}

bool pytorch_inputs_are_tensor(void *object)
{
  void *class = py->type_of(object);
  if (class != NULL)
    py->decref(class);
  py->error_clear();
  return class != NULL && class == tensor_class;
}

static const char *type_text(void *object)
{
  for (uint32_t i = 0; i < type_count; i++)
    if (types[i].type == object)
      return types[i].text;
  void *text = py->to_text(object);
  const char *name = text != NULL ? py->text(text) : NULL;
  name = name != NULL && strncmp(name, "torch.", 6) == 0 ? name + 6 : name;
  name = name != NULL ? pytorch_names_keep(name) : NULL;
  if (name != NULL && type_count < TYPES) {
    types[type_count].type = object;
    types[type_count++].text = name;
  }
  if (text != NULL)
    py->decref(text);
  py->error_clear();
  return name != NULL ? name : "?";
}

static bool read_shape(void *tensor, struct input *ret_input)
{
  void *shape = py->get_attribute(tensor, "shape");
  ret_input->rank = shape != NULL ? py->tuple_size(shape) : -1;
  for (int64_t i = 0; i < ret_input->rank && i < (int64_t)RANK_MAXIMUM; i++)
    ret_input->dims[i] = py->int_value(py->tuple_item(shape, i));
  if (shape != NULL)
    py->decref(shape);
  py->error_clear();
  return ret_input->rank >= 0;
}

static bool is_mask_of_cache(const struct input *input, const char *name, const struct input *first)
{
  return name != NULL && strstr(name, "mask") != NULL && input->rank > 0 && input->rank <= (int64_t)RANK_MAXIMUM &&
         (first->rank == 2 || first->rank == 3) && input->dims[input->rank - 1] > first->dims[1];
}

// object.name(), else fallback.
static int64_t number_of(void *object, const char *name, int64_t fallback)
{
  void *method = py->get_attribute(object, name);
  void *result = method != NULL ? py->call_object(method, NULL) : NULL;
  int64_t number = result != NULL ? py->int_value(result) : fallback;
  if (result != NULL)
    py->decref(result);
  if (method != NULL)
    py->decref(method);
  py->error_clear();
  return number;
}

// Where the elements are in the process's memory, one after the other, and within what the tensor's storage has; NULL.
static const void *elements_of(void *tensor, const struct padding_input *input)
{
  void *is_cpu = py->get_attribute(tensor, "is_cpu");
  bool is_here = is_cpu != NULL && py->is_true(is_cpu) == 1;
  if (is_cpu != NULL)
    py->decref(is_cpu);
  py->error_clear();
  if (!is_here || number_of(tensor, "is_contiguous", 0) != 1)
    return NULL;
  int64_t last = number_of(tensor, "storage_offset", INT32_MAX) + (int64_t)(input->rows * input->columns);
  void *method = py->get_attribute(tensor, "untyped_storage");
  void *storage = method != NULL ? py->call_object(method, NULL) : NULL;
  bool is_whole = storage != NULL && number_of(storage, "nbytes", 0) / (int64_t)input->size >= last;
  if (storage != NULL)
    py->decref(storage);
  if (method != NULL)
    py->decref(method);
  py->error_clear();
  return is_whole ? (const void *)(intptr_t)number_of(tensor, "data_ptr", 0) : NULL;
}

// Token ids and masks: whole numbers in two dimensions. Those of one byte each are a picture, or a mask.
static void look_for_padding(struct writing *writing, void *tensor, const struct input *shape, const char *type,
                             const char *name)
{
  bool is_mask = name != NULL && strstr(name, "mask") != NULL;
  bool is_byte = strcmp(type, "bool") == 0 || strcmp(type, "uint8") == 0;
  uint32_t size = strcmp(type, "int64") == 0 ? 8 : strcmp(type, "int32") == 0 ? 4 : is_byte && is_mask ? 1 : 0;
  if (size == 0 || shape->rank != 2 || shape->dims[1] < (int64_t)PADDING_COLUMNS_LEAST || shape->dims[0] < 1 ||
      !padding_may_change(&writing->padding, is_mask))
    return;
  struct padding_input input = {
      .size = size, .rows = (uint64_t)shape->dims[0], .columns = (uint64_t)shape->dims[1], .is_mask = is_mask};
  input.elements = elements_of(tensor, &input);
  if (input.elements != NULL)
    padding_look(&writing->padding, &input);
}

// `name`: of a keyword; NULL: none.
static void add(struct writing *writing, void *object, const char *name)
{
  struct input input;
  if (!pytorch_inputs_are_tensor(object) || !read_shape(object, &input))
    return;
  if (writing->has_first && is_mask_of_cache(&input, name, &writing->first))
    return;
  struct text_writer *text = &writing->text;
  void *type = py->get_attribute(object, "dtype");
  text_put(text, text->length > 0 ? ", " : "");
  if (name != NULL) {
    text_put(text, name);
    text_put(text, "=");
  }
  const char *type_name = type != NULL ? type_text(type) : "?";
  text_put(text, type_name);
  for (int64_t i = 0; i < input.rank && i < (int64_t)RANK_MAXIMUM; i++) {
    text_put(text, i > 0 ? "," : "[");
    text_put_integer(text, input.dims[i]);
  }
  text_put(text, input.rank > (int64_t)RANK_MAXIMUM ? ",...]" : input.rank > 0 ? "]" : "[]");
  if (type != NULL)
    py->decref(type);
  py->error_clear();
  look_for_padding(writing, object, &input, type_name, name);
  if (!writing->has_first && input.rank > 0) {
    writing->first = input;
    writing->has_first = true;
  }
}

static const char *keep(const char *text)
{
  if (last_signature != NULL && strcmp(last_signature, text) == 0)
    return last_signature;
  return last_signature = pytorch_names_keep(text);
}

const char *pytorch_inputs_signature(void *const *arguments, size_t count, void *keywords, int64_t *ret_batch_size,
                                     struct padding *ret_padding)
{
  char text[TEXT_SIZE] = "";
  struct writing writing = {.text = {text, sizeof text, 0}};
  size_t keyword_count = keywords != NULL ? (size_t)py->tuple_size(keywords) : 0;
  for (size_t i = 1; i < count; i++) // the first is the module
    add(&writing, arguments[i], NULL);
  for (size_t i = 0; i < keyword_count; i++)
    add(&writing, arguments[count + i], py->text(py->tuple_item(keywords, (python_size)i)));
  *ret_padding = writing.padding.padding;
  *ret_batch_size = writing.has_first ? writing.first.dims[0] : -1;
  return writing.text.length > 0 ? keep(text) : NULL;
}
