// SPDX-License-Identifier: Apache-2.0
// Reads a few attributes of a few kinds of nodes out of an .onnx file; see onnx.h. Field numbers: onnx.proto.

#include "base/mapped.h"
#include "base/slice.h"
#include "base/vector.h"
#include "base/wire.h"
#include "frameworks/onnxruntime/onnx.h"

#include <string.h>

enum { NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_NAME = 3, NODE_TYPE = 4, NODE_ATTRIBUTE = 5 };
enum {
  ATTRIBUTE_NAME = 1,
  ATTRIBUTE_INT = 3,
  ATTRIBUTE_STRING = 4,
  ATTRIBUTE_GRAPH = 6,
  ATTRIBUTE_INTS = 8,
  ATTRIBUTE_GRAPHS = 11
};
enum { TENSOR_DIMS = 1, TENSOR_NAME = 8 };
#define WINDOWS_MOST 65536u

struct entry { // a window while its weights are not known
  struct operator_window window;
  struct slice weights; // of a transposed convolution whose kernel_shape is left to them
  bool is_numbered;     // its name is made up
};
struct list {
  struct arena *arena;
  VECTOR(struct entry) items;
  bool has_other_numbers; // a made-up name may be that of another node, too
};

static struct slice text_of(const struct wire_field *field)
{
  return (struct slice){field->bytes, field->length};
}

static void add_number(uint64_t number, int64_t *numbers, size_t *count)
{
  if (*count < OPERATOR_WINDOW_RANK)
    numbers[*count] = (int64_t)number;
  (*count)++; // beyond the rank: not a window then
}

// Adds the numbers of a repeated field: one a field, or packed.
static void add_numbers(const struct wire_field *field, int64_t *numbers, size_t *count)
{
  struct wire packed = wire_inside(field);
  uint64_t number;
  if (field->type == WIRE_VARINT)
    add_number(field->value, numbers, count);
  while (packed.at < packed.end && wire_varint(&packed, &number))
    add_number(number, numbers, count);
}

static void read_attribute(struct wire attribute, struct operator_window *window, struct arena *arena)
{
  struct wire_field field;
  struct slice name = {0};
  struct slice string = {0};
  int64_t number = -1;
  int64_t numbers[OPERATOR_WINDOW_RANK];
  size_t count = 0;
  while (wire_next(&attribute, &field)) {
    if (wire_is(&field, ATTRIBUTE_NAME, WIRE_BYTES))
      name = text_of(&field);
    else if (wire_is(&field, ATTRIBUTE_INT, WIRE_VARINT))
      number = (int64_t)field.value;
    else if (wire_is(&field, ATTRIBUTE_STRING, WIRE_BYTES))
      string = text_of(&field);
    else if (field.number == ATTRIBUTE_INTS)
      add_numbers(&field, numbers, &count);
  }
  if (slice_is(name, "kernel_shape") && count <= OPERATOR_WINDOW_RANK) {
    memcpy(window->kernel, numbers, count * sizeof *numbers);
    window->kernel_rank = count;
  } else if (slice_is(name, "group")) {
    window->group = number;
  } else if (slice_is(name, "size")) {
    window->size = number;
  } else if (slice_is(name, "mode") && string.length > 0) {
    window->mode = arena_copy(arena, string.data, string.length);
  } else if ((slice_is(name, "is_causal") || slice_is(name, "unidirectional")) && number == 1) {
    window->mode = "causal"; // of ONNX's Attention; of ONNX Runtime's own
  }
}

static bool is_wanted(struct slice type)
{
  static const char *const types[] = {"MaxPool",  "AveragePool",   "LRN",       "Resize",
                                      "Upsample", "ConvTranspose", "Attention", "MultiHeadAttention"};
  for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
    if (slice_is(type, types[i]))
      return true;
  return false;
}

// "Resize_3", as ONNX Runtime names a node without a name.
static bool is_numbered(struct slice name)
{
  size_t length = name.length;
  while (length > 0 && name.data[length - 1] >= '0' && name.data[length - 1] <= '9')
    length--;
  return length > 0 && length < name.length && name.data[length - 1] == '_' &&
         is_wanted((struct slice){name.data, length - 1});
}

// The nodes of a body, as of a loop, are numbered on their own.
static bool has_body(struct wire attribute)
{
  struct wire_field field;
  while (wire_next(&attribute, &field))
    if (field.number == ATTRIBUTE_GRAPH || field.number == ATTRIBUTE_GRAPHS)
      return true;
  return false;
}

static const char *copy(struct arena *arena, struct slice text)
{
  return arena_copy(arena, text.length > 0 ? text.data : "", text.length);
}

static bool add_entry(struct list *list, const struct entry *entry)
{
  if (list->items.count == WINDOWS_MOST)
    return false;
  *vector_add(&list->items) = *entry;
  return true;
}

// `index` is the number of the last node, from 1. Constants have none: ONNX Runtime makes them initializers before it numbers nodes.
static bool read_node(struct list *list, struct wire node, unsigned *index)
{
  struct wire walk = node;
  struct wire_field field;
  struct slice type = {0};
  struct slice name = {0};
  struct slice output = {0};
  struct slice weights = {0};
  size_t inputs = 0;
  size_t outputs = 0;
  while (wire_next(&walk, &field)) {
    if (field.type != WIRE_BYTES)
      continue;
    if (field.number == NODE_TYPE)
      type = text_of(&field);
    else if (field.number == NODE_NAME)
      name = text_of(&field);
    else if (field.number == NODE_OUTPUT && outputs++ == 0)
      output = text_of(&field);
    else if (field.number == NODE_INPUT && inputs++ == 1)
      weights = text_of(&field);
    else if (field.number == NODE_ATTRIBUTE)
      list->has_other_numbers |= has_body(wire_inside(&field));
  }
  list->has_other_numbers |= is_numbered(name);
  *index += !slice_is(type, "Constant");
  if (!is_wanted(type))
    return true;
  struct entry entry = {.window = {.group = -1, .size = -1}, .is_numbered = name.length == 0};
  entry.window.layer_names[0] = name.length > 0
                                    ? copy(list->arena, name)
                                    : arena_format(list->arena, "%.*s_%u", (int)type.length, type.data, *index - 1);
  entry.window.layer_names[1] =
      output.length > 0 ? arena_format(list->arena, "%.*s_nchwc", (int)output.length, output.data) : "";
  entry.window.sources = name.length > 0 ? entry.window.layer_names[0] : NULL;
  walk = node;
  while (wire_find(&walk, NODE_ATTRIBUTE, WIRE_BYTES, &field))
    read_attribute(wire_inside(&field), &entry.window, list->arena);
  if (slice_is(type, "ConvTranspose") && entry.window.kernel_rank == 0)
    entry.weights = weights;
  return add_entry(list, &entry);
}

// [channels, channels of the output, window…]
static void read_weights(struct list *list, struct wire tensor)
{
  struct wire_field field;
  struct slice name = {0};
  int64_t dims[OPERATOR_WINDOW_RANK];
  size_t rank = 0;
  while (wire_next(&tensor, &field)) {
    if (wire_is(&field, TENSOR_NAME, WIRE_BYTES))
      name = text_of(&field);
    else if (field.number == TENSOR_DIMS)
      add_numbers(&field, dims, &rank);
  }
  for (size_t i = 0; i < list->items.count && rank > 2 && rank <= OPERATOR_WINDOW_RANK; i++) {
    struct entry *entry = &list->items.items[i];
    if (entry->weights.length == 0 || !slice_equal(entry->weights, name))
      continue;
    entry->window.kernel_rank = rank - 2;
    memcpy(entry->window.kernel, dims + 2, (rank - 2) * sizeof *dims);
  }
}

static void add_sources(void *context, const char *layer, const char *sources)
{
  struct list *list = context;
  (void)add_entry(list,
                  &(struct entry){.window = {.layer_names = {"", layer}, .group = -1, .size = -1, .sources = sources}});
}

static bool read_graph(struct list *list, struct wire graph)
{
  struct wire_field field;
  struct wire walk = graph;
  unsigned index = 0;
  while (wire_find(&walk, ONNX_GRAPH_NODE, WIRE_BYTES, &field))
    if (!read_node(list, wire_inside(&field), &index))
      return false;
  bool is_whole = walk.problem == NULL;
  onnx_sources(graph, list->arena, add_sources, list);
  bool has_open = false;
  for (size_t i = 0; i < list->items.count; i++)
    has_open |= list->items.items[i].weights.length > 0;
  while (has_open && wire_find(&graph, ONNX_GRAPH_INITIALIZER, WIRE_BYTES, &field))
    read_weights(list, wire_inside(&field));
  return is_whole;
}

bool onnx_windows(const uint8_t *bytes, size_t size, struct arena *arena, struct operator_window **ret_windows,
                  size_t *ret_count)
{
  struct list list = {.arena = arena};
  struct wire model = wire_over(bytes, size);
  struct wire_field field;
  bool is_good = true;
  while (is_good && wire_find(&model, ONNX_MODEL_GRAPH, WIRE_BYTES, &field))
    is_good = read_graph(&list, wire_inside(&field));
  is_good = is_good && model.problem == NULL;
  *ret_count = 0;
  *ret_windows = arena_alloc_array(arena, list.items.count + 1, sizeof **ret_windows);
  for (size_t i = 0; i < list.items.count; i++) {
    struct entry *entry = &list.items.items[i];
    if (entry->is_numbered && list.has_other_numbers)
      entry->window.layer_names[0] = "";
    (*ret_windows)[(*ret_count)++] = entry->window;
  }
  vector_done(&list.items);
  return is_good;
}

bool onnx_file_windows(const char *path, struct arena *arena, struct operator_window **ret_windows, size_t *ret_count)
{
  *ret_windows = NULL;
  *ret_count = 0;
  struct mapped file;
  if (!mapped_open(path, &file))
    return false;
  bool is_good = file.size > 0 && onnx_windows(file.bytes, file.size, arena, ret_windows, ret_count);
  mapped_close(&file);
  return is_good;
}
