// SPDX-License-Identifier: Apache-2.0
// Inputs and outputs of a model in ONNX Runtime. Called by predictor.c while a model is opened.
#include "frameworks/onnxruntime/state.h"

#include <string.h>

static const char *take_name(struct onnxruntime_state *state, struct arena *arena, char *name)
{
  const char *copy = arena_copy(arena, name, strlen(name));
  struct ort_status *status = state->api.allocator_free(state->allocator, name);
  if (status != NULL)
    state->api.release_status(status);
  return copy;
}

static enum status read_shape(struct onnxruntime_state *state, struct arena *arena,
                              const struct ort_tensor_info *tensor, bool is_output, struct tensor_info *info,
                              struct error *err)
{
  const char *what = "cannot read the model's inputs and outputs";
  int type = 0;
  size_t rank = 0;
  TRY_ORT(state->api.dimension_count(tensor, &rank), what);
  if (rank > TENSOR_MAXIMUM_RANK && is_output)
    return STATUS_OK;
  if (rank > TENSOR_MAXIMUM_RANK)
    return error_set(err, STATUS_INPUT, what, state->common.options.model_path, NULL,
                     "input \"%s\" has %zu dimensions, at most %d are handled", info->name, rank, TENSOR_MAXIMUM_RANK);
  const char *names[TENSOR_MAXIMUM_RANK] = {NULL};
  TRY_ORT(state->api.element_type(tensor, &type), what);
  TRY_ORT(state->api.dimensions(tensor, info->shape, rank), what);
  TRY_ORT(state->api.dimension_names(tensor, names, rank), what);
  info->type = (enum tensor_type)type;
  info->rank = (unsigned)rank;
  for (size_t i = 0; i < rank; i++) {
    if (info->shape[i] >= 0)
      continue;
    info->shape[i] = -1;
    if (names[i] != NULL && names[i][0] != 0)
      info->dimension_name[i] = arena_copy(arena, names[i], strlen(names[i]));
  }
  return STATUS_OK;
}

// An output that is no tensor (a sequence of maps, as classical models give) has a name only.
static enum status read_port(struct onnxruntime_state *state, struct arena *arena, size_t number, bool is_output,
                             struct tensor_info *info, struct error *err)
{
  const char *what = "cannot read the model's inputs and outputs";
  char *name = NULL;
  TRY_ORT((is_output ? state->api.output_name : state->api.input_name)(state->session, number, state->allocator, &name),
          what);
  info->name = take_name(state, arena, name);
  struct ort_type_info *type = NULL;
  TRY_ORT((is_output ? state->api.output_type : state->api.input_type)(state->session, number, &type), what);
  int kind = 0;
  const struct ort_tensor_info *tensor = NULL;
  struct ort_status *failed = state->api.value_kind(type, &kind);
  if (failed == NULL && kind == ORT_VALUE_TENSOR)
    failed = state->api.tensor_info_of(type, &tensor);
  enum status status = STATUS_OK;
  if (failed != NULL)
    status = onnxruntime_status(state, failed, what, err);
  else if (tensor != NULL)
    status = read_shape(state, arena, tensor, is_output, info, err);
  else if (!is_output)
    status = error_set(err, STATUS_INPUT, what, state->common.options.model_path, NULL,
                       "input \"%s\" is no tensor (sequence, map or optional)", info->name);
  // Without a shape in the file the runtime says that there are no dimensions, as of a scalar.
  info->has_no_shape = is_output && info->rank == 0;
  state->api.release_type_info(type);
  return status;
}

enum status onnxruntime_read_interface(struct onnxruntime_state *state, struct arena *arena,
                                       struct predictor_model *model, struct error *err)
{
  const char *what = "cannot read the model's inputs and outputs";
  TRY_ORT(state->api.default_allocator(&state->allocator), what);
  TRY_ORT(state->api.input_count(state->session, &state->input_count), what);
  TRY_ORT(state->api.output_count(state->session, &state->output_count), what);
  size_t inputs = state->input_count, outputs = state->output_count;
  model->inputs = arena_alloc_array(arena, inputs + 1, sizeof *model->inputs);
  model->outputs = arena_alloc_array(arena, outputs + 1, sizeof *model->outputs);
  state->input_names = arena_alloc_array(arena, inputs + 1, sizeof *state->input_names);
  state->output_names = arena_alloc_array(arena, outputs + 1, sizeof *state->output_names);
  state->inputs = arena_alloc_array(arena, inputs + 1, sizeof *state->inputs);
  state->outputs = arena_alloc_array(arena, outputs + 1, sizeof *state->outputs);
  model->input_count = inputs;
  model->output_count = outputs;
  for (size_t i = 0; i < inputs; i++) {
    XSP_TRY(read_port(state, arena, i, false, &model->inputs[i], err));
    state->input_names[i] = model->inputs[i].name;
  }
  for (size_t i = 0; i < outputs; i++) {
    XSP_TRY(read_port(state, arena, i, true, &model->outputs[i], err));
    state->output_names[i] = model->outputs[i].name;
  }
  return STATUS_OK;
}
