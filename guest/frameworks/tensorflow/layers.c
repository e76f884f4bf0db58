// SPDX-License-Identifier: Apache-2.0
// Names, places and tags of a TensorFlow model's layers; see layers.h. A layer is a node of the executed graph;
// nodes in the bodies of functions that TensorFlow did not inline are layers below the node that called them.
#include "frameworks/tensorflow/layers.h"

#include "base/interner.h"
#include "base/vector.h"
#include "frameworks/common/layer_publish.h"
#include "frameworks/tensorflow/graph.h"
#include "frameworks/tensorflow/metadata.h"
#include "frameworks/tensorflow/types.h"
#include "frameworks/tensorflow/work.h"

#include <stdlib.h>
#include <string.h>

#define LAYERS_MAXIMUM ((size_t)1 << 20)
#define CALLS_MAXIMUM 64u

struct layer {
  const char *node; // as TensorFlow names it; the key
  const char *name, *type, *category;
  int64_t index;
  bool is_executed; // a node of the executed graph itself, not of a function's body
  bool runs_graph;
  const struct tensorflow_wire *inputs; // of a node of the executed graph
  size_t input_count;
  struct layer_tags tags;
};

struct tensorflow_layers {
  const struct tensorflow_graph *model;
  const char *model_path;
  struct layer_publisher *publisher;
  struct arena arena;          // of texts that stay
  struct interner nodes;       // a layer's id
  VECTOR(struct layer) layers; // by id
  bool has_graph;
};

struct tensorflow_layers *tensorflow_layers_create(const struct tensorflow_graph *model, const char *model_path)
{
  struct tensorflow_layers *layers = memory_new(1, sizeof *layers);
  layers->model = model;
  layers->model_path = model_path;
  const struct layer_publisher_options options = {"tensorflow", TENSORFLOW_UNTOLD, LAYER_TIMES_REALTIME};
  layers->publisher = framework_layer_publisher_create(&options);
  return layers;
}

void tensorflow_layers_free(struct tensorflow_layers *layers)
{
  if (layers == NULL)
    return;
  framework_layer_publisher_free(layers->publisher);
  arena_done(&layers->arena);
  interner_done(&layers->nodes);
  vector_done(&layers->layers);
  free(layers);
}

bool tensorflow_layers_has_graph(const struct tensorflow_layers *layers)
{
  return layers->has_graph;
}

// ---- the table -------------------------------------------------------------------------------------------------------

static enum status too_many(const struct tensorflow_layers *layers, struct error *err)
{
  return error_set(err, STATUS_SYSTEM, "cannot read TensorFlow's run metadata", layers->model_path, "a smaller model",
                   "it has more than %zu nodes, or one with a NUL byte in its name", LAYERS_MAXIMUM);
}

static struct layer *find_layer(struct tensorflow_layers *layers, const char *node, size_t length)
{
  uint32_t id = 0;
  return interner_find(&layers->nodes, node, length, &id) ? &layers->layers.items[id] : NULL;
}

// The layer of a node, made where it is new, which moves the others. NULL: too_many.
static struct layer *layer_of(struct tensorflow_layers *layers, const char *node, size_t length)
{
  struct layer *known = find_layer(layers, node, length);
  if (known != NULL || layers->layers.count == LAYERS_MAXIMUM || memchr(node, 0, length) != NULL)
    return known;
  uint32_t id = interner_at(&layers->nodes, node, length);
  const char *name = interner_text(&layers->nodes, id).data;
  struct layer *layer = vector_add(&layers->layers);
  *layer = (struct layer){.node = name, .name = name, .index = (int64_t)id};
  return layer;
}

static void set_type(struct tensorflow_layers *layers, struct layer *layer, const char *type, size_t length)
{
  layer->type = arena_copy(&layers->arena, type, length);
  layer->category = tensorflow_category(layer->type);
  layer->runs_graph = tensorflow_runs_graph(layer->type);
}

// ---- the executed graph ----------------------------------------------------------------------------------------------

static bool add_node(struct tensorflow_layers *layers, const struct tensorflow_graph *graphs, size_t graph_count,
                     const struct tensorflow_node *node)
{
  struct layer *layer = layer_of(layers, node->name, strlen(node->name));
  if (layer == NULL)
    return false;
  if (layer->is_executed)
    return true;
  layer->is_executed = true;
  set_type(layers, layer, node->op, strlen(node->op));
  tensorflow_work_tags(node, &layers->arena, &layer->tags);
  struct tensorflow_originals originals;
  tensorflow_originals_find(layers->model, graphs, graph_count, node, &layers->arena, &originals);
  if (originals.count == 0)
    return true;
  layer->name = originals.main;
  layer_tags_add_text(&layer->tags, "fused", originals.names);
  layer_tags_add_text(&layer->tags, "fused_types", originals.types);
  layer_tags_add_text(&layer->tags, "node", layer->node);
  return true;
}

struct numbering {
  const struct tensorflow_graph *graphs, *graph; // all of them, and the one at hand
  size_t graph_count;
  bool *is_reached;
  struct visit {
    uint32_t node;
    uint32_t next_input;
  } * stack;
};

static bool number_from(struct tensorflow_layers *layers, struct numbering *numbering, size_t root)
{
  const struct tensorflow_graph *graph = numbering->graph;
  size_t depth = 0;
  numbering->stack[depth++] = (struct visit){(uint32_t)root, 0};
  numbering->is_reached[root] = true;
  while (depth > 0) {
    struct visit *visit = &numbering->stack[depth - 1];
    const struct tensorflow_node *node = &graph->nodes[visit->node];
    if (visit->next_input == node->input_count) {
      depth--;
      if (!add_node(layers, numbering->graphs, numbering->graph_count, node))
        return false;
      continue;
    }
    const char *input = node->inputs[visit->next_input++];
    input += input[0] == '^'; // order only: before it all the same
    const struct tensorflow_node *from = tensorflow_graph_input(graph, input);
    if (from == NULL || numbering->is_reached[from - graph->nodes])
      continue;
    numbering->is_reached[from - graph->nodes] = true;
    numbering->stack[depth++] = (struct visit){(uint32_t)(from - graph->nodes), 0};
  }
  return true;
}

// Every node after what it needs, each constant right before its first user: an order in which the graph can be executed,
// the same in every run, and near that in which the model is written. Loops end where they come back.
static bool number_graph(struct tensorflow_layers *layers, const struct tensorflow_graph *graphs, size_t graph_count,
                         const struct tensorflow_graph *graph, struct arena *scratch)
{
  struct numbering numbering = {
      .graphs = graphs,
      .graph = graph,
      .graph_count = graph_count,
      .is_reached = arena_alloc_array(scratch, graph->count + 1, sizeof *numbering.is_reached),
      .stack = arena_alloc_array(scratch, graph->count + 1, sizeof *numbering.stack),
  };
  const bool *is_consumed = tensorflow_graph_consumed(graph, scratch);
  for (unsigned round = 0; round < 2; round++) // from nodes that nothing consumes, then the rest (loops)
    for (size_t root = 0; root < graph->count; root++)
      if (!numbering.is_reached[root] && (round == 1 || !is_consumed[root]) && !number_from(layers, &numbering, root))
        return false;
  return true;
}

// Where the inputs of each node come from, after all nodes have numbers.
static void wire_graph(struct tensorflow_layers *layers, const struct tensorflow_graph *graph)
{
  for (size_t i = 0; i < graph->count; i++) {
    const struct tensorflow_node *node = &graph->nodes[i];
    struct layer *layer = find_layer(layers, node->name, strlen(node->name));
    struct tensorflow_wire *inputs = arena_alloc_array(&layers->arena, node->input_count + 1, sizeof *inputs);
    layer->inputs = inputs;
    layer->input_count = 0;
    for (size_t k = 0; k < node->input_count; k++) {
      const char *name;
      size_t length = tensorflow_input_node(node->inputs[k], &name);
      const struct layer *from = length > 0 ? find_layer(layers, name, length) : NULL;
      const char *category = from != NULL && from->category != NULL ? from->category : "";
      if (length > 0) // else it is order only
        inputs[layer->input_count++] = (struct tensorflow_wire){
            .from = from != NULL ? (uint32_t)(from - layers->layers.items) : TENSORFLOW_NO_LAYER,
            .slot = name[length] == ':' ? (uint32_t)strtoul(name + length + 1, NULL, 10) : 0,
            .is_parameter = strcmp(category, "constant") == 0 || strcmp(category, "variable") == 0};
    }
  }
}

static enum status read_graph(struct tensorflow_layers *layers, const void *metadata, size_t length, struct error *err)
{
  struct arena scratch = {0};
  struct tensorflow_graph *graphs = NULL;
  size_t count = 0;
  const char *problem = NULL;
  enum status status = STATUS_OK;
  if (!tensorflow_partitions_read(metadata, length, &scratch, &graphs, &count, &problem))
    status = error_set(err, STATUS_SYSTEM, "cannot read TensorFlow's run metadata", layers->model_path,
                       "another version of TensorFlow", "the executed graph: %s", problem);
  for (size_t i = 0; i < count && status == STATUS_OK; i++)
    if (!number_graph(layers, graphs, count, &graphs[i], &scratch))
      status = too_many(layers, err);
  for (size_t i = 0; i < count && status == STATUS_OK; i++)
    wire_graph(layers, &graphs[i]);
  arena_done(&scratch);
  layers->has_graph = true; // read once, whatever came of it
  return status;
}

// ---- one inference ---------------------------------------------------------------------------------------------------

// Of the calls that still run, those that end before `end_ns` cannot hold it. The latest of the others does.
static size_t caller_of(const struct layer_report *reports, size_t *calls, size_t *call_count, uint64_t start_ns,
                        uint64_t end_ns)
{
  size_t kept = 0;
  for (size_t i = 0; i < *call_count; i++)
    if (reports[calls[i]].start_ns + reports[calls[i]].duration_ns > start_ns)
      calls[kept++] = calls[i];
  *call_count = kept;
  for (size_t i = kept; i > 0; i--)
    if (reports[calls[i - 1]].start_ns + reports[calls[i - 1]].duration_ns >= end_ns)
      return calls[i - 1];
  return LAYER_PARENT_MODEL;
}

static bool add_steps(struct tensorflow_layers *layers, const struct tensorflow_steps *steps)
{
  for (size_t i = 0; i < steps->count; i++) {
    const struct tensorflow_step *step = &steps->items[i];
    struct layer *layer = layer_of(layers, step->node.data, step->node.length);
    if (layer == NULL)
      return false;
    if (layer->type == NULL)
      set_type(layers, layer, step->type.data, step->type.length);
  }
  return true;
}

static void describe_step(const struct tensorflow_step *step, const struct layer *layer,
                          const struct tensorflow_step *const *latest, struct arena *scratch,
                          struct layer_report *ret_report)
{
  struct layer_work work;
  tensorflow_work_read(step, layer->inputs, layer->input_count, latest, &work);
  struct layer_tags *tags = arena_alloc(scratch, sizeof *tags); // the layer's own, and those of its work in this step
  *tags = layer->tags;
  layer_work_tags(&work, scratch, tags);
  *ret_report = (struct layer_report){
      .name = layer->name,
      .type = layer->type,
      .category = layer->category,
      .shape = step->shape.rank <= TENSORFLOW_RANK_MAXIMUM
                   ? layer_work_shape(scratch, step->shape.size, step->shape.rank)
                   : NULL,
      .index = layer->index,
      .alloc_bytes = (int64_t)step->alloc_bytes,
      .start_ns = step->start_ns,
      .duration_ns = step->duration_ns,
      .tags = tags,
  };
}

// After add_steps, so that layers do not move. Steps come in the order of their start: the outputs of a node that ran
// before another are known by then.
static void describe_steps(struct tensorflow_layers *layers, const struct tensorflow_steps *steps,
                           struct arena *scratch, struct layer_report *reports)
{
  size_t calls[CALLS_MAXIMUM], call_count = 0;
  const struct tensorflow_step **latest = arena_alloc_array(scratch, layers->layers.count + 1, sizeof *latest);
  for (size_t i = 0; i < steps->count; i++) {
    const struct tensorflow_step *step = &steps->items[i];
    const struct layer *layer = find_layer(layers, step->node.data, step->node.length);
    size_t caller = caller_of(reports, calls, &call_count, step->start_ns, step->start_ns + step->duration_ns);
    describe_step(step, layer, latest, scratch, &reports[i]);
    reports[i].parent = layer->is_executed ? LAYER_PARENT_MODEL : caller;
    latest[layer - layers->layers.items] = step;
    if (layer->runs_graph && call_count < CALLS_MAXIMUM)
      calls[call_count++] = i;
  }
}

enum status tensorflow_layers_publish(struct tensorflow_layers *layers, const void *metadata, size_t length,
                                      struct xsp_context span, struct error *err)
{
  if (!layers->has_graph)
    XSP_TRY(read_graph(layers, metadata, length, err));
  struct arena scratch SCOPED(arena_done) = {0};
  struct tensorflow_steps steps;
  const char *problem = NULL;
  enum status status = STATUS_OK;
  if (!tensorflow_steps_read(metadata, length, &scratch, &steps, &problem))
    status = error_set(err, STATUS_SYSTEM, "cannot read TensorFlow's run metadata", layers->model_path,
                       "another version of TensorFlow", "the times of the nodes: %s", problem);
  else if (!add_steps(layers, &steps))
    status = too_many(layers, err);
  if (status == STATUS_OK) {
    struct layer_report *reports = arena_alloc_array(&scratch, steps.count + 1, sizeof *reports);
    describe_steps(layers, &steps, &scratch, reports);
    status = framework_layer_publish(layers->publisher, reports, steps.count, span, 0, err);
  }
  return status;
}
