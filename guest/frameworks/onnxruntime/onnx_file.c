// SPDX-License-Identifier: Apache-2.0
// Finds where an .onnx file is cut; see onnx.h. Two levels deep (model, graph): deep enough to name a node or tensor.
#include "frameworks/onnxruntime/onnx.h"

#include "base/mapped.h"
#include "base/wire.h"

#include <inttypes.h>
#include <stdio.h>

static size_t place_of(const uint8_t *bytes, const char *at)
{
  return (size_t)(at - (const char *)bytes);
}

// What is wrong with `field`, the last that was read: `part` names it.
static void tell(const struct wire *wire, const struct wire_field *field, const uint8_t *bytes, const char *part,
                 char *place, size_t size)
{
  if (wire->problem == wire_cut)
    snprintf(place, size, "byte %zu (%s): %" PRIu64 " bytes are announced, the file has %zu more",
             place_of(bytes, field->start), part, field->value, field->length);
  else
    snprintf(place, size, "byte %zu (%s): %s", place_of(bytes, field->start), part, wire->problem);
}

static bool graph_damage(struct wire wire, const uint8_t *bytes, char *place, size_t size)
{
  size_t nodes = 0, initializers = 0;
  struct wire_field field;
  while (wire_next(&wire, &field)) {
    nodes += field.number == ONNX_GRAPH_NODE;
    initializers += field.number == ONNX_GRAPH_INITIALIZER;
  }
  if (wire.problem == NULL)
    return false;
  char part[96];
  if (wire.problem != wire_cut)
    snprintf(part, sizeof part, "graph, after node %zu and initializer %zu", nodes, initializers);
  else if (field.number == ONNX_GRAPH_NODE)
    snprintf(part, sizeof part, "graph, node %zu", nodes);
  else if (field.number == ONNX_GRAPH_INITIALIZER)
    snprintf(part, sizeof part, "graph, initializer %zu", initializers);
  else
    snprintf(part, sizeof part, "graph, field %" PRIu64, field.number);
  tell(&wire, &field, bytes, part, place, size);
  return true;
}

bool onnx_damage(const uint8_t *bytes, size_t size, char *place, size_t place_size)
{
  if (size == 0) {
    snprintf(place, place_size, "byte 0: the file is empty");
    return true;
  }
  struct wire wire = wire_over(bytes, size);
  bool has_graph = false, has_field = true;
  while (has_field) {
    struct wire_field field;
    has_field = wire_next(&wire, &field);
    if ((has_field || wire.problem == wire_cut) && wire_is(&field, ONNX_MODEL_GRAPH, WIRE_BYTES)) {
      has_graph = true; // of one that is cut, what is there
      if (graph_damage(wire_inside(&field), bytes, place, place_size))
        return true;
    }
    if (wire.problem != NULL) {
      char part[48];
      snprintf(part, sizeof part, "field %" PRIu64, field.number);
      tell(&wire, &field, bytes, part, place, place_size);
      return true;
    }
  }
  if (!has_graph)
    snprintf(place, place_size, "byte %zu: the file ends without a graph", size);
  return !has_graph;
}

bool onnx_file_damage(const char *path, char *place, size_t place_size)
{
  struct mapped file;
  if (!mapped_open(path, &file))
    return false;
  bool is_damaged = onnx_damage(file.bytes, file.size, place, place_size);
  mapped_close(&file);
  return is_damaged;
}
