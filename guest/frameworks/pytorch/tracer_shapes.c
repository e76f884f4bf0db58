// SPDX-License-Identifier: Apache-2.0
// Inputs of operators, as torch.profiler(record_shapes=True) spells them: sizes, strides, types, values of scalars and short
// lists. PyTorch's C functions describe tensors. Values (c10::IValue) have none, and the numbers of their kinds differ between
// versions: they are learned from torch.profiler's own function, which names the kinds of an operator's inputs. Called by
// tracer_operators.c on the operator's thread, at its begin; allocates only while it learns.
#include "base/hash.h"
#include "frameworks/common/guest.h"
#include "frameworks/common/text_writer.h"
#include "frameworks/pytorch/tracer.h"

#include <math.h>
#include <string.h>

#define LIST_MOST 30u // of scalars; torch.profiler leaves longer ones out
#define CHECKS 64u    // operators
#define INPUTS_MOST 64u
#define TAGS 64u

enum kind { KIND_UNKNOWN, KIND_OTHER, KIND_TENSOR, KIND_INT, KIND_DOUBLE, KIND_BOOL, KIND_SCALAR, KIND_LIST };
struct value { // c10::IValue
  union {
    int64_t integer;
    double real;
    bool is_true;
    const void *object;
  };
  uint32_t tag; // number of the kind
};
struct values { // c10::ArrayRef, and how std::vector begins
  const struct value *begin;
  size_t count;
};

static uint8_t kinds_by_tag[TAGS]; // atomic: enum kind
static uint32_t checks;            // atomic; operators checked
static uint32_t is_refused;        // atomic

static enum kind kind_of(const struct value *value)
{
  return value->tag < TAGS ? (enum kind)__atomic_load_n(&kinds_by_tag[value->tag], __ATOMIC_RELAXED) : KIND_OTHER;
}

// ---- writing ---------------------------------------------------------------------------------------------------------

static void put_numbers(struct text_writer *writer, const int64_t *numbers, int64_t count)
{
  text_put_bytes(writer, "[", 1);
  for (int64_t i = 0; i < count; i++) {
    text_put_bytes(writer, ",", i > 0);
    text_put_integer(writer, numbers[i]);
  }
  text_put_bytes(writer, "]", 1);
}

// As PyTorch prints a double: "1." or 17 digits.
static void put_real(struct text_writer *writer, double real)
{
  if ((fpclassify(real) == FP_NORMAL || real == 0) && fabs(real) < 1e10 && (double)(int64_t)real == real) {
    text_put_integer(writer, (int64_t)real);
    text_put_bytes(writer, ".", 1);
  } else
    text_put_double(writer, real);
}

static void put_scalar(struct text_writer *writer, const struct value *value)
{
  enum kind kind = kind_of(value);
  if (kind == KIND_BOOL)
    text_put(writer, value->is_true ? "True" : "False");
  else if (kind == KIND_INT)
    text_put_integer(writer, value->integer);
  else if (kind == KIND_DOUBLE)
    put_real(writer, value->real);
}

// ---- values ----------------------------------------------------------------------------------------------------------

static bool is_scalar(const struct value *value)
{
  enum kind kind = kind_of(value);
  return kind >= KIND_INT && kind <= KIND_SCALAR;
}

// The name of an object's class, as the compiler spells it. The object has virtual functions.
static const char *class_of(const void *object)
{
  const void *const *functions = *(const void *const *const *)object;
  const char *const *type = functions[-1]; // std::type_info: its own functions, its name
  return type[1];
}

// c10::detail::ListImpl: virtual functions, one or two counts of references, a std::vector of values, the elements' type.
static bool read_list(const struct value *value, struct values *ret_list, bool *ret_is_tensors)
{
  for (uint32_t word = 2; word <= 3; word++) {
    const uintptr_t *at = (const uintptr_t *)value->object + word;
    bool is_vector = at[0] <= at[1] && at[1] <= at[2] && at[0] % 8 == 0 && (at[0] == 0) == (at[2] == 0) &&
                     (at[1] - at[0]) % sizeof(struct value) == 0 && at[3] > 4096 && at[3] % 8 == 0;
    if (!is_vector)
      continue;
    *ret_list = (struct values){(const struct value *)at[0], (at[1] - at[0]) / sizeof(struct value)};
    *ret_is_tensors = strcmp(class_of((const void *)at[3]), "N3c1010TensorTypeE") == 0;
    return true;
  }
  return false;
}

static const char *type_name(int32_t type) // c10::ScalarType
{
  static const char *const names[] = {"unsigned char",
                                      "signed char",
                                      "short int",
                                      "int",
                                      "long int",
                                      "c10::Half",
                                      "float",
                                      "double",
                                      "c10::complex<c10::Half>",
                                      "c10::complex<float>",
                                      "c10::complex<double>",
                                      "bool",
                                      "c10::qint8",
                                      "c10::quint8",
                                      "c10::qint32",
                                      "c10::BFloat16"};
  return type >= 0 && (size_t)type < sizeof names / sizeof names[0] ? names[type] : "";
}

struct texts {
  struct text_writer dims, strides, types, values;
};

static const char *put_tensor(struct texts *texts, const struct value *value)
{
  int64_t rank = 0;
  int32_t type = -1, layout = -1;
  int64_t *numbers = NULL;
  void *tensor = (void *)(uintptr_t)value; // at::Tensor is the pointer that it holds
  bool is_plain = value->object != torch->undefined && strstr(class_of(value->object), "NestedTensorImpl") == NULL &&
                  torch->rank(tensor, &rank) == 0 && torch->type(tensor, &type) == 0 &&
                  torch->layout(tensor, &layout) == 0;
  put_numbers(&texts->dims, numbers, is_plain && torch->sizes(tensor, &numbers) == 0 ? rank : 0);
  put_numbers(&texts->strides, numbers, is_plain && layout == 0 && torch->strides(tensor, &numbers) == 0 ? rank : 0);
  return is_plain ? type_name(type) : "";
}

static const char *put_tensors(struct texts *texts, const struct values *list)
{
  text_put(&texts->dims, "[");
  text_put(&texts->strides, "[");
  for (size_t i = 0; i < list->count; i++) {
    text_put(&texts->dims, i > 0 ? "," : "");
    text_put(&texts->strides, i > 0 ? "," : "");
    put_tensor(texts, &list->begin[i]);
  }
  text_put(&texts->dims, "]");
  text_put(&texts->strides, "]");
  return "TensorList";
}

// Returns the type's name.
static const char *put_input(struct texts *texts, const struct value *value)
{
  struct values list = {NULL, 0};
  bool is_tensors = false;
  bool is_list = kind_of(value) == KIND_LIST && read_list(value, &list, &is_tensors);
  if (kind_of(value) == KIND_TENSOR)
    return put_tensor(texts, value);
  if (is_list && is_tensors)
    return put_tensors(texts, &list);
  text_put(&texts->dims, "[]");
  text_put(&texts->strides, "[]");
  if (is_scalar(value)) {
    put_scalar(&texts->values, value);
    return "Scalar";
  }
  if (!is_list || list.count > LIST_MOST || (list.count > 0 && !is_scalar(&list.begin[0])))
    return "";
  text_put(&texts->values, "[");
  for (size_t i = 0; i < list.count; i++) {
    text_put(&texts->values, i > 0 ? ", " : "");
    put_scalar(&texts->values, &list.begin[i]);
  }
  text_put(&texts->values, "]");
  return "ScalarList";
}

// ---- for people ------------------------------------------------------------------------------------------------------

static void add_tensor(struct text_writer *line, const struct value *value)
{
  int64_t rank = 0, *sizes = NULL;
  int32_t type = -1;
  void *tensor = (void *)(uintptr_t)value;
  bool is_plain = value->object != torch->undefined && strstr(class_of(value->object), "NestedTensorImpl") == NULL &&
                  torch->rank(tensor, &rank) == 0 && torch->type(tensor, &type) == 0 &&
                  torch->sizes(tensor, &sizes) == 0;
  if (!is_plain) {
    text_put(line, "null");
    return;
  }
  text_put(line, "{\"type\":\"");
  text_put(line, type_name(type));
  text_put(line, "\",\"shape\":");
  put_numbers(line, sizes, rank);
  text_put(line, "}");
}

static void add_value(struct text_writer *line, const struct value *value, bool is_element)
{
  struct values list = {NULL, 0};
  bool is_tensors = false;
  enum kind kind = kind_of(value);
  if (kind == KIND_TENSOR)
    add_tensor(line, value);
  else if (kind == KIND_BOOL)
    text_put(line, value->is_true ? "true" : "false");
  else if (kind == KIND_INT)
    text_put_integer(line, value->integer);
  else if (kind == KIND_DOUBLE && isfinite(value->real))
    text_put_double(line, value->real);
  else if (kind == KIND_LIST && !is_element && read_list(value, &list, &is_tensors)) {
    text_put(line, "[");
    for (size_t i = 0; i < list.count && i < LIST_MOST; i++) {
      text_put(line, i > 0 ? "," : "");
      if (is_tensors)
        add_tensor(line, &list.begin[i]);
      else
        add_value(line, &list.begin[i], true);
    }
    text_put(line, "]");
  } else
    text_put(line, "null");
}

// ---- kinds -----------------------------------------------------------------------------------------------------------

struct string { // std::string
  char *text;
  size_t length;
  char own[16];
};

static enum kind named_kind(const struct value *value, const char *name)
{
  static const struct {
    const char *name;
    enum kind kind;
  } known[] = {
      {"Int", KIND_INT},       {"Double", KIND_DOUBLE},   {"Bool", KIND_BOOL},      {"ComplexDouble", KIND_SCALAR},
      {"SymInt", KIND_SCALAR}, {"SymFloat", KIND_SCALAR}, {"SymBool", KIND_SCALAR}, {"GenericList", KIND_LIST}};
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
    if (strcmp(name, known[i].name) == 0)
      return known[i].kind;
  if (name[0] != 0) // of its elements
    return KIND_TENSOR;
  return value->object == torch->undefined ? KIND_UNKNOWN : KIND_OTHER;
}

// `names` are torch.profiler's of the inputs' kinds. False: they contradict what was learned.
static bool learn(const struct values *inputs, const struct string *names, size_t count)
{
  for (size_t i = 0; i < count && count == inputs->count; i++) {
    const struct value *value = &inputs->begin[i];
    enum kind kind = named_kind(value, names[i].text), before = kind_of(value);
    if (kind == KIND_UNKNOWN)
      continue;
    if (value->tag >= TAGS || (before != KIND_UNKNOWN && before != kind))
      return false;
    __atomic_store_n(&kinds_by_tag[value->tag], (uint8_t)kind, __ATOMIC_RELAXED);
  }
  return count == inputs->count;
}

static bool has_unknown(const struct values *inputs)
{
  bool has = false;
  for (size_t i = 0; i < inputs->count; i++)
    has = has || kind_of(&inputs->begin[i]) == KIND_UNKNOWN;
  return has;
}

static bool is_known_layout(const void *record, const struct values *inputs)
{
  if (__atomic_load_n(&checks, __ATOMIC_RELAXED) >= CHECKS && !has_unknown(inputs))
    return true;
  __atomic_fetch_add(&checks, 1, __ATOMIC_RELAXED);
  struct pytorch_vector vector = torch->kinds(record);
  struct string *names = vector.begin;
  size_t count = (size_t)((struct string *)vector.end - names);
  bool is_same = learn(inputs, names, count);
  for (size_t i = 0; i < count; i++)
    if (names[i].text != names[i].own)
      torch->release(names[i].text);
  if (names != NULL)
    torch->release(names);
  return is_same;
}

static void refuse(const char *message)
{
  if (__atomic_exchange_n(&is_refused, 1, __ATOMIC_RELAXED) == 0)
    guest_report(message);
}

bool pytorch_shapes_start(void)
{
  if (torch->rank == NULL || torch->sizes == NULL || torch->strides == NULL || torch->type == NULL ||
      torch->layout == NULL || torch->kinds == NULL || torch->release == NULL || torch->undefined == NULL ||
      torch->input_count == NULL)
    refuse("this PyTorch lacks the functions that shapes need (made for 2.6 and later): operators are recorded without "
           "them");
  return !is_refused;
}

bool pytorch_shapes_read(const void *record, struct operator_shapes *ret_shapes)
{
  struct values inputs;
  if (__atomic_load_n(&is_refused, __ATOMIC_RELAXED) != 0 || !pytorch_layout_inputs(record, &inputs, sizeof inputs) ||
      inputs.count == 0)
    return false;
  if (inputs.count != torch->input_count(record) && torch->input_count(record) != 0)
    return false;
  if (!is_known_layout(record, &inputs)) {
    refuse("this PyTorch keeps inputs in an unknown way: operators are recorded without shapes");
    return false;
  }
  struct texts texts = {{ret_shapes->dims, SHAPES_TEXT, 0},
                        {ret_shapes->strides, SHAPES_TEXT, 0},
                        {ret_shapes->types, SHAPES_TEXT, 0},
                        {ret_shapes->values, SHAPES_TEXT, 0}};
  struct text_writer *writers[] = {&texts.dims, &texts.strides, &texts.types, &texts.values};
  bool fits = inputs.count <= INPUTS_MOST;
  for (size_t i = 0; i < inputs.count && fits; i++) {
    text_put(&texts.dims, i > 0 ? "," : "[");
    text_put(&texts.strides, i > 0 ? "," : "[");
    text_put(&texts.values, i > 0 ? ",\"" : "[\"");
    text_put(&texts.types, i > 0 ? ",\"" : "[\"");
    text_put(&texts.types, put_input(&texts, &inputs.begin[i]));
    text_put(&texts.types, "\"");
    text_put(&texts.values, "\"");
  }
  ret_shapes->hash = 1;
  for (size_t i = 0; i < 4; i++) {
    text_put(writers[i], "]");
    fits = fits && writers[i]->length < SHAPES_TEXT;
    if (fits)
      ret_shapes->hash = hash_text(writers[i]->text, writers[i]->length, ret_shapes->hash);
  }
  return fits;
}

static int64_t type_bytes(int32_t type) // c10::ScalarType; 0: not known
{
  static const uint8_t bytes[] = {1, 1, 2, 4, 8, 2, 4, 8, 4, 8, 16, 1, 1, 1, 4, 2};
  return type >= 0 && (size_t)type < sizeof bytes ? bytes[type] : 0;
}

bool pytorch_shapes_bytes(const void *record, int64_t *ret_bytes)
{
  struct values inputs;
  *ret_bytes = 0;
  if (!pytorch_shapes_start() || !pytorch_layout_inputs(record, &inputs, sizeof inputs) || inputs.count == 0 ||
      inputs.count > INPUTS_MOST || inputs.count != torch->input_count(record) || !is_known_layout(record, &inputs))
    return false;
  for (size_t i = 0; i < inputs.count; i++) {
    int64_t rank = 0, *sizes = NULL;
    int32_t type = -1;
    void *tensor = (void *)(uintptr_t)&inputs.begin[i];
    if (kind_of(&inputs.begin[i]) != KIND_TENSOR || inputs.begin[i].object == torch->undefined ||
        torch->rank(tensor, &rank) != 0 || torch->type(tensor, &type) != 0 || torch->sizes(tensor, &sizes) != 0 ||
        type_bytes(type) == 0)
      return false;
    int64_t bytes = type_bytes(type);
    for (int64_t k = 0; k < rank; k++)
      bytes *= sizes[k];
    *ret_bytes += bytes;
  }
  return true;
}

size_t pytorch_shapes_describe(const void *record, bool of_outputs, char *text, size_t size)
{
  struct values values;
  struct text_writer line = {text, size, 0};
  if (__atomic_load_n(&is_refused, __ATOMIC_RELAXED) != 0)
    return 0;
  bool is_known =
      of_outputs ? pytorch_layout_outputs(record, (const void **)&values.begin, &values.count, sizeof *values.begin)
                 : pytorch_layout_inputs(record, &values, sizeof values) &&
                       values.count == torch->input_count(record) && is_known_layout(record, &values);
  if (!is_known || values.count == 0)
    return 0;
  for (size_t i = 0; i < values.count; i++) {
    text_put(&line, i > 0 ? "," : "[");
    add_value(&line, &values.begin[i], false);
  }
  text_put(&line, "]");
  return line.length;
}
