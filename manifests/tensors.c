// SPDX-License-Identifier: Apache-2.0
// Inputs and outputs of a manifest; see tensors.h.
#include "manifests/tensors.h"

#include <string.h>

#define SIZE_MAXIMUM INT32_MAX
#define DIMENSION_PATTERN "^[A-Za-z_][A-Za-z0-9_.-]*$"

static enum status read_type(const struct fields *fields, const struct field *field, const struct document_node *node,
                             void *target)
{
  const char *names[TENSOR_TYPES] = {NULL};
  size_t count = 0, index = 0;
  for (enum tensor_type type = TENSOR_FLOAT; type < TENSOR_TYPES; type++)
    if (tensor_type_facts(type)->bytes > 0)
      names[count++] = tensor_type_facts(type)->name;
  XSP_TRY(fields_choice(fields, field, node, names, &index));
  ((struct manifest_tensor *)target)->type = tensor_type_named(names[index]);
  return STATUS_OK;
}

static enum status read_shape(const struct fields *fields, const struct field *field, const struct document_node *node,
                              void *target)
{
  struct manifest_tensor *tensor = target;
  XSP_TRY(fields_kind(fields, field, node, NODE_LIST));
  if (node->count > TENSOR_MAXIMUM_RANK)
    return fields_wrong(fields, node, NULL, "shape has more than %d dimensions", TENSOR_MAXIMUM_RANK);
  tensor->has_shape = true;
  const struct field name = {.key = "shape", .pattern = DIMENSION_PATTERN, .example = "[N, 3, 224, 224]"};
  for (const struct document_node *entry = node->first; entry != NULL; entry = entry->next) {
    unsigned at = tensor->rank++;
    tensor->shape[at] = -1;
    if (entry->kind == NODE_TEXT)
      XSP_TRY(field_word(fields, &name, entry, &tensor->dimension[at]));
    else
      XSP_TRY(fields_integer(fields, entry, "a dimension", 1, SIZE_MAXIMUM, &tensor->shape[at]));
  }
  return STATUS_OK;
}

static enum status fill_constant(const struct fields *fields, const struct field *field,
                                 const struct document_node *node, void *target)
{
  struct manifest_tensor *tensor = target;
  tensor->fill = FILL_CONSTANT;
  return fields_number(fields, node, field->key, &tensor->low);
}

static enum status fill_file(const struct fields *fields, const struct field *field, const struct document_node *node,
                             void *target)
{
  struct manifest_tensor *tensor = target;
  tensor->fill = FILL_FILE;
  const struct field file = {.key = field->key, .example = "x.npy"};
  return field_text(fields, &file, node, &tensor->fill_file);
}

// [LOW, HIGH]
static enum status fill_range(const struct fields *fields, const struct field *field, const struct document_node *node,
                              void *target)
{
  struct manifest_tensor *tensor = target;
  bool is_integers = strcmp(field->key, "integers") == 0;
  tensor->fill = is_integers ? FILL_INTEGERS : FILL_UNIFORM;
  XSP_TRY(fields_kind(fields, field, node, NODE_LIST));
  if (node->count != 2)
    return fields_wrong(fields, node, is_integers ? "integers: [0, 9]" : "uniform: [-1, 1]",
                        "%s takes two numbers, the least and the most", field->key);
  double *const ends[] = {&tensor->low, &tensor->high};
  const struct document_node *entry = node->first;
  for (size_t i = 0; i < 2; i++, entry = entry->next) {
    int64_t integer = 0;
    if (!is_integers) {
      XSP_TRY(fields_number(fields, entry, field->key, ends[i]));
      continue;
    }
    XSP_TRY(fields_integer(fields, entry, field->key, -(INT64_C(1) << 53), INT64_C(1) << 53, &integer));
    *ends[i] = (double)integer;
  }
  if (tensor->low > tensor->high)
    return fields_wrong(fields, node, "the smaller number first", "%s: the first number is above the second",
                        field->key);
  return STATUS_OK;
}

static const struct field fill_keys[] = {
    {.key = "constant", .read = fill_constant, .example = "1"},
    {.key = "uniform", .read = fill_range, .example = "[-1, 1]"},
    {.key = "integers", .read = fill_range, .example = "[0, 9]"},
    {.key = "file", .read = fill_file, .example = "x.npy"},
    {0},
};

static enum status read_fill(const struct fields *fields, const struct field *field, const struct document_node *node,
                             void *target)
{
  static const char *const words[] = {"uniform", "zeros", "ones", NULL};
  static const enum manifest_fill fills[] = {FILL_DEFAULT, FILL_ZEROS, FILL_ONES};
  if (node->kind == NODE_MAP) {
    if (node->count != 1)
      return fields_wrong(fields, node, "fill: zeros, or fill: {constant: 1}", "fill takes one rule");
    return fields_read(fields, fill_keys, node, "fill", target);
  }
  size_t index = 0;
  XSP_TRY(fields_choice(fields, field, node, words, &index));
  ((struct manifest_tensor *)target)->fill = fills[index];
  return STATUS_OK;
}

static const struct field input_keys[] = {
    {"name", true, field_text, offsetof(struct manifest_tensor, name), NULL, "data"},
    {"type", false, read_type, 0, NULL, "float32"},
    {"shape", false, read_shape, 0, NULL, "[N, 3, 224, 224]"},
    {"fill", false, read_fill, 0, NULL, "uniform"},
    {0},
};
static const struct field output_keys[] = {
    {"name", true, field_text, offsetof(struct manifest_tensor, name), NULL, "probabilities"},
    {"type", false, read_type, 0, NULL, "float32"},
    {"shape", false, read_shape, 0, NULL, "[N, 1000]"},
    {0},
};

enum status field_tensors(const struct fields *fields, const struct field *field, const struct document_node *node,
                          void *target)
{
  struct manifest *manifest = target;
  bool is_input = strcmp(field->key, "inputs") == 0;
  void *items = NULL;
  XSP_TRY(fields_room(fields, field, node, NODE_LIST, sizeof(struct manifest_tensor), &items));
  struct manifest_tensor *tensors = items;
  size_t count = 0;
  for (const struct document_node *entry = node->first; entry != NULL; entry = entry->next) {
    struct manifest_tensor *tensor = &tensors[count++];
    tensor->line = entry->line;
    XSP_TRY(
        fields_read(fields, is_input ? input_keys : output_keys, entry, is_input ? "an input" : "an output", tensor));
    for (size_t i = 0; i + 1 < count; i++)
      if (strcmp(tensors[i].name, tensor->name) == 0)
        return fields_wrong(fields, entry, "one of them", "%.100s is listed twice, first in line %u", tensor->name,
                            tensors[i].line);
  }
  if (is_input) {
    manifest->inputs = tensors;
    manifest->input_count = count;
  } else {
    manifest->outputs = tensors;
    manifest->output_count = count;
  }
  return STATUS_OK;
}
