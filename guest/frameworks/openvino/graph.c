// SPDX-License-Identifier: Apache-2.0
// Reads the XML of an OpenVINO graph; see graph.h. It is machine-made: elements and attributes, numbers between
// <dim> and </dim>. What it does not understand it goes over.
#include "frameworks/openvino/graph.h"

#include "base/slice.h"
#include "base/vector.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define OPERATORS_MOST ((size_t)1 << 20)

// ---- elements --------------------------------------------------------------------------------------------------------

struct element { // "<NAME ATTRIBUTES>", "</NAME>" or "<NAME …/>"
  struct slice name;
  const char *attributes, *end;
  bool is_start, is_end;
};
struct scan {
  const char *at, *end;
};

// False: no further one.
static bool next_element(struct scan *scan, struct element *ret_element)
{
  const char *open = memchr(scan->at, '<', (size_t)(scan->end - scan->at));
  if (open == NULL)
    return false;
  const char *at = open + 1;
  char quote = 0;
  for (; at < scan->end && (quote != 0 || *at != '>'); at++)
    if (quote == 0 ? *at == '"' || *at == '\'' : *at == quote)
      quote = quote == 0 ? *at : 0;
  if (at == scan->end)
    return false;
  bool is_closing = open[1] == '/';
  const char *name = open + 1 + is_closing, *name_end = name;
  while (name_end < at && strchr(" \t\r\n/", *name_end) == NULL)
    name_end++;
  *ret_element = (struct element){.name = {name, (size_t)(name_end - name)},
                                  .attributes = name_end,
                                  .end = at,
                                  .is_start = !is_closing,
                                  .is_end = is_closing || at[-1] == '/'};
  scan->at = at + 1;
  return true;
}

static bool is(const struct element *element, const char *name)
{
  return slice_is(element->name, name);
}

// The raw text of an attribute; data NULL: it is not there.
static struct slice find_attribute(const struct element *element, const char *key)
{
  for (const char *at = element->attributes; at < element->end;) {
    while (at < element->end && strchr(" \t\r\n/", *at) != NULL)
      at++;
    struct slice name = {at, 0};
    while (at < element->end && *at != '=')
      at++;
    name.length = (size_t)(at - name.data);
    if (element->end - at < 2)
      break;
    char quote = at[1];
    const char *value = at + 2, *close = memchr(value, quote, (size_t)(element->end - value));
    if (close == NULL)
      break;
    if (slice_is(name, key))
      return (struct slice){value, (size_t)(close - value)};
    at = close + 1;
  }
  return (struct slice){NULL, 0};
}

// With the five entities of XML decoded. NULL: it is not there.
static const char *attribute(const struct element *element, const char *key, struct arena *arena)
{
  static const struct {
    const char *text;
    char character;
  } entities[] = {{"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}, {"&apos;", '\''}};
  struct slice raw = find_attribute(element, key);
  if (raw.data == NULL)
    return NULL;
  char *text = arena_copy(arena, raw.data, raw.length), *to = text;
  for (const char *from = text; *from != 0;) {
    size_t skip = 0;
    for (size_t i = 0; *from == '&' && i < sizeof entities / sizeof entities[0] && skip == 0; i++)
      if (strncmp(from, entities[i].text, strlen(entities[i].text)) == 0) {
        *to++ = entities[i].character;
        skip = strlen(entities[i].text);
      }
    if (skip == 0)
      *to++ = *from++;
    from += skip;
  }
  *to = 0;
  return text;
}

static bool attribute_is(const struct element *element, const char *key, const char *value)
{
  struct slice text = find_attribute(element, key);
  return text.data != NULL && slice_is(text, value);
}

static uint64_t digits(const char *text, const char *end)
{
  uint64_t number = 0;
  for (; text < end && *text >= '0' && *text <= '9' && number < UINT64_MAX / 100; text++)
    number = number * 10 + (uint64_t)(*text - '0');
  return number;
}

static uint64_t number_attribute(const struct element *element, const char *key)
{
  struct slice text = find_attribute(element, key);
  return text.length == 0 ? UINT64_MAX : digits(text.data, text.data + text.length);
}

// ---- operators -------------------------------------------------------------------------------------------------------

struct reading {
  struct scan scan;
  struct arena *arena;
  VECTOR(struct openvino_operator) items;
  struct openvino_tensor ports[2][OPENVINO_PORTS_MOST]; // inputs and outputs of the operator at hand
  size_t port_counts[2];
};

static bool start_operator(struct reading *reading, const struct element *element)
{
  if (reading->items.count == OPERATORS_MOST)
    return false;
  vector_reserve(&reading->items, 1);
  struct openvino_operator *operation = &reading->items.items[reading->items.count];
  *operation = (struct openvino_operator){.id = number_attribute(element, "id"),
                                          .name = attribute(element, "name", reading->arena),
                                          .type = attribute(element, "type", reading->arena)};
  reading->port_counts[0] = reading->port_counts[1] = 0;
  return operation->name != NULL && operation->type != NULL;
}

static void end_operator(struct reading *reading)
{
  struct openvino_operator *operation = &reading->items.items[reading->items.count];
  for (size_t i = 0; i < 2; i++) {
    size_t count = reading->port_counts[i] < OPENVINO_PORTS_MOST ? reading->port_counts[i] : OPENVINO_PORTS_MOST;
    struct openvino_tensor *ports = arena_alloc_array(reading->arena, count + 1, sizeof *ports);
    memcpy(ports, reading->ports[i], count * sizeof *ports);
    *(i == 0 ? &operation->inputs : &operation->outputs) = ports;
    *(i == 0 ? &operation->input_count : &operation->output_count) = count;
  }
  reading->items.count++;
}

static void start_port(struct openvino_tensor *port, const struct element *element)
{
  static const struct {
    const char *precision;
    uint8_t bytes;
  } known[] = {{"FP32", 4}, {"FP16", 2}, {"BF16", 2}, {"FP64", 8}, {"I64", 8}, {"I32", 4}, {"I16", 2},
               {"I8", 1},   {"U64", 8},  {"U32", 4},  {"U16", 2},  {"U8", 1},  {"BOOL", 1}};
  *port = (struct openvino_tensor){.is_float32 = attribute_is(element, "precision", "FP32")};
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
    if (attribute_is(element, "precision", known[i].precision))
      port->element_bytes = known[i].bytes;
}

static void add_dimension(struct openvino_tensor *port, const char *text, const char *end)
{
  if (port->rank == LAYER_RANK_UNKNOWN)
    return;
  if (port->rank == OPENVINO_RANK_MOST || text == end || *text < '0' || *text > '9') { // "-1": free
    port->rank = LAYER_RANK_UNKNOWN;
    return;
  }
  uint64_t size = digits(text, end);
  port->sizes[port->rank++] = size <= INT64_MAX ? (int64_t)size : INT64_MAX;
}

// "3, 3" → "[3,3]"
static const char *window_of(const char *kernel, struct arena *arena)
{
  char text[64];
  size_t used = 0;
  for (const char *at = kernel; at != NULL && *at != 0 && used + 1 < sizeof text; at++)
    if (*at != ' ')
      text[used++] = *at;
  return kernel == NULL ? NULL : arena_format(arena, "[%.*s]", (int)used, text);
}

static void read_data(struct reading *reading, const struct element *element, struct openvino_operator *operation)
{
  operation->kernel = window_of(attribute(element, "kernel", reading->arena), reading->arena);
  operation->mode = attribute(element, "mode", reading->arena);
  if (strcmp(operation->type, "PowerStatic") == 0 && attribute_is(element, "power", "1"))
    operation->type = "ScaleShift"; // x * scale + shift
}

static bool is_no_work(const char *type)
{
  return text_is_one_of(type, "Parameter", "Result", "Constant", "Const");
}

static void add_inner(struct reading *reading, const struct element *element, struct openvino_operator *operation)
{
  const char *type = attribute(element, "type", reading->arena);
  if (type == NULL || is_no_work(type) || (operation->inner != NULL && strlen(operation->inner) > 1024))
    return;
  operation->inner = operation->inner == NULL ? type : arena_format(reading->arena, "%s %s", operation->inner, type);
}

// Between <layer> and </layer>; `depth` counts layers within.
static void read_part(struct reading *reading, const struct element *element, size_t depth, int *side)
{
  struct openvino_operator *operation = &reading->items.items[reading->items.count];
  if (depth > 1) {
    if (is(element, "layer") && element->is_start && depth == 2 && strcmp(operation->type, "Subgraph") == 0)
      add_inner(reading, element, operation);
    return;
  }
  if (is(element, "input") || is(element, "output"))
    *side = element->is_start && !element->is_end ? is(element, "output") : -1;
  else if (is(element, "data") && element->is_start)
    read_data(reading, element, operation);
  else if (*side < 0 && is(element, "attribute") && attribute_is(element, "name", "fused_names"))
    operation->sources = attribute(element, "value", reading->arena);
  else if (*side >= 0 && is(element, "port") && element->is_start) {
    size_t number = reading->port_counts[*side]++;
    if (number < OPENVINO_PORTS_MOST)
      start_port(&reading->ports[*side][number], element);
  } else if (*side >= 0 && is(element, "dim") && element->is_start) {
    size_t count = reading->port_counts[*side];
    const char *text = element->end + 1;
    if (count > 0 && count <= OPENVINO_PORTS_MOST)
      add_dimension(&reading->ports[*side][count - 1], text, reading->scan.end);
  }
}

static void mark_constant(struct reading *reading, const struct element *edge)
{
  uint64_t from = number_attribute(edge, "from-layer"), to = number_attribute(edge, "to-layer");
  uint64_t port = number_attribute(edge, "to-port");
  // Layers are numbered in the order of the list.
  if (from >= reading->items.count || to >= reading->items.count || reading->items.items[from].id != from ||
      reading->items.items[to].id != to)
    return;
  const struct openvino_operator *source = &reading->items.items[from];
  if (port < reading->items.items[to].input_count && is_no_work(source->type) && strcmp(source->type, "Parameter") != 0)
    reading->items.items[to].inputs[port].is_constant = true;
}

static bool read_elements(struct reading *reading)
{
  struct element element;
  size_t depth = 0;
  int side = -1;
  bool is_whole = false;
  while (next_element(&reading->scan, &element)) {
    if (is(&element, "layer") && element.is_start) {
      if (depth == 0 && !start_operator(reading, &element))
        return false;
      depth += !element.is_end || depth == 0;
      side = depth == 1 ? -1 : side;
    }
    if (depth > 0)
      read_part(reading, &element, depth, &side);
    if (is(&element, "layer") && element.is_end && depth > 0 && (!element.is_start || depth == 1) && --depth == 0)
      end_operator(reading);
    if (depth == 0 && is(&element, "edge"))
      mark_constant(reading, &element);
    is_whole = is_whole || (depth == 0 && is(&element, "net") && element.is_end);
  }
  return is_whole;
}

bool openvino_graph_read(const char *text, size_t length, struct arena *arena, struct openvino_graph *ret_graph)
{
  *ret_graph = (struct openvino_graph){0};
  struct reading *reading = memory_new(1, sizeof *reading);
  reading->scan = (struct scan){text, text + length};
  reading->arena = arena;
  bool is_read = read_elements(reading);
  size_t count = is_read ? reading->items.count : 0;
  ret_graph->items = arena_alloc_array(arena, count + 1, sizeof *ret_graph->items);
  for (; ret_graph->count < count; ret_graph->count++)
    ret_graph->items[ret_graph->count] = reading->items.items[ret_graph->count];
  vector_done(&reading->items);
  free(reading);
  return is_read;
}
