// SPDX-License-Identifier: Apache-2.0
// Finds the rule of an operator and applies it: counts, then the bytes that must move. Called by tags.c. The rules are in
// catalog.c.
#include "analyze/flops/rules.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const struct flop_counts flop_counts_unknown = {NAN, NAN, NAN, NAN, NAN, {0, false}};

double flop_counts_flops(const struct flop_counts *counts)
{
  return 2 * counts->multiply_adds + counts->adds + counts->compares + counts->specials;
}

// ---- what rules read ------------------------------------------------------------------------------------------------
const struct shape *flop_tensor(const struct flop_operation *operation, unsigned argument)
{
  for (size_t i = 0; operation->inputs != NULL && i < operation->inputs->count; i++)
    if (operation->inputs->items[i].argument == argument)
      return operation->inputs->items[i].rank >= 1 ? &operation->inputs->items[i] : NULL;
  return NULL;
}

const struct shape *flop_output(const struct flop_operation *operation)
{
  bool has = operation->outputs != NULL && operation->outputs->count > 0 && operation->outputs->items[0].rank >= 0;
  return has ? &operation->outputs->items[0] : NULL;
}

const struct shape_value *flop_value(const struct flop_operation *operation, unsigned argument)
{
  bool has = operation->values != NULL && argument < operation->values->count &&
             operation->values->items[argument].kind != VALUE_NONE;
  return has ? &operation->values->items[argument] : NULL;
}

bool flop_truth(const struct flop_operation *operation, unsigned argument, bool *ret_truth)
{
  const struct shape_value *value = flop_value(operation, argument);
  if (value == NULL || (value->kind != VALUE_TRUTH && (value->kind != VALUE_NUMBERS || value->count != 1)))
    return false;
  *ret_truth = value->kind == VALUE_TRUTH ? value->truth : value->numbers[0] != 0;
  return true;
}

const struct shape_value *flop_attribute(const struct flop_operation *operation, const char *name)
{
  for (size_t i = 0; i < operation->attribute_count; i++)
    if (strcmp(operation->attributes[i].name, name) == 0)
      return &operation->attributes[i].value;
  return NULL;
}

double flop_product(const struct shape *shape, int first, int end)
{
  double product = 1;
  for (int i = first; i < end; i++)
    product *= shape->dims[i];
  return product;
}

void flop_set(struct flop_work *work, double multiply_adds, double adds, double compares, double specials)
{
  work->counts.multiply_adds = multiply_adds;
  work->counts.adds = adds;
  work->counts.compares = compares;
  work->counts.specials = specials;
}

// ---- rules ----------------------------------------------------------------------------------------------------------
// Whether `type` is one of `names`, which are separated by spaces.
bool flops_lists(const char *names, const char *type, size_t length)
{
  while (names != NULL) {
    const char *end = strchrnul(names, ' ');
    if ((size_t)(end - names) == length && memcmp(names, type, length) == 0)
      return true;
    names = *end == 0 ? NULL : end + 1;
  }
  return false;
}

static const struct flop_rule *find_in(enum flop_dialect dialect, const char *type)
{
  size_t length = strlen(type);
  for (const struct flop_rule *rule = flop_rules; !rule->is_end; rule++) {
    const char *const names[] = {
        [FLOPS_ONNX] = rule->onnx,         [FLOPS_TENSORFLOW] = rule->tensorflow, [FLOPS_MXNET] = rule->mxnet,
        [FLOPS_OPENVINO] = rule->openvino, [FLOPS_TFLITE] = rule->tflite,
    };
    if (flops_lists(names[dialect], type, length))
      return rule;
  }
  return NULL;
}

static struct flop_match find_aten(const char *type, size_t length)
{
  for (const struct flop_rule *rule = flop_rules; !rule->is_end; rule++) {
    const char *const names[] = {rule->aten, rule->aten1, rule->aten2, rule->aten3};
    for (unsigned operands = 0; operands < 4; operands++)
      if (flops_lists(names[operands], type, length))
        return (struct flop_match){rule, true, operands};
  }
  return (struct flop_match){.is_aten = true};
}

// "_MklNativeFusedConv2D" -> "Conv2D"; points into `type`.
static const char *tensorflow_plain(const char *type)
{
  static const char *const marks[] = {"_", "Mkl", "Native", "PadWith", "Fused"};
  const char *plain = type;
  for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
    if (strncmp(plain, marks[i], strlen(marks[i])) == 0 && plain[strlen(marks[i])] != 0)
      plain += strlen(marks[i]);
  return plain;
}

struct flop_match flops_find(enum flop_dialect dialect, const char *type)
{
  static const char prefix[] = "aten::";
  if (strncmp(type, prefix, sizeof prefix - 1) == 0) {
    size_t length = strlen(type += sizeof prefix - 1);
    struct flop_match match = find_aten(type, length);
    bool is_in_place = match.rule == NULL && length > 1 && type[length - 1] == '_';
    return is_in_place ? find_aten(type, length - 1) : match;
  }
  const struct flop_rule *rule = find_in(dialect, type);
  if (rule == NULL && dialect == FLOPS_TENSORFLOW)
    rule = find_in(dialect, tensorflow_plain(type));
  return (struct flop_match){.rule = rule};
}

bool flops_are_composite(struct flop_match match)
{
  return match.rule != NULL && match.rule->is_composite;
}

static double first_input_elements(const struct flop_operation *operation)
{
  if (operation->inputs == NULL || operation->inputs->count == 0)
    return NAN;
  return shape_elements(&operation->inputs->items[0]);
}

// Of all tensors together, aligned at the last dimension; rank -1 where they do not fit.
static struct shape broadcast(const struct shapes *shapes, unsigned operands)
{
  struct shape all = {0};
  for (size_t i = 0; i < shapes->count && (operands == 0 || shapes->items[i].argument < operands); i++) {
    const struct shape *shape = &shapes->items[i];
    if (shape->rank < 0)
      return *shape;
    struct shape merged = shape->rank > all.rank ? *shape : all;
    int common = shape->rank < all.rank ? shape->rank : all.rank;
    for (int k = 1; k <= common; k++) {
      double a = all.dims[all.rank - k];
      double b = shape->dims[shape->rank - k];
      if (a != b && a != 1 && b != 1)
        return (struct shape){.rank = -1};
      merged.dims[merged.rank - k] = a == 1 ? b : a;
    }
    all = merged;
  }
  return all;
}

// Of the operands together; of the first tensor, where all arguments are read.
static double result_elements(const struct flop_match *match, const struct flop_operation *operation)
{
  if (operation->inputs == NULL || operation->inputs->count == 0 || operation->inputs->is_cut)
    return NAN;
  if (match->operands == 0)
    return first_input_elements(operation);
  struct shape all = broadcast(operation->inputs, match->operands);
  return shape_elements(&all);
}

static void apply_coefficients(const struct flop_rule *rule, struct flop_work *work, double output_elements)
{
  const struct shapes *inputs = work->operation->inputs;
  double elements = rule->per == PER_INPUT ? first_input_elements(work->operation) : output_elements;
  if (rule->multiply_adds == 0 && rule->adds == 0 && rule->compares == 0 && rule->specials == 0)
    elements = 0; // moves only
  if (rule->per == PER_FURTHER && inputs != NULL && !inputs->is_cut && inputs->count > 0)
    elements *= (double)(inputs->count - 1);
  else if (rule->per == PER_FURTHER)
    elements = NAN;
  flop_set(work, rule->multiply_adds * elements, rule->adds * elements, rule->compares * elements,
           rule->specials * elements);
}

// ---- bytes ----------------------------------------------------------------------------------------------------------
// Of tensors from index `first` on, of the first `operands` arguments (0: of all). NaN where one has no known element
// size.
static double bytes_of(const struct shapes *shapes, size_t first, unsigned operands)
{
  if (shapes == NULL || shapes->is_cut)
    return NAN;
  double bytes = 0;
  for (size_t i = first; i < shapes->count; i++) {
    const struct shape *shape = &shapes->items[i];
    if (operands != 0 && shape->argument >= operands)
      break;
    if (shape->type.bytes == 0 && shape->rank == 0)
      continue; // a number, a list, or nothing
    bytes += shape->type.bytes == 0 ? NAN : shape_elements(shape) * shape->type.bytes;
  }
  return bytes;
}

static double moved(enum flop_traffic traffic, double inputs, double further_inputs, double result)
{
  switch (traffic) {
  case MOVES_NOTHING:
    return 0;
  case MOVES_RESULT:
    return result;
  case MOVES_PICKED:
    return 2 * result + further_inputs;
  default:
    return inputs + result;
  }
}

// ---- outputs are recorded: all but ATen -----------------------------------------------------------------------------
// By its recorded type, else by the size of its outputs that the framework recorded.
static struct element_type recorded_element(const struct flop_operation *operation)
{
  const struct shape *output = flop_output(operation);
  if (output == NULL)
    return (struct element_type){0};
  if (output->type.bytes != 0)
    return output->type;
  double bytes = operation->outputs->count == 1 ? operation->output_bytes / shape_elements(output) : NAN;
  bool is_size = bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
  return (struct element_type){is_size ? (uint8_t)bytes : 0, is_size && bytes > 1};
}

static double recorded_bytes(const struct flop_rule *rule, const struct flop_work *work)
{
  const struct flop_operation *operation = work->operation;
  if (rule->traffic == MOVES_NOTHING)
    return 0;
  double missing = work->missing_elements == 0 ? 0 : work->missing_elements * work->counts.element.bytes;
  if (work->counts.element.bytes == 0 && missing != 0)
    missing = NAN;
  double result = isnan(operation->output_bytes) ? bytes_of(operation->outputs, 0, 0) : operation->output_bytes;
  double inputs = operation->input_bytes + operation->parameter_bytes;
  if (isnan(inputs))
    inputs = bytes_of(operation->inputs, 0, 0);
  double further = isnan(operation->input_bytes) ? bytes_of(operation->inputs, 1, 0) : 0;
  return moved(rule->traffic, inputs + missing, further, result);
}

// Fused operators work on each element of the result, once. An unknown one makes the whole count unknown.
static void add_fused(struct flop_work *work, double output_elements)
{
  const struct flop_operation *operation = work->operation;
  struct flop_counts *counts = &work->counts;
  for (const char *at = operation->fused; at != NULL && *at != 0;) {
    size_t length = strcspn(at, " ");
    char type[64];
    snprintf(type, sizeof type, "%.*s", (int)(length < sizeof type ? length : sizeof type - 1), at);
    const struct flop_rule *rule = flops_find(operation->dialect, type).rule;
    double elements = rule == NULL || rule->count != NULL ? NAN : output_elements;
    counts->multiply_adds += elements * (rule == NULL ? 0 : rule->multiply_adds);
    counts->adds += elements * (rule == NULL ? 0 : rule->adds);
    counts->compares += elements * (rule == NULL ? 0 : rule->compares);
    counts->specials += elements * (rule == NULL ? 0 : rule->specials);
    at += length + strspn(at + length, " ");
  }
}

static void count_recorded(const struct flop_rule *rule, struct flop_work *work)
{
  const struct shape *output = flop_output(work->operation);
  double output_elements = output == NULL ? NAN : shape_elements(output);
  work->counts.element = recorded_element(work->operation);
  if (rule->count == NULL)
    apply_coefficients(rule, work, output_elements);
  else if (!rule->count(work))
    flop_set(work, NAN, NAN, NAN, NAN);
  add_fused(work, output_elements);
  work->counts.bytes = recorded_bytes(rule, work);
}

// ---- ATen: only inputs are recorded ---------------------------------------------------------------------------------
static struct element_type aten_element(const struct flop_operation *operation, const struct flop_rule *rule)
{
  if (rule->gives_truths)
    return (struct element_type){1, false};
  for (size_t i = 0; operation->inputs != NULL && i < operation->inputs->count; i++)
    if (operation->inputs->items[i].rank >= 1)
      return operation->inputs->items[i].type;
  return (struct element_type){0};
}

static void count_aten(const struct flop_match *match, struct flop_work *work)
{
  const struct flop_rule *rule = match->rule;
  work->counts.element = aten_element(work->operation, rule);
  work->output_elements = result_elements(match, work->operation);
  if (rule->count == NULL) {
    apply_coefficients(rule, work, work->output_elements);
  } else if (!rule->count(work)) {
    flop_set(work, NAN, NAN, NAN, NAN);
    work->output_elements = NAN;
  }
  double result = work->output_elements * (work->counts.element.bytes == 0 ? NAN : work->counts.element.bytes);
  const struct shapes *inputs = work->operation->inputs;
  work->counts.bytes =
      moved(rule->traffic, bytes_of(inputs, 0, match->operands), bytes_of(inputs, 1, match->operands), result);
}

static bool is_amount(double value)
{
  return isfinite(value) && value >= 0;
}

struct flop_counts flops_count(const struct flop_operation *operation)
{
  struct flop_match match = {0};
  if (operation->match != NULL)
    match = *operation->match;
  else if (operation->type != NULL)
    match = flops_find(operation->dialect, operation->type);
  if (match.rule == NULL)
    return flop_counts_unknown;
  struct flop_work work = {
      .operation = operation, .rule = match.rule, .counts = flop_counts_unknown, .output_elements = NAN};
  if (match.is_aten)
    count_aten(&match, &work);
  else
    count_recorded(match.rule, &work);
  struct flop_counts *counts = &work.counts;
  // Products of hostile shapes, and windows of negative size.
  if (!is_amount(counts->multiply_adds) || !is_amount(counts->adds) || !is_amount(counts->compares) ||
      !is_amount(counts->specials) || !is_amount(flop_counts_flops(counts)))
    flop_set(&work, NAN, NAN, NAN, NAN);
  if (!is_amount(counts->bytes))
    counts->bytes = NAN;
  return *counts;
}
