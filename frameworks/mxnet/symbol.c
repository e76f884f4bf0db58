// SPDX-License-Identifier: Apache-2.0
// Reads symbols of MXNet; see mxnet_symbol.h. Files that anybody may have written, and what the library makes of them.
#include "frameworks/mxnet/symbol.h"

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
  struct mxnet_entry *entries; // malloc'ed: of the node at hand
  size_t entry_capacity;
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
    const struct {
      const char *key, **target;
    } known[] = {{"__shape__", &node->shape},  {"layout", &node->layout},       {"num_group", &node->groups},
                 {"kernel", &node->kernel},    {"pool_type", &node->pool_type}, {"global_pool", &node->global_pool},
                 {"act_type", &node->act_type}};
    const char **target = NULL;
    for (size_t i = 0; i < sizeof known / sizeof known[0] && target == NULL; i++)
      target = strcmp(json->text, known[i].key) == 0 ? known[i].target : NULL;
    XSP_TRY(target != NULL ? take_text(reading, target, err) : skip_value(reading, err));
  }
  return json->event == JSON_OBJECT_END ? STATUS_OK : broken(reading, "attributes end early", err);
}

static bool keep_entry(struct reading *reading, size_t at, struct mxnet_entry entry)
{
  if (at == reading->entry_capacity) {
    size_t capacity = at == 0 ? 64 : at * 2;
    struct mxnet_entry *grown = realloc(reading->entries, capacity * sizeof *grown);
    if (grown == NULL)
      return false;
    reading->entries = grown;
    reading->entry_capacity = capacity;
  }
  reading->entries[at] = entry;
  return true;
}

// [[node, output, version], …]
static enum status read_inputs(struct reading *reading, struct mxnet_node *node, struct error *err)
{
  struct json_reader *json = &reading->json;
  if (json_next(json) != JSON_ARRAY)
    return broken(reading, "inputs are no array", err);
  size_t count = 0;
  for (; json_next(json) == JSON_ARRAY; count++) {
    int64_t numbers[2] = {-1, 0};
    for (size_t k = 0; json_next(json) == JSON_NUMBER; k++)
      if (k < 2 && (!json_int64(json, &numbers[k]) || numbers[k] < 0))
        return broken(reading, "an input is no node", err);
    if (json->event != JSON_ARRAY_END || numbers[0] < 0)
      return broken(reading, "an input is no node", err);
    if (count < sizeof node->inputs / sizeof node->inputs[0])
      node->inputs[count] = (size_t)numbers[0];
    if (!keep_entry(reading, count, (struct mxnet_entry){(size_t)numbers[0], (size_t)numbers[1]}))
      return no_memory(reading, err);
  }
  struct mxnet_entry *entries = arena_alloc_array(reading->arena, count + 1, sizeof *entries);
  if (entries == NULL)
    return no_memory(reading, err);
  if (count > 0)
    memcpy(entries, reading->entries, count * sizeof *entries);
  node->entries = entries;
  node->entry_count = count;
  return json->event == JSON_ARRAY_END ? STATUS_OK : broken(reading, "inputs end early", err);
}

// What stays of a node that was fused into a convolution or product: nothing of these themselves, nor of a batch norm, which
// is folded into the weights.
static bool is_on_result(const struct mxnet_node *node)
{
  static const char *const others[] = {"null", "Convolution", "Deconvolution", "FullyConnected", "BatchNorm"};
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
    if (strcmp(node->op, others[i]) == 0)
      return false;
  return true;
}

struct fused {
  struct buf names, operators;
};

// The nodes of a fused one's graph, from behind the key "nodes": names of its operators, and what they are.
static enum status read_fused_nodes(struct reading *reading, struct fused *fused, struct error *err)
{
  struct json_reader *json = &reading->json;
  if (json_next(json) != JSON_ARRAY)
    return broken(reading, "nodes are no array", err);
  while (json_next(json) == JSON_OBJECT) {
    struct mxnet_node node = {0};
    while (json_next(json) == JSON_KEY) {
      bool has_attributes = strcmp(json->text, "attrs") == 0;
      const char **target = strcmp(json->text, "op") == 0     ? &node.op
                            : strcmp(json->text, "name") == 0 ? &node.name
                                                              : NULL;
      XSP_TRY(has_attributes   ? read_attributes(reading, &node, err)
              : target != NULL ? take_text(reading, target, err)
                               : skip_value(reading, err));
    }
    if (json->event != JSON_OBJECT_END)
      return broken(reading, "a node ends early", err);
    if (node.op == NULL || node.name == NULL || strcmp(node.op, "null") == 0)
      continue;
    buf_format(&fused->names, "%s%s", fused->names.length > 0 ? "," : "", node.name);
    if (is_on_result(&node))
      buf_format(&fused->operators, "%s%s", fused->operators.length > 0 ? " " : "", mxnet_operator(&node));
  }
  return json->event == JSON_ARRAY_END ? STATUS_OK : broken(reading, "nodes end early", err);
}

// [{"nodes": […], …}, …]
static enum status read_subgraphs(struct reading *reading, struct mxnet_node *node, struct error *err)
{
  struct json_reader *json = &reading->json;
  if (json_next(json) != JSON_ARRAY)
    return broken(reading, "subgraphs are no array", err);
  struct fused fused;
  buf_init(&fused.names, 1 << 16);
  buf_init(&fused.operators, 1 << 16);
  enum status status = STATUS_OK;
  while (status == STATUS_OK && json_next(json) == JSON_OBJECT) {
    while (status == STATUS_OK && json_next(json) == JSON_KEY)
      status = strcmp(json->text, "nodes") == 0 ? read_fused_nodes(reading, &fused, err) : skip_value(reading, err);
    if (status == STATUS_OK && json->event != JSON_OBJECT_END)
      status = broken(reading, "a subgraph ends early", err);
  }
  if (status == STATUS_OK && json->event != JSON_ARRAY_END)
    status = broken(reading, "subgraphs end early", err);
  if (status == STATUS_OK && fused.names.length > 0)
    node->fused = arena_copy(reading->arena, fused.names.data, fused.names.length);
  if (status == STATUS_OK && fused.operators.length > 0)
    node->fused_ops = arena_copy(reading->arena, fused.operators.data, fused.operators.length);
  buf_done(&fused.names);
  buf_done(&fused.operators);
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
  free(reading.entries);
  return status;
}

const char *mxnet_operator(const struct mxnet_node *node)
{
  if (strcmp(node->op, "Activation") == 0)
    return node->act_type != NULL ? node->act_type : node->op;
  if (strcmp(node->op, "LeakyReLU") == 0)
    return node->act_type != NULL ? node->act_type : "leaky";
  if (strcmp(node->op, "Pooling") != 0)
    return node->op;
  static const char *const pools[][3] = {
      {"max", "max_pool", "global_max_pool"}, {"avg", "avg_pool", "global_avg_pool"}, {"sum", "sum_pool", "sum_pool"}};
  const char *type = node->pool_type != NULL ? node->pool_type : "max";
  bool is_global = node->global_pool != NULL && (node->global_pool[0] == 'T' || node->global_pool[0] == '1');
  for (size_t i = 0; i < sizeof pools / sizeof pools[0]; i++)
    if (strcmp(pools[i][0], type) == 0)
      return pools[i][is_global ? 2 : 1];
  return node->op;
}
