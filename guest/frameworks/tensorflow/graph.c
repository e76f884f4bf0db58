// SPDX-License-Identifier: Apache-2.0
// Reads GraphDef (see graph.h). Counts before it allocates, so memory is bounded by the bytes it is given.
#include "frameworks/tensorflow/graph.h"

#include "base/hash.h"
#include "base/slice.h"
#include "base/wire.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NODES_MAXIMUM (UINT32_MAX / 4)

struct reading {
  struct arena *arena;
  const char *start; // of the graph, for places in it
  const char *problem;
};

static bool fail(struct reading *reading, const char *problem)
{
  if (reading->problem == NULL)
    reading->problem = problem;
  return false;
}

// After a message's last field: was it damaged? The problem has the place.
static bool is_whole(struct reading *reading, const struct wire *message)
{
  if (message->problem == NULL)
    return true;
  return fail(reading, arena_format(reading->arena, "not a TensorFlow graph, or damaged at byte %zu: %s",
                                    (size_t)(message->at - reading->start), message->problem));
}

static const char *copy(struct reading *reading, const struct wire_field *field)
{
  // A name with a NUL inside is cut there: it then names nothing, and a lookup fails.
  return arena_copy(reading->arena, field->bytes, field->length);
}

// ---- attributes ------------------------------------------------------------------------------------------------------

static void read_dimension(struct wire message, struct tensorflow_shape *shape)
{
  int64_t size = 0;
  struct wire_field field;
  while (wire_find(&message, 1, WIRE_VARINT, &field)) // size
    size = (int64_t)field.value;
  if (shape->rank >= TENSORFLOW_RANK_MAXIMUM)
    shape->rank = TENSORFLOW_NO_RANK;
  else
    shape->size[shape->rank++] = size < 0 ? -1 : size;
}

void tensorflow_shape_read(const void *bytes, size_t length, struct tensorflow_shape *ret_shape)
{
  struct wire message = wire_over(bytes, length);
  *ret_shape = (struct tensorflow_shape){0};
  struct wire_field field;
  while (wire_next(&message, &field)) {
    if (wire_is(&field, 2, WIRE_BYTES) && ret_shape->rank <= TENSORFLOW_RANK_MAXIMUM) // dim
      read_dimension(wire_inside(&field), ret_shape);
    if (wire_is(&field, 3, WIRE_VARINT) && field.value != 0) // unknown_rank
      ret_shape->rank = TENSORFLOW_NO_RANK;
  }
}

// Texts of an attribute's list, with spaces between: "BiasAdd Relu". NULL: it has none.
static const char *join_list(struct reading *reading, struct wire message)
{
  const char *joined = NULL;
  struct wire_field field;
  while (wire_find(&message, 2, WIRE_BYTES, &field)) { // s
    int length = field.length > 256 ? 256 : (int)field.length;
    joined = arena_format(reading->arena, "%s%s%.*s", joined != NULL ? joined : "", joined != NULL ? " " : "", length,
                          field.bytes);
    if (strlen(joined) > 1024)
      break;
  }
  return joined;
}

// Numbers of an attribute's list: "[1,3,3,1]", packed or one by one. NULL: too many.
static const char *join_numbers(struct reading *reading, struct wire message)
{
  char text[128] = "[";
  size_t used = 1;
  struct wire_field field;
  while (wire_next(&message, &field) && used + 32 < sizeof text) {
    if (wire_is(&field, 3, WIRE_VARINT)) // i
      used += (size_t)snprintf(text + used, sizeof text - used, "%s%" PRIu64, used > 1 ? "," : "", field.value);
    if (!wire_is(&field, 3, WIRE_BYTES))
      continue;
    for (const char *at = field.bytes; at < field.bytes + field.length && used + 32 < sizeof text; at++) {
      if (*at < 0)
        return NULL; // no window is that large
      used += (size_t)snprintf(text + used, sizeof text - used, "%s%d", used > 1 ? "," : "", *at);
    }
  }
  if (message.problem != NULL || used + 32 >= sizeof text)
    return NULL;
  return arena_format(reading->arena, "%s]", text);
}

static void read_value(struct reading *reading, struct slice key, struct wire value, struct tensorflow_node *node)
{
  struct wire_field field;
  while (wire_next(&value, &field)) {
    if (slice_is(key, "dtype") && wire_is(&field, 6, WIRE_VARINT)) // type
      node->type = (uint32_t)field.value;
    if (slice_is(key, "shape") && wire_is(&field, 7, WIRE_BYTES)) // shape
      tensorflow_shape_read(field.bytes, field.length, &node->shape);
    if (slice_is(key, "fused_ops") && wire_is(&field, 1, WIRE_BYTES)) // list
      node->fused_ops = join_list(reading, wire_inside(&field));
    if (slice_is(key, "ksize") && wire_is(&field, 1, WIRE_BYTES)) // list
      node->window = join_numbers(reading, wire_inside(&field));
    if (slice_is(key, "activation_mode") && wire_is(&field, 2, WIRE_BYTES)) // s
      node->activation = copy(reading, &field);
    if (slice_is(key, "num_side_inputs") && wire_is(&field, 3, WIRE_VARINT)) // i
      node->has_side_input = field.value != 0;
    if (slice_is(key, "is_training") && wire_is(&field, 5, WIRE_VARINT)) // b
      node->is_training = field.value != 0;
    if (slice_is(key, "f") && wire_is(&field, 10, WIRE_BYTES)) { // func
      struct wire function = wire_inside(&field);
      struct wire_field name;
      while (wire_find(&function, 1, WIRE_BYTES, &name))
        node->function = copy(reading, &name);
    }
  }
}

static void read_attribute(struct reading *reading, struct wire entry, struct tensorflow_node *node)
{
  struct wire_field key = {0}, value = {0}, field;
  while (wire_next(&entry, &field)) {
    if (wire_is(&field, 1, WIRE_BYTES))
      key = field;
    if (wire_is(&field, 2, WIRE_BYTES))
      value = field;
  }
  if (key.bytes != NULL && value.bytes != NULL)
    read_value(reading, (struct slice){key.bytes, key.length}, wire_inside(&value), node);
}

// ---- nodes -----------------------------------------------------------------------------------------------------------

static bool read_node(struct reading *reading, struct wire message, struct tensorflow_node *node)
{
  node->name = node->op = "";
  node->shape.rank = TENSORFLOW_NO_RANK; // without the attribute
  node->inputs = arena_alloc_array(reading->arena, wire_count(message, 3) + 1, sizeof *node->inputs);
  struct wire_field field;
  while (wire_next(&message, &field)) {
    if (field.type != WIRE_BYTES)
      continue;
    const char *text = field.number <= 3 ? copy(reading, &field) : "";
    if (field.number == 1)
      node->name = text;
    else if (field.number == 2)
      node->op = text;
    else if (field.number == 3)
      node->inputs[node->input_count++] = text;
    else if (field.number == 5)
      read_attribute(reading, wire_inside(&field), node);
  }
  return is_whole(reading, &message);
}

static void make_slots(struct reading *reading, struct tensorflow_graph *graph)
{
  size_t slot_count = 16;
  while (slot_count < graph->count * 2)
    slot_count *= 2;
  graph->slots = arena_alloc_array(reading->arena, slot_count, sizeof *graph->slots);
  graph->slot_count = slot_count;
  graph->seed = hash_new_seed();
  for (size_t i = 0; i < graph->count; i++) {
    const char *name = graph->nodes[i].name;
    size_t length = strlen(name);
    if (tensorflow_graph_find(graph, name, length) != NULL)
      continue; // the first of a name counts; TensorFlow refuses the graph anyway
    size_t at = hash_text(name, length, graph->seed) & (slot_count - 1);
    while (graph->slots[at] != 0)
      at = (at + 1) & (slot_count - 1);
    graph->slots[at] = (uint32_t)i + 1;
  }
}

// The nodes of a message in which they are fields of `number`.
static bool read_nodes(struct reading *reading, struct wire message, uint64_t number, struct tensorflow_graph *graph)
{
  size_t count = wire_count(message, number);
  if (count > NODES_MAXIMUM)
    return fail(reading, "too many nodes");
  graph->nodes = arena_alloc_array(reading->arena, count + 1, sizeof *graph->nodes);
  struct wire_field field;
  while (wire_find(&message, number, WIRE_BYTES, &field))
    if (!read_node(reading, wire_inside(&field), &graph->nodes[graph->count++]))
      return false;
  make_slots(reading, graph);
  return is_whole(reading, &message);
}

static bool read_function(struct reading *reading, struct wire message, struct tensorflow_graph *function)
{
  function->name = "";
  struct wire walk = message;
  struct wire_field field, name;
  while (wire_find(&walk, 1, WIRE_BYTES, &field)) { // signature
    struct wire signature = wire_inside(&field);
    while (wire_find(&signature, 1, WIRE_BYTES, &name))
      function->name = copy(reading, &name);
  }
  return read_nodes(reading, message, 3, function);
}

static bool read_library(struct reading *reading, struct wire message, struct tensorflow_graph *graph)
{
  if (graph->functions != NULL)
    return fail(reading, "it has two libraries of functions");
  graph->functions = arena_alloc_array(reading->arena, wire_count(message, 1) + 1, sizeof *graph->functions);
  struct wire_field field;
  while (wire_find(&message, 1, WIRE_BYTES, &field))
    if (!read_function(reading, wire_inside(&field), &graph->functions[graph->function_count++]))
      return false;
  return is_whole(reading, &message);
}

bool tensorflow_graph_read(const void *bytes, size_t length, struct arena *arena, struct tensorflow_graph *ret_graph,
                           const char **ret_problem)
{
  *ret_graph = (struct tensorflow_graph){0};
  struct wire message = wire_over(bytes, length);
  struct reading reading = {arena, message.at, NULL};
  bool read = read_nodes(&reading, message, 1, ret_graph);
  struct wire_field field;
  while (read && wire_find(&message, 2, WIRE_BYTES, &field)) // library
    read = read_library(&reading, wire_inside(&field), ret_graph);
  *ret_problem = reading.problem;
  return read && reading.problem == NULL;
}

// ---- looking up ------------------------------------------------------------------------------------------------------

const struct tensorflow_node *tensorflow_graph_find(const struct tensorflow_graph *graph, const char *name,
                                                    size_t length)
{
  if (graph->slot_count == 0)
    return NULL;
  for (size_t at = hash_text(name, length, graph->seed) & (graph->slot_count - 1); graph->slots[at] != 0;
       at = (at + 1) & (graph->slot_count - 1)) {
    const struct tensorflow_node *node = &graph->nodes[graph->slots[at] - 1];
    if (strlen(node->name) == length && memcmp(node->name, name, length) == 0)
      return node;
  }
  return NULL;
}

const struct tensorflow_graph *tensorflow_function_find(const struct tensorflow_graph *graph, const char *name)
{
  for (size_t i = 0; i < graph->function_count; i++)
    if (strcmp(graph->functions[i].name, name) == 0)
      return &graph->functions[i];
  return NULL;
}

const struct tensorflow_node *tensorflow_graph_input(const struct tensorflow_graph *graph, const char *input)
{
  const char *name;
  size_t length = tensorflow_input_node(input, &name);
  return length > 0 ? tensorflow_graph_find(graph, name, length) : NULL;
}

bool *tensorflow_graph_consumed(const struct tensorflow_graph *graph, struct arena *arena)
{
  bool *is_consumed = arena_alloc_array(arena, graph->count + 1, sizeof *is_consumed);
  for (size_t i = 0; i < graph->count; i++)
    for (size_t k = 0; k < graph->nodes[i].input_count; k++) {
      const struct tensorflow_node *from = tensorflow_graph_input(graph, graph->nodes[i].inputs[k]);
      if (from != NULL)
        is_consumed[from - graph->nodes] = true;
    }
  return is_consumed;
}

size_t tensorflow_input_node(const char *input, const char **ret_name)
{
  *ret_name = input;
  return input[0] == '^' ? 0 : strcspn(input, ":");
}
