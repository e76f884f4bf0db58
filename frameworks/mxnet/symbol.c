// SPDX-License-Identifier: Apache-2.0
// Reads symbols of MXNet; see symbol.h. Files are not trusted.
#include "frameworks/mxnet/symbol.h"

#include "base/slice.h"

#include "frameworks/common/json_file.h"

#include <string.h>

struct reading {
  struct json_file file;
  struct pool *pool;
  struct mxnet_node *nodes;
  size_t count, capacity;
};

static enum status broken(struct reading *reading, const char *why, struct error *err)
{
  return json_file_broken(&reading->file, why, err);
}

static enum status no_memory(struct reading *reading, struct error *err)
{
  return error_set(err, STATUS_MEMORY, reading->file.what, reading->file.path, NULL, "out of memory");
}

// The reader is at a key: reads its value where that is a text, else skips it.
static enum status take_text(struct reading *reading, const char **ret_text, struct error *err)
{
  if (json_next(&reading->file.json) == JSON_STRING) {
    *ret_text = pool_text(reading->pool, reading->file.json.text, strlen(reading->file.json.text));
    return *ret_text != NULL ? STATUS_OK : no_memory(reading, err);
  }
  return json_skip(&reading->file.json) ? STATUS_OK : broken(reading, "not a text", err);
}

static enum status read_attributes(struct reading *reading, struct mxnet_node *node, struct error *err)
{
  struct json_reader *json = &reading->file.json;
  if (json_next(json) != JSON_OBJECT)
    return broken(reading, "attributes are not an object", err);
  while (json_next(json) == JSON_KEY) {
    const struct {
      const char *key, **target;
    } known[] = {{"__shape__", &node->shape},  {"layout", &node->layout},       {"num_group", &node->groups},
                 {"kernel", &node->kernel},    {"pool_type", &node->pool_type}, {"global_pool", &node->global_pool},
                 {"act_type", &node->act_type}};
    const char **target = NULL;
    for (size_t i = 0; i < sizeof known / sizeof known[0] && target == NULL; i++)
      target = strcmp(json->text, known[i].key) == 0 ? known[i].target : NULL;
    XSP_TRY(target != NULL ? take_text(reading, target, err) : json_file_skip(&reading->file, err));
  }
  return STATUS_OK;
}

// [[node, output, version], …]
static enum status read_inputs(struct reading *reading, struct mxnet_node *node, struct error *err)
{
  struct json_reader *json = &reading->file.json;
  if (json_next(json) != JSON_ARRAY)
    return broken(reading, "inputs are not an array", err);
  struct mxnet_entry *entries = NULL;
  size_t count = 0, capacity = 0;
  for (; json_next(json) == JSON_ARRAY; count++) {
    int64_t numbers[2] = {-1, 0};
    for (size_t k = 0; json_next(json) == JSON_NUMBER; k++)
      if (k < 2 && (!json_int64(json, &numbers[k]) || numbers[k] < 0))
        return broken(reading, "an input is not a node", err);
    if (json->event != JSON_ARRAY_END || numbers[0] < 0)
      return broken(reading, "an input is not a node", err);
    if (count < sizeof node->inputs / sizeof node->inputs[0])
      node->inputs[count] = (size_t)numbers[0];
    entries = pool_grow(reading->pool, entries, count, &capacity, 1, sizeof *entries);
    if (entries == NULL)
      return no_memory(reading, err);
    entries[count] = (struct mxnet_entry){(size_t)numbers[0], (size_t)numbers[1]};
  }
  node->entries = entries;
  node->entry_count = count;
  return json->event == JSON_ARRAY_END ? STATUS_OK : broken(reading, "inputs end early", err);
}

// What stays of a node that was fused into a convolution or product: nothing of these themselves, nor of a batch norm, which
// is folded into the weights.
static bool is_on_result(const struct mxnet_node *node)
{
  return !text_is_one_of(node->op, "null", "Convolution", "Deconvolution", "FullyConnected", "BatchNorm");
}

struct list { // texts with a separator between them
  char *text; // in the pool; NULL: empty
  size_t length, capacity;
};
struct fused {
  struct list names, operators;
};

static bool append(struct pool *pool, struct list *list, char separator, const char *text)
{
  size_t length = strlen(text);
  char *grown = pool_grow(pool, list->text, list->length, &list->capacity, length + 2, 1);
  if (grown == NULL)
    return false;
  list->text = grown;
  if (list->length > 0)
    list->text[list->length++] = separator;
  memcpy(list->text + list->length, text, length + 1);
  list->length += length;
  return true;
}

// The value of key "nodes" in a fused node's graph: names of its operators, and what they are.
static enum status read_fused_nodes(struct reading *reading, struct fused *fused, struct error *err)
{
  struct json_reader *json = &reading->file.json;
  if (json_next(json) != JSON_ARRAY)
    return broken(reading, "nodes are not an array", err);
  while (json_next(json) == JSON_OBJECT) {
    struct mxnet_node node = {0};
    while (json_next(json) == JSON_KEY) {
      bool has_attributes = strcmp(json->text, "attrs") == 0;
      const char **target = strcmp(json->text, "op") == 0     ? &node.op
                            : strcmp(json->text, "name") == 0 ? &node.name
                                                              : NULL;
      XSP_TRY(has_attributes   ? read_attributes(reading, &node, err)
              : target != NULL ? take_text(reading, target, err)
                               : json_file_skip(&reading->file, err));
    }
    if (node.op == NULL || node.name == NULL || strcmp(node.op, "null") == 0)
      continue;
    if (!append(reading->pool, &fused->names, ',', node.name) ||
        (is_on_result(&node) && !append(reading->pool, &fused->operators, ' ', mxnet_operator(&node))))
      return no_memory(reading, err);
  }
  return json->event == JSON_ARRAY_END ? STATUS_OK : broken(reading, "nodes end early", err);
}

// [{"nodes": […], …}, …]
static enum status read_subgraphs(struct reading *reading, struct mxnet_node *node, struct error *err)
{
  struct json_reader *json = &reading->file.json;
  if (json_next(json) != JSON_ARRAY)
    return broken(reading, "subgraphs are not an array", err);
  struct fused fused = {0};
  while (json_next(json) == JSON_OBJECT) {
    while (json_next(json) == JSON_KEY)
      XSP_TRY(strcmp(json->text, "nodes") == 0 ? read_fused_nodes(reading, &fused, err)
                                               : json_file_skip(&reading->file, err));
  }
  node->fused = fused.names.text;
  node->fused_ops = fused.operators.text;
  return json->event == JSON_ARRAY_END ? STATUS_OK : broken(reading, "subgraphs end early", err);
}

static enum status read_node(struct reading *reading, struct mxnet_node *node, struct error *err)
{
  struct json_reader *json = &reading->file.json;
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
      XSP_TRY(json_file_skip(&reading->file, err));
  }
  return node->op != NULL && node->name != NULL ? STATUS_OK : broken(reading, "a node has no op or no name", err);
}

static enum status read_nodes(struct reading *reading, struct error *err)
{
  struct json_reader *json = &reading->file.json;
  if (json_next(json) != JSON_ARRAY)
    return broken(reading, "nodes are not an array", err);
  while (json_next(json) == JSON_OBJECT) {
    reading->nodes =
        pool_grow(reading->pool, reading->nodes, reading->count, &reading->capacity, 1, sizeof *reading->nodes);
    if (reading->nodes == NULL)
      return no_memory(reading, err);
    XSP_TRY(read_node(reading, &reading->nodes[reading->count], err));
    reading->count++;
  }
  return json->event == JSON_ARRAY_END ? STATUS_OK : broken(reading, "nodes end early", err);
}

static enum status read_document(struct reading *reading, struct mxnet_symbol *ret_symbol, struct error *err)
{
  struct json_reader *json = &reading->file.json;
  if (json_next(json) != JSON_OBJECT)
    return broken(reading, "not a symbol", err);
  bool has_nodes = false;
  while (json_next(json) == JSON_KEY) {
    bool is_nodes = strcmp(json->text, "nodes") == 0 && !has_nodes;
    has_nodes = has_nodes || is_nodes;
    XSP_TRY(is_nodes ? read_nodes(reading, err) : json_file_skip(&reading->file, err));
  }
  if (json->event != JSON_OBJECT_END || json_next(json) != JSON_END)
    return broken(reading, "there is text after the symbol", err);
  if (reading->count == 0)
    return broken(reading, "a symbol has nodes", err);
  *ret_symbol = (struct mxnet_symbol){reading->nodes, reading->count};
  return STATUS_OK;
}

enum status mxnet_symbol_read(const char *text, size_t length, const char *path, struct pool *pool,
                              struct mxnet_symbol *ret_symbol, struct error *err)
{
  *ret_symbol = (struct mxnet_symbol){0};
  struct reading reading = {
      .file = {.path = path, .what = "cannot read MXNet's symbol", .advice = "export the model again"}, .pool = pool};
  json_read_start(&reading.file.json, text, length);
  enum status status = read_document(&reading, ret_symbol, err);
  json_read_done(&reading.file.json);
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
