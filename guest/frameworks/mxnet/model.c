// SPDX-License-Identifier: Apache-2.0
// What an MXNet model is: its files, its parameters and inputs, and the graph that MXNet makes of it. Called by predictor.c while
// a model is opened. A model is NAME-symbol.json with NAME-0000.params next to it.
#include "frameworks/mxnet/state.h"

#include "base/mapped.h"
#include "base/memory.h"
#include "base/slice.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ADVICE_FILE "give the path of a NAME-symbol.json, with NAME-0000.params next to it"
#define SYMBOL_BYTES_MOST ((size_t)1 << 30)

// ---- files ----------------------------------------------------------------------------------------------------------

bool mxnet_recognises(const char *path)
{
  return text_ends_with(path, SYMBOL_END);
}

enum status mxnet_read_file(const char *path, size_t most, struct mxnet_bytes *ret_bytes, struct error *err)
{
  struct mapped file;
  XSP_TRY(predictor_map_file(path, most, ADVICE_FILE, &file, err));
  *ret_bytes = (struct mxnet_bytes){memory_text_of(file.bytes, file.size), file.size};
  mapped_close(&file);
  return STATUS_OK;
}

// NAME-NNNN.params, the latest epoch of those next to the symbol.
static bool find_parameters(const char *prefix, char *path, size_t size)
{
  char pattern[PATH_MAX + 64];
  size_t used = 0;
  for (const char *at = prefix; *at != 0 && used + 2 < PATH_MAX; at++) { // a name is not a pattern
    if (strchr("*?[\\", *at) != NULL)
      pattern[used++] = '\\';
    pattern[used++] = *at;
  }
  snprintf(pattern + used, sizeof pattern - used, "-[0-9][0-9][0-9][0-9].params");
  glob_t matches;
  if (glob(pattern, 0, NULL, &matches) != 0)
    return false;
  snprintf(path, size, "%s", matches.gl_pathv[matches.gl_pathc - 1]);
  globfree(&matches);
  return true;
}

void mxnet_visit_files(const char *path, model_file_fn visit, void *context)
{
  char prefix[PATH_MAX], file[PATH_MAX + 64];
  snprintf(prefix, sizeof prefix, "%.*s", (int)(strlen(path) - strlen(SYMBOL_END)), path);
  if (find_parameters(prefix, file, sizeof file))
    visit(context, basename(file), strlen(basename(file)));
  snprintf(file, sizeof file, "%s-signature.json", basename(prefix));
  visit(context, file, strlen(file));
}

enum status mxnet_check(struct predictor_state *common, struct arena *arena, struct error *err)
{
  struct mxnet_state *state = (struct mxnet_state *)common;
  const char *path = state->common.options.model_path, *weights = state->common.options.weights_path;
  if ((!mxnet_recognises(path) && weights == NULL) || strlen(path) >= sizeof state->prefix)
    return error_set(err, STATUS_INPUT, "cannot open model", path, ADVICE_FILE,
                     "its name does not end with " SYMBOL_END);
  snprintf(state->prefix, sizeof state->prefix, "%.*s",
           (int)(strlen(path) - (mxnet_recognises(path) ? strlen(SYMBOL_END) : 0)), path);
  XSP_TRY(mxnet_read_file(path, SYMBOL_BYTES_MOST, &state->symbol_text, err));
  if (weights != NULL)
    return mxnet_read_file(weights, INT_MAX, &state->parameter_bytes, err);
  char parameters[PATH_MAX + 64];
  if (!find_parameters(state->prefix, parameters, sizeof parameters))
    return error_set(err, STATUS_INPUT, "cannot open model", path, ADVICE_FILE, "%s-0000.params is not there",
                     state->prefix);
  return mxnet_read_file(parameters, INT_MAX, &state->parameter_bytes, err);
}

// ---- what the model is ----------------------------------------------------------------------------------------------

static enum status read_parameters(struct mxnet_state *state, struct arena *arena,
                                   struct mxnet_parameter **ret_parameters, size_t *ret_count, struct error *err)
{
  const char *what = "cannot read the model's parameters";
  mxnet_handle list = NULL;
  uint32_t count = 0;
  TRY_MX(state->api.NDListCreate(state->parameter_bytes.data, (int)state->parameter_bytes.length, &list, &count), what);
  struct mxnet_parameter *parameters = arena_alloc_array(arena, (size_t)count + 1, sizeof *parameters);
  enum status status = STATUS_OK;
  for (uint32_t i = 0; i < count && status == STATUS_OK; i++) {
    const char *key = NULL;
    const float *data = NULL;
    const uint32_t *shape = NULL;
    uint32_t rank = 0;
    if (state->api.NDListGet(list, i, &key, &data, &shape, &rank) != 0) {
      status = mxnet_failed(state, what, err);
      break;
    }
    const char *colon = strchr(key, ':');
    const char *name = colon != NULL ? colon + 1 : key;
    parameters[i] = (struct mxnet_parameter){
        arena_copy(arena, name, strlen(name)),
        rank > 0 ? (const uint32_t *)(const void *)arena_copy(arena, (const char *)shape, rank * sizeof *shape) : NULL,
        rank};
  }
  state->api.NDListFree(list);
  *ret_parameters = parameters;
  *ret_count = count;
  return status;
}

static bool is_parameter(const char *name, const struct mxnet_parameter *parameters, size_t count)
{
  for (size_t i = 0; i < count; i++)
    if (strcmp(parameters[i].name, name) == 0)
      return true;
  return false;
}

static enum status read_signature(struct mxnet_state *state, const char *name, struct tensor_info *info,
                                  bool *ret_found, struct error *err)
{
  char path[PATH_MAX + 32];
  snprintf(path, sizeof path, "%s-signature.json", state->prefix);
  *ret_found = false;
  if (access(path, F_OK) != 0)
    return STATUS_OK;
  struct mxnet_bytes text = {0};
  enum status status = mxnet_read_file(path, SYMBOL_BYTES_MOST, &text, err);
  if (status == STATUS_OK)
    status = mxnet_signature_read(text.data, text.length, path, name, info, ret_found, err);
  free(text.data);
  return status;
}

// The format holds no shapes of inputs.
static enum status read_input(struct mxnet_state *state, size_t node, const struct mxnet_parameter *parameters,
                              size_t count, struct tensor_info *info, struct error *err)
{
  info->name = state->symbol.nodes[node].name;
  info->type = TENSOR_FLOAT; // all that the predict interface takes
  bool found = false;
  XSP_TRY(read_signature(state, info->name, info, &found, err));
  if (found || mxnet_input_shape(&state->symbol, node, parameters, count, info))
    return STATUS_OK;
  return error_set(
      err, STATUS_INPUT, "cannot read the model's inputs", state->common.options.model_path,
      "a NAME-signature.json next to it: {\"inputs\": [{\"data_name\": \"data\", \"data_shape\": [0, 3, 224, 224]}]}",
      "nothing gives the shape of input \"%s\"", info->name);
}

// Variables that are not parameters. Labels belong to losses, which are not computed.
enum status mxnet_read_inputs(struct mxnet_state *state, struct predictor_model *model, struct error *err)
{
  struct mxnet_parameter *parameters = NULL;
  size_t count = 0;
  struct arena arena = {0};
  enum status status = read_parameters(state, &arena, &parameters, &count, err);
  model->inputs = arena_alloc_array(state->arena, state->symbol.count + 1, sizeof *model->inputs);
  for (size_t i = 0; i < state->symbol.count && status == STATUS_OK; i++) {
    const struct mxnet_node *node = &state->symbol.nodes[i];
    if (!mxnet_is_variable(node) || is_parameter(node->name, parameters, count) || text_ends_with(node->name, "label"))
      continue;
    model->inputs[model->input_count] = (struct tensor_info){0};
    status = read_input(state, i, parameters, count, &model->inputs[model->input_count], err);
    model->input_count++;
  }
  arena_done(&arena);
  if (status == STATUS_OK && model->input_count == 0)
    return error_set(err, STATUS_INPUT, "cannot open model", state->common.options.model_path, NULL,
                     "each of its variables is a parameter: it has no input");
  return status;
}

// The graph that MXNet executes: the model's after its subgraph backend has fused what it can.
enum status mxnet_read_graph(struct mxnet_state *state, struct predictor_model *model, struct error *err)
{
  mxnet_handle fused = NULL;
  TRY_MX(state->api.SymbolCreateFromJSON(state->symbol_text.data, &state->graph_handle), "cannot open model");
  XSP_TRY(mxnet_read_outputs(state, model, state->graph_handle, err));
  state->graph = state->symbol;
  const char *json = NULL;
  bool is_fused = !state->is_on_gpu && !state->common.options.unfused && state->common.has_layers &&
                  state->api.GenBackendSubgraph(state->graph_handle, MXNET_FUSING_BACKEND, &fused) == 0 &&
                  state->api.SymbolSaveToJSON(fused, &json) == 0;
  if (fused != NULL && fused != state->graph_handle) {
    mxnet_handle other = is_fused ? state->graph_handle : fused;
    state->graph_handle = is_fused ? fused : state->graph_handle;
    state->api.SymbolFree(other);
  }
  if (is_fused)
    XSP_TRY(mxnet_symbol_read(json, strlen(json), "MXNet's graph", &state->pool, &state->graph, err));
  state->executed = arena_alloc_array(state->arena, state->graph.count + 1, sizeof *state->executed);
  state->executed_count = mxnet_operators(&state->graph, state->executed);
  return STATUS_OK;
}
