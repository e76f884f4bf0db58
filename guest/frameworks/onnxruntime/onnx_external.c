// SPDX-License-Identifier: Apache-2.0
// Walks an ONNX model for its external data; see onnx.h. Weights are walked over, never read.
#include "frameworks/onnxruntime/onnx.h"

#include "base/mapped.h"
#include "base/wire.h"

#include <limits.h>

#define GRAPH_DEPTH_MAXIMUM 8 // of graphs inside If, Loop and Scan

enum { // fields of ONNX's messages
  MODEL_GRAPH = 7,
  GRAPH_NODE = 1,
  GRAPH_INITIALIZER = 5,
  NODE_ATTRIBUTE = 5,
  ATTRIBUTE_TENSOR = 5,
  ATTRIBUTE_GRAPH = 6,
  TENSOR_EXTERNAL_DATA = 13,
  ENTRY_KEY = 1,
  ENTRY_VALUE = 2
};

struct walk {
  model_file_fn visit;
  void *context;
  const char *last; // name: all tensors of a model usually name one file
  size_t last_length;
};

static bool stays_inside(const char *name, size_t length)
{
  if (length == 0 || length >= PATH_MAX || name[0] == '/' || memchr(name, 0, length) != NULL)
    return false;
  for (size_t i = 0; i + 1 < length; i++)
    if (name[i] == '.' && name[i + 1] == '.' && (i == 0 || name[i - 1] == '/') &&
        (i + 2 == length || name[i + 2] == '/'))
      return false;
  return true;
}

// A tensor's external data: entries (key, value), of which "location" is a path beside the model.
static void visit_tensor(struct walk *walk, struct wire tensor)
{
  struct wire_field entry, part;
  while (wire_find(&tensor, TENSOR_EXTERNAL_DATA, WIRE_BYTES, &entry)) {
    struct wire pair = wire_inside(&entry);
    struct wire_field value = {0};
    bool is_location = false;
    while (wire_next(&pair, &part)) {
      if (wire_is(&part, ENTRY_KEY, WIRE_BYTES))
        is_location = part.length == 8 && memcmp(part.bytes, "location", 8) == 0;
      else if (wire_is(&part, ENTRY_VALUE, WIRE_BYTES))
        value = part;
    }
    bool is_last =
        walk->last_length == value.length && value.length > 0 && memcmp(walk->last, value.bytes, value.length) == 0;
    if (!is_location || is_last || !stays_inside(value.bytes, value.length))
      continue;
    walk->last = value.bytes;
    walk->last_length = value.length;
    walk->visit(walk->context, value.bytes, value.length);
  }
}

// Graphs are walked with a stack of their own, attributes and nodes as levels of it, so that none recurs.
void onnx_external_files(const void *bytes, size_t size, model_file_fn visit, void *context)
{
  struct walk walk = {.visit = visit, .context = context};
  enum level { MODEL, GRAPH, NODE, ATTRIBUTE };
  struct {
    struct wire message;
    enum level level;
  } stack[3 * GRAPH_DEPTH_MAXIMUM + 1] = {{wire_over(bytes, size), MODEL}};
  size_t depth = 1;
  while (depth > 0) {
    struct wire_field field;
    enum level level = stack[depth - 1].level;
    if (!wire_next(&stack[depth - 1].message, &field)) {
      depth--;
      continue;
    }
    if (wire_is(&field, level == GRAPH ? GRAPH_INITIALIZER : ATTRIBUTE_TENSOR, WIRE_BYTES) &&
        (level == GRAPH || level == ATTRIBUTE)) {
      visit_tensor(&walk, wire_inside(&field));
      continue;
    }
    static const struct {
      uint64_t number;
      enum level next;
    } inner[] = {[MODEL] = {MODEL_GRAPH, GRAPH},
                 [GRAPH] = {GRAPH_NODE, NODE},
                 [NODE] = {NODE_ATTRIBUTE, ATTRIBUTE},
                 [ATTRIBUTE] = {ATTRIBUTE_GRAPH, GRAPH}};
    if (wire_is(&field, inner[level].number, WIRE_BYTES) && depth < sizeof stack / sizeof stack[0]) {
      stack[depth].message = wire_inside(&field);
      stack[depth++].level = inner[level].next;
    }
  }
}

void onnx_file_external(const char *path, model_file_fn visit, void *context)
{
  struct mapped file;
  if (!mapped_open(path, &file))
    return;
  onnx_external_files(file.bytes, file.size, visit, context);
  mapped_close(&file);
}
