// SPDX-License-Identifier: Apache-2.0
// What a TFLite model takes and gives, as LiteRT reports it. Called by predictor.c while a model is opened.
#include "frameworks/litert/graph.h"
#include "frameworks/litert/state.h"

#include <string.h>

#define TENSORS_MOST 4096 // inputs or outputs

enum status litert_check(struct predictor_state *state, struct arena *arena, struct error *err)
{
  const char *path = state->options.model_path;
  XSP_TRY(predictor_check_file(path, false, "give the path of a .tflite file", err));
  char place[128];
  if (litert_file_damage(path, place, sizeof place))
    return error_set(err, STATUS_INPUT, "cannot open model", path, "copy or export the model again",
                     "the file is damaged: %s", place);
  return STATUS_OK;
}

enum tensor_type litert_tensor_type(int element)
{
  static const enum tensor_type types[] = {
      [1] = TENSOR_FLOAT,   [2] = TENSOR_INT32,   [3] = TENSOR_UINT8,     [4] = TENSOR_INT64,   [6] = TENSOR_BOOL,
      [7] = TENSOR_INT16,   [9] = TENSOR_INT8,    [10] = TENSOR_FLOAT16,  [11] = TENSOR_DOUBLE, [13] = TENSOR_UINT64,
      [16] = TENSOR_UINT32, [17] = TENSOR_UINT16, [19] = TENSOR_BFLOAT16,
  };
  return element >= 0 && (size_t)element < sizeof types / sizeof types[0] ? types[element] : 0;
}

static enum status read_type(struct litert_state *state, litert_handle tensor, const char *name,
                             struct litert_tensor_type *ret_type, struct error *err)
{
  const char *what = "cannot read the model's inputs and outputs";
  int kind = -1;
  TRY_LITERT(state->api.GetTensorTypeId(tensor, &kind), what);
  if (kind != LITERT_RANKED)
    return error_set(err, STATUS_INPUT, what, state->common.options.model_path, NULL,
                     "\"%s\" has no number of dimensions", name);
  TRY_LITERT(state->api.GetRankedTensorType(tensor, ret_type), what);
  if (ret_type->layout.rank > LITERT_RANK_MOST)
    return error_set(err, STATUS_INPUT, what, state->common.options.model_path, NULL, "\"%s\" has %u dimensions", name,
                     (unsigned)ret_type->layout.rank);
  return STATUS_OK;
}

static enum status read_input(struct litert_state *state, struct arena *arena, size_t number, struct tensor_info *info,
                              struct error *err)
{
  const char *what = "cannot read the model's inputs and outputs", *name = NULL;
  litert_handle tensor = NULL;
  TRY_LITERT(state->api.GetSignatureInputName(state->signature, number, &name), what);
  TRY_LITERT(state->api.GetSignatureInputTensorByIndex(state->signature, number, &tensor), what);
  info->name = arena_copy(arena, name, strlen(name));
  struct litert_tensor_type *type = &state->input_types[number];
  XSP_TRY(read_type(state, tensor, info->name, type, err));
  info->type = litert_tensor_type(type->element);
  if (info->type == 0)
    return error_set(err, STATUS_INPUT, what, state->common.options.model_path, NULL,
                     "input \"%s\" has elements of a type that is not handled (TFLite's number %d)", info->name,
                     (int)type->element);
  info->rank = type->layout.rank;
  for (unsigned i = 0; i < info->rank; i++)
    info->shape[i] = type->layout.dimensions[i] >= 0 ? type->layout.dimensions[i] : -1;
  return STATUS_OK;
}

// Its shape follows from those of the inputs.
static enum status read_output(struct litert_state *state, struct arena *arena, size_t number, struct tensor_info *info,
                               struct error *err)
{
  const char *what = "cannot read the model's inputs and outputs", *name = NULL;
  litert_handle tensor = NULL;
  TRY_LITERT(state->api.GetSignatureOutputName(state->signature, number, &name), what);
  TRY_LITERT(state->api.GetSignatureOutputTensorByIndex(state->signature, number, &tensor), what);
  XSP_TRY(read_type(state, tensor, "an output", &state->output_types[number], err));
  *info = (struct tensor_info){.name = arena_copy(arena, name, strlen(name)),
                               .type = litert_tensor_type(state->output_types[number].element),
                               .has_no_shape = true};
  return STATUS_OK;
}

enum status litert_read_interface(struct litert_state *state, struct arena *arena, struct predictor_model *model,
                                  struct error *err)
{
  const char *what = "cannot read the model's inputs and outputs";
  TRY_LITERT(state->api.GetNumSignatureInputs(state->signature, &state->input_count), what);
  TRY_LITERT(state->api.GetNumSignatureOutputs(state->signature, &state->output_count), what);
  size_t inputs = state->input_count, outputs = state->output_count;
  if (inputs > TENSORS_MOST || outputs > TENSORS_MOST)
    return error_set(err, STATUS_INPUT, what, state->common.options.model_path, NULL, "more than %d of them",
                     TENSORS_MOST);
  model->inputs = arena_alloc_array(arena, inputs + 1, sizeof *model->inputs);
  state->input_types = arena_alloc_array(arena, inputs + 1, sizeof *state->input_types);
  state->output_types = arena_alloc_array(arena, outputs + 1, sizeof *state->output_types);
  state->output_layouts = arena_alloc_array(arena, outputs + 1, sizeof *state->output_layouts);
  state->inputs = arena_alloc_array(arena, inputs + 1, sizeof *state->inputs);
  state->outputs = arena_alloc_array(arena, outputs + 1, sizeof *state->outputs);
  model->input_count = inputs;
  for (size_t i = 0; i < inputs; i++)
    XSP_TRY(read_input(state, arena, i, &model->inputs[i], err));
  model->outputs = arena_alloc_array(arena, outputs + 1, sizeof *model->outputs);
  model->output_count = outputs;
  for (size_t i = 0; i < outputs; i++)
    XSP_TRY(read_output(state, arena, i, &model->outputs[i], err));
  return STATUS_OK;
}
