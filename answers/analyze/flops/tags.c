// SPDX-License-Identifier: Apache-2.0
// Reads shapes from the tags that predictors and importers give layers, and counts their operators, each different one
// once. Called by layers.c. Tags: ONNX Runtime's input_shape, layer_shape, …_bytes (guest/frameworks/onnxruntime); Kineto's
// "Input Dims", "Input type", "Concrete Inputs"; kernel_shape, group, size, mode from whoever knows them
// (`xsp profile` reads them from the model); operator and fused_ops of the other predictors; OpenVINO's primitive.
#include "analyze/flops/tags.h"

#include <math.h>
#include <string.h>
#include <strings.h>

// ---- reading --------------------------------------------------------------------------------------------------------
enum { TEXTS = 11, NUMBERS = 5 };
static const char *const text_keys[TEXTS] = {"layer_type", "layer_shape",     "input_shape",  "Input Dims",
                                             "Input type", "Concrete Inputs", "kernel_shape", "mode",
                                             "operator",   "fused_ops",       "primitive"};
static const char *const number_keys[NUMBERS] = {"size", "group", "activation_bytes", "parameter_bytes",
                                                 "output_bytes"};

static void find_keys(struct store *store, uint32_t keys[TEXTS + NUMBERS])
{
  for (size_t i = 0; i < TEXTS + NUMBERS; i++) {
    const char *name = i < TEXTS ? text_keys[i] : number_keys[i - TEXTS];
    if (!store_find_string(store, name, strlen(name), &keys[i]))
      keys[i] = 0; // no tag has it
  }
}

static void read_tag(struct flop_facts *facts, const struct store_tag *tag, const uint32_t keys[TEXTS + NUMBERS])
{
  uint32_t *texts[TEXTS] = {&facts->type,      &facts->shape,  &facts->inputs,       &facts->dims,
                            &facts->types,     &facts->values, &facts->kernel_shape, &facts->mode,
                            &facts->operation, &facts->fused,  &facts->primitive};
  int64_t *numbers[NUMBERS] = {&facts->size, &facts->group, &facts->input_bytes, &facts->parameter_bytes,
                               &facts->output_bytes};
  for (size_t i = 0; i < TEXTS; i++)
    if (tag->key == keys[i] && tag->type == STORE_TEXT)
      *texts[i] = tag->value.string;
  for (size_t i = 0; i < NUMBERS; i++)
    if (tag->key == keys[TEXTS + i] && tag->type == STORE_INT && tag->value.integer >= 0)
      *numbers[i] = tag->value.integer;
}

struct reading {
  const struct run_columns *columns;
  const uint32_t *layer_of;
  struct flop_facts *facts;
  uint32_t keys[TEXTS + NUMBERS];
};

static enum status visit_tags(void *context, const struct store_tag *tags, size_t count, struct error *err)
{
  const struct reading *reading = context;
  for (size_t i = 0; i < count; i++) {
    uint32_t row = run_columns_row(reading->columns, tags[i].span_id);
    if (row != ROW_NONE && reading->layer_of[row] != ROW_NONE)
      read_tag(&reading->facts[reading->layer_of[row]], &tags[i], reading->keys);
  }
  return STATUS_OK;
}

enum status flop_tags_load(const struct run_columns *columns, const uint32_t *layer_of, size_t layer_count,
                           struct arena *arena, struct flop_tags *ret_tags, struct error *err)
{
  struct store *store = columns->store;
  *ret_tags = (struct flop_tags){.store = store};
  ret_tags->facts = arena_alloc_array(arena, layer_count + 1, sizeof *ret_tags->facts);
  struct reading reading = {.columns = columns, .layer_of = layer_of, .facts = ret_tags->facts};
  for (size_t i = 0; i < columns->spans.count; i++) {
    if (layer_of[i] == ROW_NONE)
      continue;
    struct flop_facts *facts = &ret_tags->facts[layer_of[i]];
    memset(facts, 0, sizeof *facts); // padding too: facts are compared as bytes
    facts->name = columns->spans.name[i];
    facts->tracer = columns->spans.tracer[i];
    facts->size = facts->group = facts->input_bytes = facts->parameter_bytes = facts->output_bytes = STORE_NONE;
  }
  find_keys(store, reading.keys);
  return store_walk_tags_of(store, columns->run->run->run_id, reading.keys, TEXTS + NUMBERS, visit_tags, &reading, err);
}

// ---- counting -------------------------------------------------------------------------------------------------------
static const char *text_of(const struct flop_tags *tags, uint32_t string, size_t *ret_length)
{
  return store_text(tags->store, string, ret_length);
}

static enum flop_dialect dialect_of(const struct flop_tags *tags, const struct flop_facts *facts)
{
  static const struct {
    const char *tracer;
    enum flop_dialect dialect;
  } known[] = {
      {"tensorflow", FLOPS_TENSORFLOW}, {"mxnet", FLOPS_MXNET}, {"openvino", FLOPS_OPENVINO}, {"litert", FLOPS_TFLITE}};
  const char *tracer = text_of(tags, facts->tracer, NULL);
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
    if (strcmp(tracer, known[i].tracer) == 0)
      return known[i].dialect;
  return FLOPS_ONNX;
}

// The operator's name: the tag `operator`, else the layer's type; the layer's name where it is ATen's.
// As a string id; 0: unknown.
static uint32_t type_of(const struct flop_tags *tags, const struct flop_facts *facts)
{
  if (strncmp(text_of(tags, facts->name, NULL), "aten::", 6) == 0)
    return facts->name;
  return facts->operation != 0 ? facts->operation : facts->type;
}

// Operators differ by their shapes far more than by their names.
static struct flop_match match_of(struct flop_tags *tags, enum flop_dialect dialect, uint32_t type)
{
  bool is_new = false;
  if (type == 0)
    return (struct flop_match){0};
  uint64_t *place = map_at(&tags->match_of, (struct map_key){type, dialect}, &is_new);
  if (is_new) {
    *place = tags->matches.count;
    *vector_add(&tags->matches) = flops_find(dialect, text_of(tags, type, NULL));
  }
  return tags->matches.items[*place];
}

static const struct shapes *read_shapes(const struct flop_tags *tags, uint32_t string, struct shapes *shapes)
{
  size_t length;
  const char *text = text_of(tags, string, &length);
  bool is_read = string != 0 && (shapes_read(text, length, shapes) || shapes_read_typed(text, length, shapes));
  return is_read ? shapes : NULL;
}

static double bytes_of(int64_t recorded)
{
  return recorded == STORE_NONE ? NAN : (double)recorded;
}

static void read_aten(struct flop_tags *tags, const struct flop_facts *facts, struct flop_operation *operation)
{
  size_t length;
  const char *text = text_of(tags, facts->dims, &length);
  if (facts->dims == 0 || !shapes_read_arguments(text, length, &tags->inputs))
    return;
  operation->inputs = &tags->inputs;
  text = text_of(tags, facts->types, &length);
  if (facts->types != 0)
    shapes_read_types(text, length, &tags->inputs); // up to an error
  text = text_of(tags, facts->values, &length);
  if (facts->values != 0 && shape_values_read(text, length, &tags->values))
    operation->values = &tags->values;
}

static struct flop_attribute number(const char *name, int64_t value)
{
  return (struct flop_attribute){name, {.kind = VALUE_NUMBERS, .count = 1, .numbers = {(double)value}}};
}

// What the layer computed in, which need not be its tensors' type: "brgconv_avx512_bf16". Else `element`.
static struct element_type computed_in(const struct flop_tags *tags, const struct flop_facts *facts,
                                       struct element_type element)
{
  static const struct {
    const char *ending;
    struct element_type type;
  } known[] = {{"_f64", {8, true}}, {"_f32", {4, true}}, {"_bf16", {2, true}}, {"_f16", {2, true}}, {"_I8", {1, true}}};
  const char *primitive = facts->primitive != 0 ? text_of(tags, facts->primitive, NULL) : "";
  const char *ending = strrchr(primitive, '_');
  for (size_t i = 0; ending != NULL && i < sizeof known / sizeof known[0]; i++)
    if (strcasecmp(ending, known[i].ending) == 0)
      return known[i].type;
  return element;
}

static struct flop_counts count(struct flop_tags *tags, const struct flop_facts *facts, enum flop_dialect dialect,
                                const char *type, const struct flop_match *match)
{
  struct flop_attribute attributes[4];
  struct flop_operation operation = {
      .dialect = dialect,
      .type = type,
      .match = match,
      .fused = facts->fused == 0 ? NULL : text_of(tags, facts->fused, NULL),
      .attributes = attributes,
      .input_bytes = bytes_of(facts->input_bytes),
      .parameter_bytes = bytes_of(facts->parameter_bytes),
      .output_bytes = bytes_of(facts->output_bytes),
  };
  if (match->rule == NULL)
    return flop_counts_unknown;
  if (match->is_aten) {
    read_aten(tags, facts, &operation);
    return flops_count(&operation);
  }
  operation.inputs = read_shapes(tags, facts->inputs, &tags->inputs);
  operation.outputs = read_shapes(tags, facts->shape, &tags->outputs);
  size_t length;
  if (facts->kernel_shape != 0) {
    const char *text = text_of(tags, facts->kernel_shape, &length);
    attributes[operation.attribute_count++] = (struct flop_attribute){"kernel_shape", shape_value_read(text, length)};
  }
  if (facts->mode != 0) {
    const char *text = text_of(tags, facts->mode, &length);
    attributes[operation.attribute_count++] = (struct flop_attribute){"mode", shape_value_read(text, length)};
  }
  if (facts->size != STORE_NONE)
    attributes[operation.attribute_count++] = number("size", facts->size);
  if (facts->group != STORE_NONE)
    attributes[operation.attribute_count++] = number("group", facts->group);
  return flops_count(&operation);
}

// ---- wrappers -------------------------------------------------------------------------------------------------------
// "AddmmBackward0", "ReluBackward": autograd's own nodes. A user's function may compute anything.
static bool is_backward_node(const char *name)
{
  size_t length = strlen(name);
  if (strcmp(name, "torch::autograd::AccumulateGrad") == 0)
    return true;
  while (length > 0 && name[length - 1] >= '0' && name[length - 1] <= '9')
    length--;
  static const char suffix[] = "Backward";
  size_t suffix_length = sizeof suffix - 1;
  return length > suffix_length && strncmp(name + length - suffix_length, suffix, suffix_length) == 0 &&
         strcspn(name, ": .<") == strlen(name);
}

static enum flop_role role_of(const struct flop_tags *tags, const struct flop_facts *facts, const char *type,
                              const struct flop_match *match)
{
  // Their graphs' nodes are layers too: ONNX's, then TensorFlow's.
  static const char *const graphs[] = {
      "If", "Loop", "Scan", "PartitionedCall", "StatefulPartitionedCall", "StatelessIf", "StatelessWhile", "While"};
  static const char evaluation[] = "autograd::engine::evaluate_function: ";
  const char *name = text_of(tags, facts->name, NULL);
  if (strncmp(name, evaluation, sizeof evaluation - 1) == 0 || is_backward_node(name))
    return FLOP_WRAPPER;
  for (size_t i = 0; type != NULL && i < sizeof graphs / sizeof graphs[0]; i++)
    if (strcmp(type, graphs[i]) == 0)
      return FLOP_WRAPPER;
  return flops_are_composite(*match) ? FLOP_WRAPPER : FLOP_OPERATOR;
}

// ---- each different one once ---------------------------------------------------------------------------------------
const struct flop_known *flop_tags_count(struct flop_tags *tags, uint32_t layer)
{
  const struct flop_facts *facts = &tags->facts[layer];
  uint32_t id = interner_at(&tags->known, (const char *)facts, sizeof *facts);
  if (id == tags->counts.count) {
    enum flop_dialect dialect = dialect_of(tags, facts);
    uint32_t string = type_of(tags, facts);
    const char *type = string == 0 ? NULL : text_of(tags, string, NULL);
    struct flop_match match = match_of(tags, dialect, string);
    struct flop_known known = {count(tags, facts, dialect, type, &match), role_of(tags, facts, type, &match)};
    known.counts.element = computed_in(tags, facts, known.counts.element);
    *vector_add(&tags->counts) = known;
  }
  return &tags->counts.items[id];
}

void flop_tags_done(struct flop_tags *tags)
{
  interner_done(&tags->known);
  vector_done(&tags->counts);
  map_done(&tags->match_of);
  vector_done(&tags->matches);
}
