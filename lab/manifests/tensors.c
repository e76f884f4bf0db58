// SPDX-License-Identifier: Apache-2.0
// Inputs and outputs in a manifest's format. For the table in manifest.c.
#include "manifests/modalities.h"

#include <string.h>

#define SIZE_MAXIMUM INT32_MAX
#define DIMENSION_PATTERN "^[A-Za-z_][A-Za-z0-9_.-]*$"

enum status field_tensor_type(const struct fields *fields, const struct field *field, const struct document_node *node,
                              void *target)
{
  const char *names[TENSOR_TYPES] = {NULL};
  size_t count = 0, index = 0;
  for (enum tensor_type type = TENSOR_FLOAT; type < TENSOR_TYPES; type++)
    if (tensor_type_facts(type)->bytes > 0)
      names[count++] = tensor_type_facts(type)->name;
  XSP_TRY(fields_choice(fields, field, node, names, &index));
  *(enum tensor_type *)(void *)((char *)target + field->offset) = tensor_type_named(names[index]);
  return STATUS_OK;
}

static enum status read_shape(const struct fields *fields, const struct field *field, const struct document_node *node,
                              void *target)
{
  struct expectation *expectation = &((struct manifest_tensor *)target)->expectation;
  struct tensor_info *info = &expectation->info;
  XSP_TRY(fields_kind(fields, field, node, NODE_LIST));
  if (node->count > TENSOR_MAXIMUM_RANK)
    return fields_wrong(fields, node, NULL, "shape has more than %d dimensions", TENSOR_MAXIMUM_RANK);
  expectation->has_shape = true;
  const struct field name = {.key = "shape", .pattern = DIMENSION_PATTERN, .example = "[N, 3, 224, 224]"};
  for (const struct document_node *entry = node->first; entry != NULL; entry = entry->next) {
    unsigned at = info->rank++;
    info->shape[at] = -1;
    if (entry->kind == NODE_TEXT)
      XSP_TRY(field_word(fields, &name, entry, &info->dimension_name[at]));
    else
      XSP_TRY(fields_integer(fields, entry, "a dimension", 1, SIZE_MAXIMUM, &info->shape[at]));
  }
  return STATUS_OK;
}

static enum status fill_constant(const struct fields *fields, const struct field *field,
                                 const struct document_node *node, void *target)
{
  struct manifest_tensor *tensor = target;
  struct fill_rule *fill = &tensor->expectation.fill;
  fill->kind = RULE_CONSTANT;
  XSP_TRY(fields_number(fields, node, field->key, &fill->low));
  tensor->fill_text = arena_format(fields->arena, "constant %g", fill->low);
  return STATUS_OK;
}

static enum status fill_file(const struct fields *fields, const struct field *field, const struct document_node *node,
                             void *target)
{
  struct manifest_tensor *tensor = target;
  XSP_TRY(field_text(fields, field, node, target));
  tensor->fill_text = arena_format(fields->arena, "file %s", tensor->fill_file);
  return STATUS_OK;
}

// [LOW, HIGH]
static enum status fill_range(const struct fields *fields, const struct field *field, const struct document_node *node,
                              void *target)
{
  struct manifest_tensor *tensor = target;
  struct fill_rule *fill = &tensor->expectation.fill;
  bool is_integers = strcmp(field->key, "integers") == 0;
  fill->kind = is_integers ? RULE_INTEGERS : RULE_UNIFORM;
  XSP_TRY(fields_kind(fields, field, node, NODE_LIST));
  if (node->count != 2)
    return fields_wrong(fields, node, is_integers ? "integers: [0, 9]" : "uniform: [-1, 1]",
                        "%s takes two numbers, the least and the most", field->key);
  double *end = &fill->low;
  for (const struct document_node *entry = node->first; entry != NULL; entry = entry->next, end = &fill->high) {
    int64_t integer = 0;
    if (!is_integers) {
      XSP_TRY(fields_number(fields, entry, field->key, end));
      continue;
    }
    XSP_TRY(fields_integer(fields, entry, field->key, -(INT64_C(1) << 53), INT64_C(1) << 53, &integer));
    *end = (double)integer;
  }
  if (fill->low > fill->high)
    return fields_wrong(fields, node, "the smaller number first", "%s: the first number is above the second",
                        field->key);
  tensor->fill_text = arena_format(fields->arena, is_integers ? "%s from %.0f to %.0f" : "%s from %g to %g", field->key,
                                   fill->low, fill->high);
  return STATUS_OK;
}

static const struct field fill_keys[] = {
    {.key = "constant", .read = fill_constant, .example = "1"},
    {.key = "uniform", .read = fill_range, .example = "[-1, 1]"},
    {.key = "integers", .read = fill_range, .example = "[0, 9]"},
    {.key = "file", .read = fill_file, .offset = offsetof(struct manifest_tensor, fill_file), .example = "x.npy"},
    {0},
};

static enum status read_fill(const struct fields *fields, const struct field *field, const struct document_node *node,
                             void *target)
{
  static const char *const words[] = {"uniform", "zeros", "ones", NULL};
  static const struct fill_rule rules[] = {{RULE_DEFAULT, 0, 0}, {RULE_CONSTANT, 0, 0}, {RULE_CONSTANT, 1, 0}};
  struct manifest_tensor *tensor = target;
  if (node->kind == NODE_MAP) {
    if (node->count != 1)
      return fields_wrong(fields, node, "fill: zeros, or fill: {constant: 1}", "fill takes one rule");
    return fields_read(fields, fill_keys, node, "fill", target);
  }
  size_t index = 0;
  XSP_TRY(fields_choice(fields, field, node, words, &index));
  tensor->expectation.fill = rules[index];
  tensor->fill_text = index > 0 ? words[index] : NULL;
  return STATUS_OK;
}

static const struct field input_keys[] = {
    {"name", true, field_text, offsetof(struct manifest_tensor, expectation.info.name), NULL, "data"},
    {"type", false, field_tensor_type, offsetof(struct manifest_tensor, expectation.info.type), NULL, "float32"},
    {"shape", false, read_shape, 0, NULL, "[N, 3, 224, 224]"},
    {"fill", false, read_fill, 0, NULL, "uniform"},
    {0},
};
static const struct field output_keys[] = {
    {"name", true, field_text, offsetof(struct manifest_tensor, expectation.info.name), NULL, "probabilities"},
    {"type", false, field_tensor_type, offsetof(struct manifest_tensor, expectation.info.type), NULL, "float32"},
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
    char where[512];
    document_where(manifest->path, entry->line, where, sizeof where);
    tensor->line = entry->line;
    tensor->expectation.is_output = !is_input;
    tensor->expectation.where = arena_copy(fields->arena, where, strlen(where));
    tensor->expectation.info.name = "";
    const struct field *keys = modality_keys(entry, is_input, tensor),
                       *plain_keys = is_input ? input_keys : output_keys;
    XSP_TRY(fields_read(fields, keys != NULL ? keys : plain_keys, entry, is_input ? "an input" : "an output", tensor));
    const char *name = tensor->expectation.info.name;
    if (name[0] == 0 && node->count > 1)
      return fields_wrong(fields, entry, "name: data", "of several %s each needs a name", field->key);
    for (size_t i = 0; i + 1 < count; i++)
      if (strcmp(tensors[i].expectation.info.name, name) == 0)
        return fields_wrong(fields, entry, "one of them", "%.100s is listed twice, first in line %u", name,
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

enum status manifest_tensors_complete(const struct fields *fields)
{
  const struct manifest *manifest = fields->manifest;
  const struct document_node at = {.line = manifest->element_type_line};
  for (size_t i = 0; i < manifest->input_count; i++) {
    struct manifest_tensor *input = &manifest->inputs[i];
    if (input->expectation.is_image)
      XSP_TRY(manifest_picture_complete(fields, &at, input));
    else if (input->expectation.info.type == 0)
      input->expectation.info.type = manifest->element_type;
  }
  return STATUS_OK;
}
