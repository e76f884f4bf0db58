// SPDX-License-Identifier: Apache-2.0
// What an MXNet model gives, by the names of its graph: its outputs, and, where they are asked for, the tensors between its layers,
// which the predict interface then has as further outputs. Called by predictor.c while a model is opened.
#include "frameworks/mxnet/state.h"

#include "base/interner.h"
#include "base/slice.h"

#include <string.h>

#define OUTPUTS_MOST 4096u
#define OUTPUT_END "_output" // the interface names a node; the graph its output

// "conv0" of "conv0_output"; NULL: one of several outputs of a node, which the interface cannot name.
static const char *node_of(const char *output, struct arena *arena)
{
  size_t length = strlen(output), end = strlen(OUTPUT_END);
  return text_ends_with(output, OUTPUT_END) && length > end ? arena_copy(arena, output, length - end) : NULL;
}

static void add_output(struct mxnet_state *state, struct predictor_model *model, const char *name)
{
  model->outputs[state->output_count] = (struct tensor_info){
      .name = arena_copy(state->arena, name, strlen(name)), .type = TENSOR_FLOAT, .has_no_shape = true};
  state->output_nodes[state->output_count++] = node_of(name, state->arena);
}

static const char *type_of(const struct mxnet_state *state, const char *node)
{
  for (size_t i = 0; i < state->symbol.count; i++)
    if (strcmp(state->symbol.nodes[i].name, node) == 0 && !mxnet_is_variable(&state->symbol.nodes[i]))
      return mxnet_operator(&state->symbol.nodes[i]);
  return NULL;
}

// All outputs of nodes are listed by MXNet in the order of the graph, variables among them.
static enum status add_layers(struct mxnet_state *state, struct predictor_model *model, mxnet_handle internals,
                              struct error *err)
{
  uint32_t count = 0;
  const char **names = NULL;
  struct interner seen = {0};
  for (size_t i = 0; i < model->output_count; i++) {
    if (state->output_nodes[i] == NULL) // then the interface cannot have it next to others
      return STATUS_OK;
    (void)interner_at(&seen, model->outputs[i].name, strlen(model->outputs[i].name));
  }
  bool is_listed = state->api.SymbolListOutputs(internals, &count, &names) == 0;
  for (uint32_t i = 0; is_listed && i < count && state->output_count < OUTPUTS_MOST; i++) {
    uint32_t before = interner_count(&seen);
    const char *node = node_of(names[i], state->arena);
    const char *type = node != NULL ? type_of(state, node) : NULL;
    if (type == NULL || interner_at(&seen, names[i], strlen(names[i])) != before)
      continue;
    model->layer_types[model->layer_output_count++] = type;
    add_output(state, model, names[i]);
    model->outputs[state->output_count - 1].name = node; // the layer's
  }
  interner_done(&seen);
  return is_listed ? STATUS_OK : mxnet_failed(state, "cannot read tensors between layers", err);
}

enum status mxnet_read_outputs(struct mxnet_state *state, struct predictor_model *model, mxnet_handle symbol,
                               struct error *err)
{
  const char *what = "cannot open model";
  uint32_t count = 0;
  const char **names = NULL;
  TRY_MX(state->api.SymbolListOutputs(symbol, &count, &names), what);
  if (count == 0 || count > OUTPUTS_MOST)
    return error_set(err, STATUS_INPUT, what, state->common.options.model_path, NULL, "it has %u outputs",
                     (unsigned)count);
  model->outputs = arena_alloc_array(state->arena, OUTPUTS_MOST, sizeof *model->outputs);
  model->layer_types = arena_alloc_array(state->arena, OUTPUTS_MOST, sizeof *model->layer_types);
  state->output_nodes = arena_alloc_array(state->arena, OUTPUTS_MOST, sizeof *state->output_nodes);
  for (uint32_t i = 0; i < count; i++)
    add_output(state, model, names[i]);
  model->output_count = count;
  if (!state->common.options.layer_outputs)
    return STATUS_OK;
  mxnet_handle internals = NULL;
  TRY_MX(state->api.SymbolGetInternals(symbol, &internals), what);
  enum status status = add_layers(state, model, internals, err);
  state->api.SymbolFree(internals);
  return status;
}
