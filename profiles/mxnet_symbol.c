// SPDX-License-Identifier: Apache-2.0
// Reads symbols of MXNet; see mxnet_symbol.h. Files that anybody may have written, and what the library makes of them.
#include "profiles/mxnet_symbol.h"

#include "base/json_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reading {
  struct json_reader json;
  struct arena *arena;
  const char *path;
  struct mxnet_node *nodes; // malloc'ed while it grows
  size_t count, capacity;
};

static enum status broken(struct reading *reading, const char *why, struct error *err)
{
  char where[512];
  snprintf(where, sizeof where, "%s: byte %zu", reading->path, reading->json.offset);
  const char *problem = reading->json.event == JSON_ERROR ? reading->json.problem : why;
  return error_set(err, STATUS_INPUT, "cannot read MXNet's symbol", where, "export the model again", "%s", problem);
}

static enum status no_memory(struct reading *reading, struct error *err)
{
  return error_set(err, STATUS_MEMORY, "cannot read MXNet's symbol", reading->path, NULL, "out of memory");
}

// The reader is at a key: reads its value where that is a text, else skips it.
static enum status take_text(struct reading *reading, const char **ret_text, struct error *err)
{
  if (json_next(&reading->json) == JSON_STRING) {
    *ret_text = arena_copy(reading->arena, reading->json.text, strlen(reading->json.text));
    return *ret_text != NULL ? STATUS_OK : no_memory(reading, err);
  }
  return json_skip(&reading->json) ? STATUS_OK : broken(reading, "no text", err);
}

static enum status skip_value(struct reading *reading, struct error *err)
{
  json_next(&reading->json);
  return json_skip(&reading->json) ? STATUS_OK : broken(reading, "no value", err);
}

static enum status read_attributes(struct reading *reading, struct mxnet_node *node, struct error *err)
{
  struct json_reader *json = &reading->json;
  if (json_next(json) != JSON_OBJECT)
    return broken(reading, "attributes are no object", err);
  while (json_next(json) == JSON_KEY) {
    const char **target = strcmp(json->text, "__shape__") == 0   ? &node->shape
                          : strcmp(json->text, "layout") == 0    ? &node->layout
                          : strcmp(json->text, "num_group") == 0 ? &node->groups
                                                                 : NULL;
    XSP_TRY(target != NULL ? take_text(reading, target, err) : skip_value(reading, err));
  }
  return json->event == JSON_OBJECT_END ? STATUS_OK : broken(reading, "attributes end early", err);
}

// [[node, output, version], …]
static enum status read_inputs(struct reading *reading, struct mxnet_node *node, struct error *err)
{
  struct json_reader *json = &reading->json;
  if (json_next(json) != JSON_ARRAY)
    return broken(reading, "inputs are no array", err);
  for (size_t i = 0; json_next(json) == JSON_ARRAY; i++) {
    int64_t number = -1;
    while (json_next(json) == JSON_NUMBER)
      if (number < 0 && (!json_int64(json, &number) || number < 0))
        return broken(reading, "an input is no node", err);
    if (json->event != JSON_ARRAY_END || number < 0)
      return broken(reading, "an input is no node", err);
    if (i < sizeof node->inputs / sizeof node->inputs[0])
      node->inputs[i] = (size_t)number;
  }
  return json->event == JSON_ARRAY_END ? STATUS_OK : broken(reading, "inputs end early", err);
}

static enum status read_node(struct reading *reading, struct mxnet_node *node, struct error *err);

// The nodes of a fused one's graph, from behind the key "nodes": names of its operators.
static enum status read_fused_nodes(struct reading *reading, struct buf *names, struct error *err)
{
  struct json_reader *json = &reading->json;
  if (json_next(json) != JSON_ARRAY)
    return broken(reading, "nodes are no array", err);
  while (json_next(json) == JSON_OBJECT) {
    const char *op = NULL, *name = NULL;
    while (json_next(json) == JSON_KEY) {
      const char **target = strcmp(json->text, "op") == 0 ? &op : strcmp(json->text, "name") == 0 ? &name : NULL;
      XSP_TRY(target != NULL ? take_text(reading, target, err) : skip_value(reading, err));
    }
    if (json->event != JSON_OBJECT_END)
      return broken(reading, "a node ends early", err);
    if (op != NULL && name != NULL && strcmp(op, "null") != 0)
      buf_format(names, "%s%s", names->length > 0 ? "," : "", name);
  }
  return json->event == JSON_ARRAY_END ? STATUS_OK : broken(reading, "nodes end early", err);
}

// [{"nodes": […], …}, …]
static enum status read_subgraphs(struct reading *reading, struct mxnet_node *node, struct error *err)
{
  struct json_reader *json = &reading->json;
  if (json_next(json) != JSON_ARRAY)
    return broken(reading, "subgraphs are no array", err);
  struct buf names;
  buf_init(&names, 1 << 16);
  enum status status = STATUS_OK;
  while (status == STATUS_OK && json_next(json) == JSON_OBJECT) {
    while (status == STATUS_OK && json_next(json) == JSON_KEY)
      status = strcmp(json->text, "nodes") == 0 ? read_fused_nodes(reading, &names, err) : skip_value(reading, err);
    if (status == STATUS_OK && json->event != JSON_OBJECT_END)
      status = broken(reading, "a subgraph ends early", err);
  }
  if (status == STATUS_OK && json->event != JSON_ARRAY_END)
    status = broken(reading, "subgraphs end early", err);
  if (status == STATUS_OK && names.length > 0)
    node->fused = arena_copy(reading->arena, names.data, names.length);
  buf_done(&names);
  return status;
}

static enum status read_node(struct reading *reading, struct mxnet_node *node, struct error *err)
{
  struct json_reader *json = &reading->json;
  *node = (struct mxnet_node){.inputs = {MXNET_NO_NODE, MXNET_NO_NODE}};
  while (json_next(json) == JSON_KEY) {
    if (strcmp(json->text, "op") == 0)
      XSP_TRY(take_text(reading, &node->op, err));
    else if (strcmp(json->text, "name") == 0)
      XSP_TRY(take_text(reading, &node->name, err));
    else if (strcmp(json->text, "inputs") == 0)
      XSP_TRY(read_inputs(reading, node, err));
    else if (strcmp(json->text, "subgraphs") == 0)
      XSP_TRY(read_subgraphs(reading, node, err));
    else if (strcmp(json->text, "attrs") == 0 || strcmp(json->text, "attr") == 0 || strcmp(json->text, "param") == 0)
      XSP_TRY(read_attributes(reading, node, err)); // older versions: attr, param
    else
      XSP_TRY(skip_value(reading, err));
  }
  if (json->event != JSON_OBJECT_END)
    return broken(reading, "a node ends early", err);
  return node->op != NULL && node->name != NULL ? STATUS_OK : broken(reading, "a node has no op or no name", err);
}

static enum status read_nodes(struct reading *reading, struct error *err)
{
  struct json_reader *json = &reading->json;
  if (json_next(json) != JSON_ARRAY)
    return broken(reading, "nodes are no array", err);
  while (json_next(json) == JSON_OBJECT) {
    if (reading->count == reading->capacity) {
      size_t capacity = reading->capacity == 0 ? 256 : reading->capacity * 2;
      struct mxnet_node *grown = realloc(reading->nodes, capacity * sizeof *grown);
      if (grown == NULL)
        return no_memory(reading, err);
      reading->nodes = grown;
      reading->capacity = capacity;
    }
    XSP_TRY(read_node(reading, &reading->nodes[reading->count], err));
    reading->count++;
  }
  return json->event == JSON_ARRAY_END ? STATUS_OK : broken(reading, "nodes end early", err);
}

static enum status read_document(struct reading *reading, struct mxnet_symbol *ret_symbol, struct error *err)
{
  struct json_reader *json = &reading->json;
  if (json_next(json) != JSON_OBJECT)
    return broken(reading, "it is no symbol", err);
  bool has_nodes = false;
  while (json_next(json) == JSON_KEY) {
    bool is_nodes = strcmp(json->text, "nodes") == 0 && !has_nodes;
    has_nodes = has_nodes || is_nodes;
    XSP_TRY(is_nodes ? read_nodes(reading, err) : skip_value(reading, err));
  }
  if (json->event != JSON_OBJECT_END || json_next(json) != JSON_END)
    return broken(reading, "something follows the symbol", err);
  if (reading->count == 0)
    return broken(reading, "a symbol has nodes", err);
  ret_symbol->nodes = arena_alloc_array(reading->arena, reading->count, sizeof *ret_symbol->nodes);
  if (ret_symbol->nodes == NULL)
    return no_memory(reading, err);
  memcpy(ret_symbol->nodes, reading->nodes, reading->count * sizeof *ret_symbol->nodes);
  ret_symbol->count = reading->count;
  return STATUS_OK;
}

enum status mxnet_symbol_read(const char *text, size_t length, const char *path, struct arena *arena,
                              struct mxnet_symbol *ret_symbol, struct error *err)
{
  *ret_symbol = (struct mxnet_symbol){0};
  struct reading reading = {.arena = arena, .path = path};
  json_read_start(&reading.json, text, length);
  enum status status = read_document(&reading, ret_symbol, err);
  json_read_done(&reading.json);
  free(reading.nodes);
  return status;
}
