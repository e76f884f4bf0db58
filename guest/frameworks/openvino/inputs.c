// SPDX-License-Identifier: Apache-2.0
// What an OpenVINO model takes, and tensors over the runner's memory for it. Called by predictor.c.
#include "frameworks/openvino/state.h"

#include <string.h>

#define SHIFTED_MAJOR 2024 // up to this one they are one more

enum tensor_type openvino_tensor_type(const struct openvino_state *state, int type)
{
  static const enum tensor_type types[] = {
      [1] = TENSOR_BOOL,    [2] = TENSOR_BFLOAT16, [3] = TENSOR_FLOAT16, [4] = TENSOR_FLOAT,   [5] = TENSOR_DOUBLE,
      [7] = TENSOR_INT8,    [8] = TENSOR_INT16,    [9] = TENSOR_INT32,   [10] = TENSOR_INT64,  [16] = TENSOR_UINT8,
      [17] = TENSOR_UINT16, [18] = TENSOR_UINT32,  [19] = TENSOR_UINT64, [23] = TENSOR_STRING,
  };
  size_t number = (size_t)type - (state->major <= SHIFTED_MAJOR);
  return type >= 0 && number < sizeof types / sizeof types[0] ? types[number] : 0;
}

static int ov_type_of(const struct openvino_state *state, enum tensor_type type)
{
  for (int number = 0; number < 64; number++)
    if (openvino_tensor_type(state, number) == type)
      return number;
  return 0;
}

static void read_name(struct openvino_state *state, const struct ov_port *port, const char *kind, size_t number,
                      struct arena *arena, struct tensor_info *info)
{
  char *name = NULL;
  if (state->api.port_get_any_name(port, &name) == 0 && name != NULL) {
    info->name = arena_copy(arena, name, strlen(name));
    state->api.free(name);
  } else {
    info->name = arena_format(arena, "%s_%zu", kind, number); // without a name
  }
}

// *ret_rank -1: it does not say how many dimensions there are.
static enum status read_shape(struct openvino_state *state, const struct ov_port *port, struct tensor_info *info,
                              int64_t *ret_rank, struct error *err)
{
  struct ov_partial_shape shape = {0};
  TRY_OV(state->api.port_get_partial_shape(port, &shape), "cannot read the model's inputs");
  bool is_ranked = shape.rank.min == shape.rank.max && shape.rank.min >= 0;
  *ret_rank = is_ranked ? shape.rank.min : -1;
  if (is_ranked && shape.rank.min <= TENSOR_MAXIMUM_RANK) {
    info->rank = (unsigned)shape.rank.min;
    for (unsigned i = 0; i < info->rank; i++) {
      const struct ov_dimension *dimension = &shape.dimensions[i];
      info->shape[i] = dimension->min == dimension->max && dimension->min >= 0 ? dimension->min : -1;
    }
  }
  state->api.partial_shape_free(&shape);
  return STATUS_OK;
}

static enum status read_input(struct openvino_state *state, const struct ov_port *port, size_t number,
                              struct arena *arena, struct tensor_info *info, struct error *err)
{
  const char *what = "cannot read the model's inputs";
  read_name(state, port, "input", number, arena, info);
  int type = 0;
  int64_t rank = 0;
  TRY_OV(state->api.port_get_element_type(port, &type), what);
  info->type = openvino_tensor_type(state, type);
  if (info->type == 0)
    return error_set(err, STATUS_INPUT, what, state->common.options.model_path, NULL,
                     "input \"%s\" has elements of a type that is not handled (OpenVINO's number %d)", info->name,
                     type);
  XSP_TRY(read_shape(state, port, info, &rank, err));
  if (rank < 0)
    return error_set(err, STATUS_INPUT, what, state->common.options.model_path, "export the model with shapes",
                     "input \"%s\" does not say how many dimensions it has", info->name);
  if (rank > TENSOR_MAXIMUM_RANK)
    return error_set(err, STATUS_INPUT, what, state->common.options.model_path, NULL,
                     "input \"%s\" has %lld dimensions, at most %d are handled", info->name, (long long)rank,
                     TENSOR_MAXIMUM_RANK);
  return STATUS_OK;
}

static enum status read_output(struct openvino_state *state, const struct ov_port *port, size_t number,
                               struct arena *arena, struct tensor_info *info, struct error *err)
{
  read_name(state, port, "output", number, arena, info);
  int type = 0;
  int64_t rank = 0;
  TRY_OV(state->api.port_get_element_type(port, &type), "cannot read the model's outputs");
  info->type = openvino_tensor_type(state, type);
  XSP_TRY(read_shape(state, port, info, &rank, err));
  info->has_no_shape = rank < 0 || rank > TENSOR_MAXIMUM_RANK;
  return STATUS_OK;
}

static enum status read_outputs(struct openvino_state *state, struct arena *arena, struct predictor_model *model,
                                struct error *err)
{
  const char *what = "cannot read the model's outputs";
  TRY_OV(state->api.model_outputs_size(state->model, &model->output_count), what);
  model->outputs = arena_alloc_array(arena, model->output_count + 1, sizeof *model->outputs);
  for (size_t i = 0; i < model->output_count; i++) {
    struct ov_port *port = NULL;
    TRY_OV(state->api.model_const_output_by_index(state->model, i, &port), what);
    enum status status = read_output(state, port, i, arena, &model->outputs[i], err);
    state->api.output_const_port_free(port);
    XSP_TRY(status);
  }
  return STATUS_OK;
}

enum status openvino_read_inputs(struct openvino_state *state, struct arena *arena, struct predictor_model *model,
                                 struct error *err)
{
  const char *what = "cannot read the model's inputs";
  TRY_OV(state->api.model_inputs_size(state->model, &state->input_count), what);
  model->inputs = arena_alloc_array(arena, state->input_count + 1, sizeof *model->inputs);
  state->tensors = arena_alloc_array(arena, state->input_count + 1, sizeof *state->tensors);
  model->input_count = state->input_count;
  for (size_t i = 0; i < state->input_count; i++) {
    struct ov_port *port = NULL;
    TRY_OV(state->api.model_const_input_by_index(state->model, i, &port), what);
    enum status status = read_input(state, port, i, arena, &model->inputs[i], err);
    state->api.output_const_port_free(port);
    XSP_TRY(status);
  }
  state->is_dynamic = state->api.model_is_dynamic(state->model);
  return read_outputs(state, arena, model, err);
}

enum status openvino_reshape(struct openvino_state *state, const struct tensor *inputs, struct error *err)
{
  size_t count = state->input_count;
  struct arena arena SCOPED(arena_done) = {0};
  size_t *ports = arena_alloc_array(&arena, count, sizeof *ports);
  struct ov_partial_shape *shapes = arena_alloc_array(&arena, count, sizeof *shapes);
  struct ov_dimension *dimensions = arena_alloc_array(&arena, count * TENSOR_MAXIMUM_RANK, sizeof *dimensions);
  for (size_t i = 0; i < count; i++) {
    int64_t rank = inputs[i].info->rank;
    ports[i] = i;
    shapes[i] = (struct ov_partial_shape){{rank, rank}, &dimensions[i * TENSOR_MAXIMUM_RANK]};
    for (int64_t k = 0; k < rank; k++)
      shapes[i].dimensions[k] = (struct ov_dimension){inputs[i].shape[k], inputs[i].shape[k]};
  }
  if (state->api.model_reshape_by_port_indexes(state->model, ports, shapes, count) != 0)
    XSP_TRY(openvino_failed(state, "cannot give the model's inputs these shapes", err));
  return STATUS_OK;
}

enum status openvino_bind_inputs(struct openvino_state *state, const struct tensor *inputs, struct error *err)
{
  const char *what = "cannot make an input";
  for (size_t i = 0; i < state->input_count; i++) {
    const struct tensor *input = &inputs[i];
    struct ov_shape shape = {input->info->rank, (int64_t *)(uintptr_t)input->shape}; // read only
    if (input->info->type == TENSOR_STRING && state->api.tensor_create_from_string_array == NULL)
      return error_set(err, STATUS_INPUT, what, input->info->name, "OpenVINO 2025 or later",
                       "OpenVINO %s makes no tensors of texts", state->common.version);
    if (input->info->type == TENSOR_STRING)
      TRY_OV(state->api.tensor_create_from_string_array(input->data, input->size_bytes / sizeof(const char *), shape,
                                                        &state->tensors[i]),
             what);
    else
      TRY_OV(state->api.tensor_create_from_host_ptr(ov_type_of(state, input->info->type), shape, input->data,
                                                    &state->tensors[i]),
             what);
    TRY_OV(state->api.infer_request_set_input_tensor_by_index(state->request, i, state->tensors[i]), what);
  }
  return STATUS_OK;
}
