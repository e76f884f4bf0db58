// SPDX-License-Identifier: Apache-2.0
// MXNet through its predict and profiler C interfaces, opened at run time, on the CPU. Called by the runner (open, prepare,
// predict, flush, resume, close) and by `xsp check` (probe). What a model is: model.c; its layers: layers.c.
// One thread, one model.
#include "frameworks/mxnet/state.h"

#include "base/clock.h"
#include "base/memory.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY_ADVICE "pip install mxnet==1.9.1, or --library mxnet=PATH"

static const struct library_function functions[] = {
    {"MXGetLastError", offsetof(struct mxnet_state, api.GetLastError), false},
#define X(name, arguments) {"MX" #name, offsetof(struct mxnet_state, api.name), false},
    MXNET_FUNCTIONS(X)
#undef X
};

// ---- errors ---------------------------------------------------------------------------------------------------------

// MXNet's messages: "[22:10:01] ../src/file.cc:123: what is wrong\nStack trace:\n …", perhaps with lines before.
static void one_line(const char *message, char *text, size_t size)
{
  const char *end = strstr(message, "Stack trace");
  size_t length = end != NULL ? (size_t)(end - message) : strlen(message), used = 0;
  for (size_t i = 0; i < length && used + 1 < size;) {
    size_t line = strcspn(message + i, "\n");
    if (line > length - i)
      line = length - i;
    const char *at = message + i, *place = at[0] == '[' ? strstr(at, ": ") : NULL;
    i += line + 1;
    if (place != NULL && place < at + line) {
      line -= (size_t)(place + 2 - at);
      at = place + 2;
    }
    while (line > 0 && at[line - 1] == ' ')
      line--;
    if (line > 0)
      used += (size_t)snprintf(text + used, size - used, "%s%.*s", used > 0 ? " " : "", (int)line, at);
  }
  if (used == 0)
    snprintf(text, size, "MXNet gave no reason");
}

enum status mxnet_failed(struct mxnet_state *state, const char *what, struct error *err)
{
  char why[sizeof err->why];
  one_line(state->api.GetLastError(), why, sizeof why);
  const char *advice =
      state->predictor != NULL ? "other --input values" : "export the model again, or other --dim values";
  return predictor_failed(&state->common, what, why, advice, err);
}

// ---- open -----------------------------------------------------------------------------------------------------------

static void set_environment(const struct predictor_state *state)
{
  if (state->has_layers) // else several operators are one event
    setenv("MXNET_EXEC_BULK_EXEC_INFERENCE", "0", 1);
  if (state->options.unfused)
    setenv("MXNET_SUBGRAPH_BACKEND", "NONE", 1);
  if (state->options.threads != 0) {
    char number[16];
    snprintf(number, sizeof number, "%u", state->options.threads);
    setenv("OMP_NUM_THREADS", number, 1);
  }
}

static enum status load(struct predictor_state *common, struct error *err)
{
  const struct mxnet_state *state = (const struct mxnet_state *)common;
  int number = 0; // 10901
  if (state->api.GetVersion(&number) != 0 || number < 10000)
    return error_set(err, STATUS_SYSTEM, "cannot use library", common->library.path, LIBRARY_ADVICE,
                     "MXNet did not report its version");
  snprintf(common->version, sizeof common->version, "%d.%d.%d", number / 10000, number / 100 % 100, number % 100);
  return STATUS_OK;
}

static const struct predictor_library library = {
    .names = {.name = "mxnet",
              .sonames = (const char *const[]){"libmxnet.so", NULL},
              .package_glob = "mxnet/libmxnet.so*",
              .advice = LIBRARY_ADVICE},
    .expected = "MXNet 1.9",
    .functions = functions,
    .function_count = sizeof functions / sizeof functions[0],
    .set_environment = set_environment,
    .load = load,
};

// A library without CUDA answers with an error, or with 0 GPUs.
static enum status choose_device(struct mxnet_state *state, struct predictor_model *model, struct error *err)
{
  const struct framework_device *device = &state->common.device;
  int gpus = 0;
  if (device->kind == DEVICE_GPU || device->kind == DEVICE_NAMED) {
    if (state->api.GetGPUCount(&gpus) != 0)
      gpus = 0;
    state->device_number = device->index < 0 ? 0 : device->index;
    state->is_on_gpu = device->kind == DEVICE_GPU && state->device_number < gpus;
    if (!state->is_on_gpu)
      return framework_device_missing(device, "mxnet",
                                      gpus == 0   ? "cpu"
                                      : gpus == 1 ? "cpu, gpu:0"
                                                  : arena_format(state->arena, "cpu, gpu:0 to gpu:%d", gpus - 1),
                                      err);
  }
  model->device = arena_format(state->arena, "%s(%d)", state->is_on_gpu ? "gpu" : "cpu", state->device_number);
  model->device_class = state->is_on_gpu ? PREDICTOR_ON_CUDA : PREDICTOR_ON_CPU;
  return STATUS_OK;
}

static enum status mxnet_open(struct predictor_model *model, struct arena *arena, struct error *err)
{
  struct mxnet_state *state = model->state;
  static const struct layer_publisher_options publishing = {"mxnet", MXNET_UNTOLD, LAYER_TIMES_REALTIME};
  state->arena = arena;
  state->pool.maximum_bytes = MXNET_POOL_BYTES;
  model->layer_source = state->common.has_layers ? "profiler" : "none";
  state->publisher = framework_layer_publisher_create(&publishing);
  XSP_TRY(choose_device(state, model, err));
  XSP_TRY(mxnet_symbol_read(state->symbol_text.data, state->symbol_text.length, state->common.options.model_path,
                            &state->pool, &state->symbol, err));
  XSP_TRY(mxnet_read_graph(state, model, err));
  state->outputs = arena_alloc_array(arena, state->output_count, sizeof *state->outputs);
  XSP_TRY(mxnet_read_inputs(state, model, err));
  return state->common.has_layers ? mxnet_configure_profiler(state, err) : STATUS_OK;
}

// ---- prepare --------------------------------------------------------------------------------------------------------

static void release_predictor(struct mxnet_state *state)
{
  if (state->predictor != NULL)
    state->api.PredFree(state->predictor);
  state->predictor = NULL;
  for (uint32_t i = 0; i < state->output_count && state->outputs != NULL; i++) {
    free(state->outputs[i].data);
    state->outputs[i].data = NULL;
  }
}

static enum status make_predictor(struct mxnet_state *state, uint32_t count, const char **names, const uint32_t *starts,
                                  const uint32_t *shapes, struct error *err)
{
  const struct mxnet_bytes *symbol = &state->symbol_text, *parameters = &state->parameter_bytes;
  int device = state->is_on_gpu ? MXNET_GPU : MXNET_CPU;
  int failed = !state->common.options.layer_outputs
                   ? state->api.PredCreate(symbol->data, parameters->data, (int)parameters->length, device,
                                           state->device_number, count, names, starts, shapes, &state->predictor)
                   : state->api.PredCreatePartialOut(symbol->data, parameters->data, (int)parameters->length, device,
                                                     state->device_number, count, names, starts, shapes,
                                                     state->output_count, state->output_nodes, &state->predictor);
  if (failed)
    state->predictor = NULL;
  return failed ? mxnet_failed(state, "cannot open model", err) : STATUS_OK;
}

static enum status create_predictor(struct mxnet_state *state, size_t count, const struct tensor *inputs,
                                    struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
  const char **names = arena_alloc_array(&arena, count, sizeof *names);
  uint32_t *starts = arena_alloc_array(&arena, count + 1, sizeof *starts);
  uint32_t *shapes = arena_alloc_array(&arena, count * TENSOR_MAXIMUM_RANK, sizeof *shapes);
  enum status status = STATUS_OK;
  uint32_t used = 0;
  for (size_t i = 0; i < count && status == STATUS_OK; i++) {
    names[i] = inputs[i].info->name;
    starts[i] = used;
    for (unsigned k = 0; k < inputs[i].info->rank; k++) {
      if (inputs[i].shape[k] < 1 || inputs[i].shape[k] > INT32_MAX)
        status = error_set(err, STATUS_INPUT, "cannot make an input", inputs[i].info->name, NULL,
                           "MXNet takes no dimension of %lld", (long long)inputs[i].shape[k]);
      shapes[used++] = (uint32_t)inputs[i].shape[k];
    }
    starts[i + 1] = used;
  }
  if (status == STATUS_OK)
    status = make_predictor(state, (uint32_t)count, names, starts, shapes, err);
  return status;
}

static enum status make_output(struct mxnet_state *state, uint32_t number, struct tensor_info *info, struct error *err)
{
  uint32_t *shape = NULL, rank = 0;
  TRY_MX(state->api.PredGetOutputShape(state->predictor, number, &shape, &rank), "cannot make an output");
  size_t size = 1;
  for (uint32_t i = 0; i < rank; i++)
    if (__builtin_mul_overflow(size, (size_t)shape[i], &size) || size > UINT32_MAX)
      return error_set(err, STATUS_INPUT, "cannot make an output", state->common.options.model_path, "a smaller batch",
                       "output %u is too large", (unsigned)number);
  if (rank > TENSOR_MAXIMUM_RANK)
    return error_set(err, STATUS_INPUT, "cannot make an output", state->common.options.model_path, NULL,
                     "output %u has %u dimensions", (unsigned)number, (unsigned)rank);
  struct tensor *output = &state->outputs[number];
  output->size_bytes = size * sizeof(float);
  output->data = memory_new(size, sizeof(float));
  info->rank = rank;
  for (uint32_t i = 0; i < rank; i++)
    output->shape[i] = shape[i];
  output->info = info;
  return STATUS_OK;
}

// Inputs stay in the predictor from one inference to the next.
static enum status mxnet_refresh(struct predictor_model *model, const struct tensor *inputs, struct error *err)
{
  struct mxnet_state *state = model->state;
  for (size_t i = 0; i < model->input_count; i++) {
    if (inputs[i].size_bytes / sizeof(float) > UINT32_MAX)
      return error_set(err, STATUS_INPUT, "cannot make an input", inputs[i].info->name, "a smaller batch",
                       "it is larger than MXNet's interface takes");
    TRY_MX(state->api.PredSetInput(state->predictor, inputs[i].info->name, inputs[i].data,
                                   (uint32_t)(inputs[i].size_bytes / sizeof(float))),
           "cannot make an input");
  }
  return STATUS_OK;
}

static enum status mxnet_prepare(struct predictor_model *model, const struct tensor *inputs, struct error *err)
{
  struct mxnet_state *state = model->state;
  XSP_TRY(mxnet_flush(model, err));
  release_predictor(state);
  XSP_TRY(create_predictor(state, model->input_count, inputs, err));
  XSP_TRY(mxnet_refresh(model, inputs, err));
  for (uint32_t i = 0; i < state->output_count; i++)
    XSP_TRY(make_output(state, i, &model->outputs[i], err));
  if (!state->common.has_layers)
    return STATUS_OK;
  arena_done(&state->work_arena);
  state->work =
      mxnet_work_read(&state->api, state->graph_handle, &state->graph, inputs, model->input_count, &state->work_arena);
  size_t count = 0;
  for (size_t i = 0; i < state->graph.count; i++) // by operator from here on
    if (!mxnet_is_variable(&state->graph.nodes[i]))
      state->work[count++] = state->work[i];
  return STATUS_OK;
}

// ---- predict --------------------------------------------------------------------------------------------------------

// In whole microseconds, as MXNet's profile has it.
static uint64_t realtime_ns(void)
{
  return clock_now_ns(CLOCK_REALTIME) / 1000 * 1000;
}

static enum status mxnet_predict(struct predictor_model *model, const struct tensor *inputs, struct error *err)
{
  struct mxnet_state *state = model->state;
  struct inference inference = {.model = model->model_span, .start_ns = realtime_ns()};
  TRY_MX(state->api.PredForward(state->predictor), "cannot run model");
  for (uint32_t i = 0; i < state->output_count; i++) // an inference ends here: execution is asynchronous
    TRY_MX(state->api.PredGetOutput(state->predictor, i, state->outputs[i].data,
                                    (uint32_t)(state->outputs[i].size_bytes / sizeof(float))),
           "cannot run model");
  inference.end_ns = realtime_ns();
  if (state->common.has_layers)
    *vector_add(&state->waiting) = inference;
  return STATUS_OK;
}

static enum status mxnet_read_output(struct predictor_model *model, size_t number, struct tensor *ret_output,
                                     struct error *err)
{
  *ret_output = ((struct mxnet_state *)model->state)->outputs[number];
  return STATUS_OK;
}

static void mxnet_close(struct predictor_model *model)
{
  struct mxnet_state *state = model->state;
  (void)!mxnet_flush(model, NULL);
  release_predictor(state);
  if (state->graph_handle != NULL)
    state->api.SymbolFree(state->graph_handle);
  arena_done(&state->work_arena);
  framework_pool_done(&state->pool);
  framework_layer_publisher_free(state->publisher);
  free(state->symbol_text.data);
  free(state->parameter_bytes.data);
  inferences_free(&state->waiting);
}

const struct predictor predictor_mxnet = {
    .name = "mxnet",
    .summary = "NAME-symbol.json with NAME-0000.params in MXNet 1.9",
    .takes_weights = true,
    .extensions = SYMBOL_END,
    .recognises = mxnet_recognises,
    .visit_files = mxnet_visit_files,
    .untold = MXNET_UNTOLD,
    .tells_outputs = true,
    .pinned_by = "MXNET_ENFORCE_DETERMINISM, MXNET_CUDNN_AUTOTUNE_DEFAULT",
    .has_devices = true,
    .has_unfused = true,
    .state_bytes = sizeof(struct mxnet_state),
    .library = &library,
    .check = mxnet_check,
    .open = mxnet_open,
    .prepare = mxnet_prepare,
    .refresh = mxnet_refresh,
    .predict = mxnet_predict,
    .read_output = mxnet_read_output,
    .flush = mxnet_flush,
    .resume = mxnet_resume,
    .close = mxnet_close,
};
