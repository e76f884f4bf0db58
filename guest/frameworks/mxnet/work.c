// SPDX-License-Identifier: Apache-2.0
// The work of operators, see state.h. Called by the predictor in prepare, where layers are recorded. MXNet lists the outputs of
// all nodes in the order of the nodes; names show where the outputs of one node end.
#include "frameworks/mxnet/state.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct inferred { // outputs of all nodes; the library's until the next call for this symbol
  uint32_t count;
  const char **names;
  const int *ranks;
  const int **shapes;
};

static bool infer(const struct mxnet_api *api, mxnet_handle internals, const struct tensor *inputs, size_t input_count,
                  struct arena *arena, struct inferred *ret_inferred)
{
  const char **names = arena_alloc_array(arena, input_count + 1, sizeof *names);
  uint32_t *starts = arena_alloc_array(arena, input_count + 1, sizeof *starts);
  int *shapes = arena_alloc_array(arena, input_count * TENSOR_MAXIMUM_RANK + 1, sizeof *shapes);
  uint32_t used = 0;
  for (size_t i = 0; i < input_count; i++) {
    names[i] = inputs[i].info->name;
    starts[i] = used;
    for (unsigned k = 0; k < inputs[i].info->rank; k++)
      shapes[used++] = (int)inputs[i].shape[k];
  }
  starts[input_count] = used;
  uint32_t in_count = 0, out_count = 0, aux_count = 0;
  const int *in_ranks = NULL, *aux_ranks = NULL, **in_shapes = NULL, **aux_shapes = NULL;
  int is_complete = 0;
  return api->SymbolListOutputs(internals, &ret_inferred->count, &ret_inferred->names) == 0 &&
         api->SymbolInferShapeEx(internals, (uint32_t)input_count, names, starts, shapes, &in_count, &in_ranks,
                                 &in_shapes, &out_count, &ret_inferred->ranks, &ret_inferred->shapes, &aux_count,
                                 &aux_ranks, &aux_shapes, &is_complete) == 0 &&
         out_count == ret_inferred->count;
}

// A variable has its own name, an operator's outputs "NAME_output", "NAME_output1", "NAME_mean".
static bool is_output_of(const struct mxnet_node *node, const char *name)
{
  size_t length = strlen(node->name);
  if (strncmp(name, node->name, length) != 0)
    return false;
  return mxnet_is_variable(node) ? name[length] == 0 : name[length] == '_';
}

// The place of each node's first output; firsts[graph->count] is the end. False: the lists do not agree.
static bool place_outputs(const struct mxnet_symbol *graph, const struct inferred *inferred, uint32_t *firsts)
{
  uint32_t at = 0;
  for (size_t i = 0; i < graph->count; i++) {
    const struct mxnet_node *next = i + 1 < graph->count ? &graph->nodes[i + 1] : NULL;
    firsts[i] = at;
    if (at >= inferred->count || !is_output_of(&graph->nodes[i], inferred->names[at]))
      return false;
    for (at++; at < inferred->count && is_output_of(&graph->nodes[i], inferred->names[at]) &&
               (next == NULL || !is_output_of(next, inferred->names[at]));)
      at++;
  }
  firsts[graph->count] = at;
  return at == inferred->count;
}

static bool is_input(const char *name, const struct tensor *inputs, size_t count)
{
  for (size_t i = 0; i < count; i++)
    if (strcmp(inputs[i].info->name, name) == 0)
      return true;
  return false;
}

// "(3, 3)" → "[3,3]"
static const char *window_of(const char *kernel, struct arena *arena)
{
  char text[64];
  size_t used = 0;
  for (const char *at = kernel; *at != 0 && used + 1 < sizeof text; at++)
    if (!isspace((unsigned char)*at))
      text[used++] = *at == '(' ? '[' : *at == ')' ? ']' : *at;
  return arena_copy(arena, text, used);
}

struct shapes { // what all nodes are looked up in
  const struct mxnet_symbol *graph;
  const struct inferred *inferred;
  const uint32_t *firsts;
  const struct tensor *inputs;
  size_t input_count, element_bytes;
};

static void add(const struct shapes *shapes, struct layer_work *work, enum layer_tensor kind, uint32_t output)
{
  int rank = output < shapes->inferred->count ? shapes->inferred->ranks[output] : -1;
  int64_t sizes[TENSOR_MAXIMUM_RANK];
  bool is_known = rank >= 0 && rank <= TENSOR_MAXIMUM_RANK;
  for (int k = 0; is_known && k < rank; k++)
    sizes[k] = shapes->inferred->shapes[output][k];
  layer_work_add(work, kind, sizes, is_known ? (size_t)rank : LAYER_RANK_UNKNOWN, is_known ? shapes->element_bytes : 0);
}

static const char *shape_of(const struct inferred *inferred, uint32_t output, struct arena *arena)
{
  int64_t sizes[TENSOR_MAXIMUM_RANK];
  int rank = inferred->ranks[output];
  if (rank < 0 || rank > TENSOR_MAXIMUM_RANK)
    return NULL;
  for (int k = 0; k < rank; k++)
    sizes[k] = inferred->shapes[output][k];
  return layer_work_shape(arena, sizes, (size_t)rank);
}

static void read_node(const struct shapes *shapes, size_t number, struct arena *arena, struct mxnet_work *work)
{
  const struct mxnet_node *node = &shapes->graph->nodes[number];
  struct layer_work tensors = {0};
  for (size_t i = 0; i < node->entry_count; i++) {
    size_t from = node->entries[i].node, output = node->entries[i].output;
    bool is_there = from < number && output < shapes->firsts[from + 1] - shapes->firsts[from];
    bool is_parameter = is_there && mxnet_is_variable(&shapes->graph->nodes[from]) &&
                        !is_input(shapes->graph->nodes[from].name, shapes->inputs, shapes->input_count);
    add(shapes, &tensors, is_parameter ? LAYER_PARAMETER : LAYER_ACTIVATION,
        is_there ? shapes->firsts[from] + (uint32_t)output : UINT32_MAX);
  }
  for (uint32_t at = shapes->firsts[number]; at < shapes->firsts[number + 1]; at++)
    add(shapes, &tensors, LAYER_OUTPUT, at);
  work->shape = shape_of(shapes->inferred, shapes->firsts[number], arena);
  layer_work_tags(&tensors, arena, &work->tags);
  const char *operation = mxnet_operator(node);
  layer_tags_add_text(&work->tags, "operator", operation != node->op ? operation : NULL);
  layer_tags_add_text(&work->tags, "fused_ops", node->fused_ops);
  bool is_pool = strcmp(node->op, "Pooling") == 0 && strncmp(operation, "global_", 7) != 0;
  if (is_pool && node->kernel != NULL)
    layer_tags_add_text(&work->tags, "kernel_shape", window_of(node->kernel, arena));
}

// The predict interface makes everything of floats, unless the graph itself changes types.
static size_t element_bytes_of(const struct mxnet_symbol *graph)
{
  for (size_t i = 0; i < graph->count; i++)
    if (strstr(graph->nodes[i].op, "ast") != NULL || strstr(graph->nodes[i].op, "quantize") != NULL) // Cast, amp_cast
      return 0;
  return sizeof(float);
}

struct mxnet_work *mxnet_work_read(const struct mxnet_api *api, mxnet_handle symbol, const struct mxnet_symbol *graph,
                                   const struct tensor *inputs, size_t input_count, struct arena *arena)
{
  struct mxnet_work *works = arena_alloc_array(arena, graph->count + 1, sizeof *works);
  uint32_t *firsts = arena_alloc_array(arena, graph->count + 1, sizeof *firsts);
  struct inferred inferred = {0};
  mxnet_handle internals = NULL;
  bool is_inferred = api->SymbolGetInternals(symbol, &internals) == 0 &&
                     infer(api, internals, inputs, input_count, arena, &inferred) &&
                     place_outputs(graph, &inferred, firsts);
  const struct shapes shapes = {graph, &inferred, firsts, inputs, input_count, element_bytes_of(graph)};
  for (size_t i = 0; i < graph->count && is_inferred; i++)
    if (!mxnet_is_variable(&graph->nodes[i]))
      read_node(&shapes, i, arena, &works[i]);
  if (internals != NULL)
    api->SymbolFree(internals);
  return works;
}
