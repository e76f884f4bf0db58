// SPDX-License-Identifier: Apache-2.0
// Inputs and outputs of a SavedModel or a frozen graph; see graph.h. Called by the predictor before the library
// is loaded, so that another file is refused with a clear error.
#include "base/slice.h"
#include "base/sorted.h"
#include "base/wire.h"
#include "frameworks/tensorflow/graph.h"

#include <stdlib.h>
#include <string.h>

SORTED_BY(compare_ports, struct tensorflow_port, strcmp(a->name, b->name))

// ---- frozen graphs ---------------------------------------------------------------------------------------------------

static bool has_no_output(const char *op)
{
  return text_is_one_of(op, "NoOp", "Const", "Assert", "Placeholder", "SaveV2", "MergeV2Checkpoints", "PrintV2",
                        "Print", "AssignVariableOp");
}

// Which nodes depend on a Placeholder, and which are consumed. Nodes may be in any order, and loops are legal.
struct flow {
  bool *is_consumed, *is_fed;
  uint32_t *first_edge; // per node: its place in `edges`
  uint32_t *edges;      // consumers, node after node
  uint32_t *queue;
};

static size_t number_of(const struct tensorflow_graph *graph, const char *input)
{
  const struct tensorflow_node *node = tensorflow_graph_input(graph, input);
  return node != NULL ? (size_t)(node - graph->nodes) : SIZE_MAX;
}

static bool make_flow(const struct tensorflow_graph *graph, struct arena *arena, struct flow *flow)
{
  size_t edge_count = 0;
  for (size_t i = 0; i < graph->count; i++)
    edge_count += graph->nodes[i].input_count;
  if (edge_count > UINT32_MAX)
    return false;
  flow->is_consumed = tensorflow_graph_consumed(graph, arena);
  flow->is_fed = arena_alloc_array(arena, graph->count + 1, sizeof *flow->is_fed);
  flow->first_edge = arena_alloc_array(arena, graph->count + 2, sizeof *flow->first_edge);
  flow->edges = arena_alloc_array(arena, edge_count + 1, sizeof *flow->edges);
  flow->queue = arena_alloc_array(arena, graph->count + 1, sizeof *flow->queue);
  for (size_t i = 0; i < graph->count; i++) // count the consumers of each, then place them
    for (size_t k = 0; k < graph->nodes[i].input_count; k++) {
      size_t from = number_of(graph, graph->nodes[i].inputs[k]);
      if (from != SIZE_MAX)
        flow->first_edge[from + 2]++; // two places on: filling moves each on by one, to where it belongs
    }
  for (size_t i = 2; i < graph->count + 2; i++)
    flow->first_edge[i] += flow->first_edge[i - 1];
  for (size_t i = 0; i < graph->count; i++)
    for (size_t k = 0; k < graph->nodes[i].input_count; k++) {
      size_t from = number_of(graph, graph->nodes[i].inputs[k]);
      if (from != SIZE_MAX)
        flow->edges[flow->first_edge[from + 1]++] = (uint32_t)i;
    }
  return true;
}

static void follow(const struct tensorflow_graph *graph, struct flow *flow)
{
  size_t head = 0, tail = 0;
  for (size_t i = 0; i < graph->count; i++)
    if (strcmp(graph->nodes[i].op, "Placeholder") == 0) {
      flow->is_fed[i] = true;
      flow->queue[tail++] = (uint32_t)i;
    }
  bool has_inputs = tail > 0;
  for (size_t i = 0; i < graph->count && !has_inputs; i++)
    flow->is_fed[i] = true; // it computes from nothing
  for (; head < tail; head++)
    for (uint32_t at = flow->first_edge[flow->queue[head]]; at < flow->first_edge[flow->queue[head] + 1]; at++) {
      uint32_t to = flow->edges[at];
      if (!flow->is_fed[to]) {
        flow->is_fed[to] = true;
        flow->queue[tail++] = to;
      }
    }
}

bool tensorflow_frozen_read(const void *bytes, size_t length, struct arena *arena, struct tensorflow_model *ret_model,
                            const char **ret_problem)
{
  *ret_model = (struct tensorflow_model){0};
  struct tensorflow_graph *graph = &ret_model->graph;
  if (!tensorflow_graph_read(bytes, length, arena, graph, ret_problem))
    return false;
  struct flow flow;
  ret_model->inputs = arena_alloc_array(arena, graph->count + 1, sizeof *ret_model->inputs);
  ret_model->outputs = arena_alloc_array(arena, graph->count + 1, sizeof *ret_model->outputs);
  ret_model->layers = arena_alloc_array(arena, graph->count + 1, sizeof *ret_model->layers);
  if (!make_flow(graph, arena, &flow)) {
    *ret_problem = "the graph has too many edges";
    return false;
  }
  follow(graph, &flow);
  for (size_t i = 0; i < graph->count; i++) {
    const struct tensorflow_node *node = &graph->nodes[i];
    struct tensorflow_port port = {node->name, node->name, 0, node->type, node->shape};
    if (strcmp(node->op, "Placeholder") == 0)
      ret_model->inputs[ret_model->input_count++] = port;
    else if (!flow.is_fed[i] || has_no_output(node->op))
      continue;
    else if (flow.is_consumed[i])
      ret_model->layers[ret_model->layer_count++] = port;
    else
      ret_model->outputs[ret_model->output_count++] = port;
  }
  if (graph->count == 0)
    *ret_problem = "no graph of TensorFlow: it has no nodes";
  else if (ret_model->output_count == 0)
    *ret_problem = "the graph has no output: no node after its inputs that nothing consumes";
  return *ret_problem == NULL;
}

// ---- SavedModels -----------------------------------------------------------------------------------------------------

static const char *copy(struct arena *arena, const struct wire_field *field)
{
  return arena_copy(arena, field->bytes, field->length);
}

// "serve_keras_tensor:0" → node and index.
static void set_place(struct arena *arena, const struct wire_field *field, struct tensorflow_port *port)
{
  char *text = arena_copy(arena, field->bytes, field->length), *colon = strrchr(text, ':');
  port->index = colon != NULL ? atoi(colon + 1) : 0;
  if (colon != NULL)
    *colon = 0;
  port->node = text;
}

static bool read_port(struct wire entry, struct arena *arena, struct tensorflow_port *port, const char **ret_problem)
{
  struct wire_field field, part;
  port->name = port->node = "";
  port->shape.rank = TENSORFLOW_NO_RANK;
  while (wire_next(&entry, &field)) {
    if (wire_is(&field, 1, WIRE_BYTES))
      port->name = copy(arena, &field);
    if (!wire_is(&field, 2, WIRE_BYTES))
      continue;
    struct wire info = wire_inside(&field);
    while (wire_next(&info, &part)) {
      if (wire_is(&part, 1, WIRE_BYTES))
        set_place(arena, &part, port);
      if (wire_is(&part, 2, WIRE_VARINT))
        port->type = (uint32_t)part.value;
      if (wire_is(&part, 3, WIRE_BYTES))
        tensorflow_shape_read(part.bytes, part.length, &port->shape);
    }
  }
  if (port->node[0] == 0)
    *ret_problem = "an input or output of the signature is not a plain tensor";
  return *ret_problem == NULL;
}

static bool read_ports(struct wire signature, uint64_t number, struct arena *arena, struct tensorflow_port **ret_ports,
                       size_t *ret_count, const char **ret_problem)
{
  size_t count = wire_count(signature, number);
  struct tensorflow_port *ports = arena_alloc_array(arena, count + 1, sizeof *ports);
  *ret_count = 0;
  struct wire_field field;
  while (wire_find(&signature, number, WIRE_BYTES, &field))
    if (!read_port(wire_inside(&field), arena, &ports[(*ret_count)++], ret_problem))
      return false;
  qsort(ports, count, sizeof *ports, compare_ports);
  *ret_ports = ports;
  return true;
}

struct part { // a MetaGraphDef as far as it is chosen
  struct wire_field graph, signature;
  const char *signature_name;
  size_t signature_count;
  bool is_default;
  const char *tags[TENSORFLOW_TAGS_MAXIMUM];
  size_t tag_count;
};

static bool read_tags(struct wire info, struct arena *arena, struct part *part)
{
  struct wire_field field;
  bool serves = false;
  while (part->tag_count < TENSORFLOW_TAGS_MAXIMUM && wire_find(&info, 4, WIRE_BYTES, &field)) {
    const char *tag = copy(arena, &field);
    part->tags[part->tag_count++] = tag;
    serves = serves || strcmp(tag, "serve") == 0;
  }
  return serves;
}

static void read_signature(struct wire entry, struct arena *arena, struct part *part)
{
  struct wire_field field, value = {0};
  const char *name = NULL;
  while (wire_next(&entry, &field)) {
    if (wire_is(&field, 1, WIRE_BYTES))
      name = copy(arena, &field);
    if (wire_is(&field, 2, WIRE_BYTES))
      value = field;
  }
  // A model that Keras or tf.saved_model writes also has one that only initialises it.
  if (name == NULL || part->is_default || strcmp(name, "__saved_model_init_op") == 0)
    return;
  part->is_default = strcmp(name, "serving_default") == 0;
  part->signature_count++;
  part->signature = value;
  part->signature_name = name;
}

// True where the part is tagged "serve".
static bool read_part(struct wire message, struct arena *arena, struct part *part)
{
  *part = (struct part){0};
  bool serves = false;
  struct wire_field field;
  while (wire_next(&message, &field)) {
    if (wire_is(&field, 1, WIRE_BYTES)) // meta_info_def
      serves = read_tags(wire_inside(&field), arena, part);
    if (wire_is(&field, 2, WIRE_BYTES))
      part->graph = field;
    if (wire_is(&field, 5, WIRE_BYTES))
      read_signature(wire_inside(&field), arena, part);
  }
  return serves;
}

static bool take_part(const struct part *part, struct arena *arena, struct tensorflow_model *model,
                      const char **ret_problem)
{
  if (part->signature_count == 0)
    *ret_problem = "the model has no signature, so its inputs are unknown";
  else if (!part->is_default && part->signature_count > 1)
    *ret_problem = "the model has several signatures, none of them called serving_default";
  if (*ret_problem != NULL)
    return false;
  memcpy(model->tags, part->tags, sizeof model->tags);
  model->tag_count = part->tag_count;
  model->signature = part->signature_name;
  struct wire signature = wire_inside(&part->signature);
  if (!read_ports(signature, 1, arena, &model->inputs, &model->input_count, ret_problem) ||
      !read_ports(signature, 2, arena, &model->outputs, &model->output_count, ret_problem))
    return false;
  if (model->output_count == 0)
    *ret_problem = "the signature has no outputs";
  return *ret_problem == NULL &&
         tensorflow_graph_read(part->graph.bytes, part->graph.length, arena, &model->graph, ret_problem);
}

bool tensorflow_saved_read(const void *bytes, size_t length, struct arena *arena, struct tensorflow_model *ret_model,
                           const char **ret_problem)
{
  *ret_model = (struct tensorflow_model){0};
  *ret_problem = NULL;
  struct wire message = wire_over(bytes, length);
  struct wire_field field;
  struct part part;
  bool has_part = false;
  while (wire_find(&message, 2, WIRE_BYTES, &field)) // meta_graphs
    has_part = has_part || read_part(wire_inside(&field), arena, &part);
  if (message.problem != NULL) {
    *ret_problem = arena_format(arena, "it is damaged at byte %zu: %s", (size_t)(message.at - (const char *)bytes),
                                message.problem);
    return false;
  }
  if (!has_part)
    *ret_problem = "no SavedModel with a part for serving (tag \"serve\")";
  return *ret_problem == NULL && take_part(&part, arena, ret_model, ret_problem);
}
