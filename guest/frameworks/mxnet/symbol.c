// SPDX-License-Identifier: Apache-2.0
// Reads symbols of MXNet; see symbol.h. Files are not trusted.
#include "frameworks/mxnet/symbol.h"

#include "base/slice.h"

#include "frameworks/common/json_file.h"

#include <string.h>

struct reading {
  struct json_file file; // first
  struct pool *pool;
  struct mxnet_node *nodes;
  size_t count, capacity;
};
#define COUNT(members) (sizeof(members) / sizeof(members)[0])

static enum status no_memory(const struct json_file *file, struct error *err)
{
  return error_set(err, STATUS_MEMORY, file->what, file->path, NULL, "out of memory");
}

static struct pool *pool_of(struct json_file *file)
{
  return ((struct reading *)file)->pool;
}

// A text, into a const char *; other values are skipped.
static enum status take_text(struct json_file *file, void *target, struct error *err)
{
  if (json_next(&file->json) != JSON_STRING)
    return json_skip(&file->json) ? STATUS_OK : json_file_broken(file, "not a text", err);
  const char *text = framework_pool_text(pool_of(file), file->json.text, strlen(file->json.text));
  *(const char **)target = text;
  return text != NULL ? STATUS_OK : no_memory(file, err);
}

static enum status read_attributes(struct json_file *file, void *target, struct error *err)
{
  struct mxnet_node *node = target;
  const struct json_member members[] = {
      {"__shape__", take_text, &node->shape},     {"layout", take_text, &node->layout},
      {"num_group", take_text, &node->groups},    {"kernel", take_text, &node->kernel},
      {"pool_type", take_text, &node->pool_type}, {"global_pool", take_text, &node->global_pool},
      {"act_type", take_text, &node->act_type}};
  if (json_next(&file->json) != JSON_OBJECT)
    return json_file_broken(file, "attributes are not an object", err);
  return json_file_members(file, members, COUNT(members), err);
}

// [[node, output, version], …]
static enum status read_inputs(struct json_file *file, void *target, struct error *err)
{
  struct json_reader *json = &file->json;
  struct mxnet_node *node = target;
  if (json_next(json) != JSON_ARRAY)
    return json_file_broken(file, "inputs are not an array", err);
  struct mxnet_entry *entries = NULL;
  size_t count = 0, capacity = 0;
  for (; json_next(json) == JSON_ARRAY; count++) {
    int64_t numbers[2] = {-1, 0};
    for (size_t k = 0; json_next(json) == JSON_NUMBER; k++)
      if (k < 2 && (!json_int64(json, &numbers[k]) || numbers[k] < 0))
        return json_file_broken(file, "an input is not a node", err);
    if (json->event != JSON_ARRAY_END || numbers[0] < 0)
      return json_file_broken(file, "an input is not a node", err);
    if (count < COUNT(node->inputs))
      node->inputs[count] = (size_t)numbers[0];
    entries = framework_pool_grow(pool_of(file), entries, count, &capacity, 1, sizeof *entries);
    if (entries == NULL)
      return no_memory(file, err);
    entries[count] = (struct mxnet_entry){(size_t)numbers[0], (size_t)numbers[1]};
  }
  node->entries = entries;
  node->entry_count = count;
  return json->event == JSON_ARRAY_END ? STATUS_OK : json_file_broken(file, "inputs end early", err);
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
  char *grown = framework_pool_grow(pool, list->text, list->length, &list->capacity, length + 2, 1);
  if (grown == NULL)
    return false;
  list->text = grown;
  if (list->length > 0)
    list->text[list->length++] = separator;
  memcpy(list->text + list->length, text, length + 1);
  list->length += length;
  return true;
}

// An operator in a fused node's graph: its name, and what it is.
static enum status read_fused_node(struct json_file *file, void *target, struct error *err)
{
  struct fused *fused = target;
  struct mxnet_node node = {0};
  const struct json_member members[] = {
      {"op", take_text, &node.op}, {"name", take_text, &node.name}, {"attrs", read_attributes, &node}};
  XSP_TRY(json_file_members(file, members, COUNT(members), err));
  if (node.op == NULL || node.name == NULL || strcmp(node.op, "null") == 0)
    return STATUS_OK;
  if (!append(pool_of(file), &fused->names, ',', node.name) ||
      (is_on_result(&node) && !append(pool_of(file), &fused->operators, ' ', mxnet_operator(&node))))
    return no_memory(file, err);
  return STATUS_OK;
}

static enum status read_fused_nodes(struct json_file *file, void *target, struct error *err)
{
  return json_file_objects(file, read_fused_node, target, err);
}

static enum status read_subgraph(struct json_file *file, void *target, struct error *err)
{
  const struct json_member members[] = {{"nodes", read_fused_nodes, target}};
  return json_file_members(file, members, COUNT(members), err);
}

// [{"nodes": […], …}, …]
static enum status read_subgraphs(struct json_file *file, void *target, struct error *err)
{
  struct mxnet_node *node = target;
  struct fused fused = {0};
  enum status status = json_file_objects(file, read_subgraph, &fused, err);
  node->fused = fused.names.text;
  node->fused_ops = fused.operators.text;
  return status;
}

static enum status read_node(struct json_file *file, void *target, struct error *err)
{
  struct reading *reading = target;
  reading->nodes =
      framework_pool_grow(reading->pool, reading->nodes, reading->count, &reading->capacity, 1, sizeof *reading->nodes);
  if (reading->nodes == NULL)
    return no_memory(file, err);
  struct mxnet_node *node = &reading->nodes[reading->count++];
  *node = (struct mxnet_node){.inputs = {MXNET_NO_NODE, MXNET_NO_NODE}};
  const struct json_member members[] = {
      {"op", take_text, &node->op},     {"name", take_text, &node->name},
      {"inputs", read_inputs, node},    {"subgraphs", read_subgraphs, node},
      {"attrs", read_attributes, node}, {"attr", read_attributes, node}, // older versions: attr, param
      {"param", read_attributes, node}};
  XSP_TRY(json_file_members(file, members, COUNT(members), err));
  return node->op != NULL && node->name != NULL ? STATUS_OK
                                                : json_file_broken(file, "a node has no op or no name", err);
}

static enum status read_nodes(struct json_file *file, void *target, struct error *err)
{
  struct reading *reading = target;
  return reading->count > 0 ? json_file_skip(file, err) : json_file_objects(file, read_node, reading, err);
}

enum status mxnet_symbol_read(const char *text, size_t length, const char *path, struct pool *pool,
                              struct mxnet_symbol *ret_symbol, struct error *err)
{
  *ret_symbol = (struct mxnet_symbol){0};
  struct reading reading = {
      .file = {.path = path, .what = "cannot read MXNet's symbol", .advice = "export the model again"}, .pool = pool};
  const struct json_member members[] = {{"nodes", read_nodes, &reading}};
  XSP_TRY(json_file_read(&reading.file, text, length, members, COUNT(members), err));
  if (reading.count == 0)
    return json_file_broken(&reading.file, "a symbol has nodes", err);
  *ret_symbol = (struct mxnet_symbol){reading.nodes, reading.count};
  return STATUS_OK;
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
