// SPDX-License-Identifier: Apache-2.0
// LiteRT (TFLite models) through its C API, opened at run time. Called by the runner (open, prepare, predict,
// flush, resume, close) and by `xsp check` (probe). What a model takes, gives and consists of: model.c; its layers:
// layers.c. One thread, one model, its first signature.
#include "frameworks/litert/state.h"

#include "base/clock.h"
#include "base/memory.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct library_function functions[] = {
#define X(name, arguments) {"LiteRt" #name, offsetof(struct litert_state, api.name), false},
    LITERT_FUNCTIONS(X)
#undef X
#define X(name) {"LiteRt" #name, offsetof(struct litert_state, api.name), false},
        LITERT_RELEASES(X)
#undef X
};

// ---- the library ----------------------------------------------------------------------------------------------------

// The library does not report it; the name of its package's metadata folder does.
static void find_version(const char *path, char *version, size_t size)
{
  snprintf(version, size, "unknown");
  char pattern[LIBRARY_FOUND_SIZE + 64];
  snprintf(pattern, sizeof pattern, "%s", path);
  char *folder = strstr(pattern, "/ai_edge_litert/");
  if (folder == NULL)
    return;
  snprintf(folder, sizeof pattern - (size_t)(folder - pattern), "/ai_edge_litert-*.dist-info");
  glob_t matches;
  if (glob(pattern, 0, NULL, &matches) != 0)
    return;
  const char *number = strstr(matches.gl_pathv[0], "/ai_edge_litert-") + strlen("/ai_edge_litert-");
  const char *end = strstr(number, ".dist-info");
  if (matches.gl_pathc == 1 && end != NULL)
    snprintf(version, size, "%.*s", (int)(end - number), number);
  globfree(&matches);
}

static enum status load(struct predictor_state *state, struct error *err)
{
  find_version(state->library.path, state->version, sizeof state->version);
  return STATUS_OK;
}

static const struct predictor_library library = {
    .names = {.name = "litert",
              .sonames = (const char *const[]){"libLiteRt.so", NULL},
              .package_glob = "ai_edge_litert/libLiteRt.so*",
              .advice = "pip install ai-edge-litert, or --library litert=PATH"},
    .expected = "LiteRT as of ai-edge-litert 2.3",
    .functions = functions,
    .function_count = sizeof functions / sizeof functions[0],
    .load = load,
};

// ---- errors ---------------------------------------------------------------------------------------------------------

enum status litert_failed(struct litert_state *state, int code, const char *what, struct error *err)
{
  const char *advice = state->profiler != NULL || state->is_waiting ? "other --dim or --input values"
                                                                    : "export the model again, for TFLite";
  if (state->message[0] == 0 && code == LITERT_NO_MEMORY)
    snprintf(state->message, sizeof state->message, "out of memory");
  if (state->message[0] == 0)
    snprintf(state->message, sizeof state->message, "LiteRT's status %d", code);
  return predictor_failed(&state->common, what, state->message, advice, err);
}

// ---- open -----------------------------------------------------------------------------------------------------------

static enum status add_options(struct litert_state *state, const char *identifier, const char *toml, struct error *err)
{
  const char *what = "cannot set LiteRT's options";
  litert_handle added = NULL;
  // The copy is the library's from here on.
  TRY_LITERT(state->api.CreateOpaqueOptions(identifier, memory_text(toml), free, &added), what);
  TRY_LITERT(state->api.AddOpaqueOptions(state->compile_options, added), what);
  return STATUS_OK;
}

// Operators that an accelerator does not take stay on the CPU. LiteRT chooses among several of a kind itself.
static enum status choose_device(struct litert_state *state, struct arena *arena, struct predictor_model *model,
                                 struct error *err)
{
  static const char *const names[] = {[LITERT_CPU] = "CPU", [LITERT_GPU] = "GPU", [LITERT_NPU] = "NPU"};
  const struct framework_device *device = &state->common.device;
  int wanted = device->kind == DEVICE_GPU && device->index <= 0 ? LITERT_GPU : LITERT_CPU, all = LITERT_CPU;
  bool is_known = device->kind != DEVICE_NAMED && device->index <= 0;
  if (device->kind == DEVICE_NAMED && strcasecmp(device->text, "npu") == 0) {
    wanted = LITERT_NPU;
    is_known = true;
  }
  size_t count = 0;
  TRY_LITERT(state->api.GetNumAccelerators(state->environment, &count), "cannot list LiteRT's accelerators");
  for (size_t i = 0; i < count; i++) {
    litert_handle accelerator = NULL;
    int support = 0;
    TRY_LITERT(state->api.GetAccelerator(state->environment, i, &accelerator), "cannot list LiteRT's accelerators");
    if (state->api.GetAcceleratorHardwareSupport(accelerator, &support) == 0)
      all |= support;
  }
  const char *present = "";
  for (int bit = LITERT_CPU; bit <= LITERT_NPU; bit *= 2)
    if (all & bit)
      present = framework_device_list(arena, present, names[bit]);
  if (!is_known || !(all & wanted))
    return framework_device_missing(device, "litert", present, err);
  state->accelerators = wanted | LITERT_CPU;
  model->device = names[wanted];
  model->device_class = wanted == LITERT_CPU ? PREDICTOR_ON_CPU : PREDICTOR_ON_OTHER;
  return STATUS_OK;
}

static enum status compile(struct litert_state *state, struct error *err)
{
  const char *what = "cannot set LiteRT's options";
  TRY_LITERT(state->api.CreateOptions(&state->compile_options), what);
  TRY_LITERT(state->api.SetOptionsHardwareAccelerators(state->compile_options, state->accelerators), what);
  if (state->common.has_layers)
    XSP_TRY(add_options(state, "runtime_options_string", "enable_profiling = true\n", err));
  char toml[96] = "";
  size_t used = 0;
  if (state->common.options.threads != 0)
    used = (size_t)snprintf(toml, sizeof toml, "num_threads = %u\n", state->common.options.threads);
  if (state->common.options.unfused)
    snprintf(toml + used, sizeof toml - used, "kernel_mode = %d\n", LITERT_KERNELS_BUILTIN);
  if (toml[0] != 0)
    XSP_TRY(add_options(state, "xnnpack", toml, err));
  TRY_LITERT_CAPTURED(
      state->api.CreateCompiledModel(state->environment, state->model, state->compile_options, &state->compiled),
      "cannot open model");
  if (state->common.has_layers)
    TRY_LITERT(state->api.CompiledModelGetProfiler(state->compiled, &state->profiler), "cannot get LiteRT's profiler");
  return STATUS_OK;
}

static enum status litert_open(struct predictor_model *model, struct arena *arena, struct error *err)
{
  struct litert_state *state = model->state;
  model->layer_source = state->common.has_layers ? "profiler" : "none";
  model->note = state->common.options.unfused ? "the interpreter's own kernels, each operator apart"
                                              : "kernels of XNNPACK where it has one";
  litert_make_publisher(state);
  TRY_LITERT_CAPTURED(state->api.CreateEnvironment(0, NULL, &state->environment), "cannot start LiteRT");
  XSP_TRY(choose_device(state, arena, model, err));
  TRY_LITERT_CAPTURED(
      state->api.CreateModelFromFile(state->environment, state->common.options.model_path, &state->model),
      "cannot open model");
  size_t signatures = 0;
  TRY_LITERT(state->api.GetNumModelSignatures(state->model, &signatures), "cannot open model");
  if (signatures == 0)
    return error_set(err, STATUS_INPUT, "cannot open model", state->common.options.model_path, NULL,
                     "it has no signature");
  TRY_LITERT(state->api.GetModelSignature(state->model, 0, &state->signature), "cannot open model");
  XSP_TRY(litert_read_interface(state, arena, model, err));
  if (state->common.has_layers) // a file that is read otherwise than known has layers without operators
    (void)litert_graph_open(state->common.options.model_path, arena, &state->graph);
  return compile(state, err);
}

// ---- prepare --------------------------------------------------------------------------------------------------------

static void release_buffers(struct litert_state *state, litert_handle *buffers, size_t count)
{
  for (size_t i = 0; i < count && buffers != NULL; i++) {
    if (buffers[i] != NULL)
      state->api.DestroyTensorBuffer(buffers[i]);
    buffers[i] = NULL;
  }
}

static enum status unlock(struct litert_state *state, struct error *err)
{
  litert_handle locked = state->locked;
  state->locked = NULL;
  if (locked != NULL)
    TRY_LITERT(state->api.UnlockTensorBuffer(locked), "cannot read an output");
  return STATUS_OK;
}

static enum status resize_input(struct litert_state *state, size_t number, const struct tensor *input,
                                struct error *err)
{
  int dimensions[LITERT_RANK_MOST];
  bool is_free = false;
  for (unsigned i = 0; i < input->info->rank; i++) {
    if (input->shape[i] > INT32_MAX)
      return error_set(err, STATUS_INPUT, "cannot make an input", input->info->name, NULL, "a dimension is too large");
    dimensions[i] = (int)input->shape[i];
    is_free = is_free || input->info->shape[i] < 0;
  }
  if (is_free)
    TRY_LITERT_CAPTURED(
        state->api.CompiledModelResizeInputTensor(state->compiled, 0, number, dimensions, input->info->rank),
        "cannot give the model's inputs these shapes");
  return STATUS_OK;
}

static enum status fill_input(struct litert_state *state, size_t number, const struct tensor *input, struct error *err)
{
  const char *what = "cannot make an input";
  void *memory = NULL;
  TRY_LITERT(state->api.LockTensorBuffer(state->inputs[number], &memory, LITERT_WRITE), what);
  memcpy(memory, input->data, input->size_bytes);
  TRY_LITERT(state->api.UnlockTensorBuffer(state->inputs[number]), what);
  return STATUS_OK;
}

static enum status make_input(struct litert_state *state, size_t number, const struct tensor *input, struct error *err)
{
  const char *what = "cannot make an input";
  struct litert_tensor_type type = state->input_types[number];
  for (unsigned i = 0; i < input->info->rank; i++)
    type.layout.dimensions[i] = (int32_t)input->shape[i];
  litert_handle needs = NULL;
  TRY_LITERT_CAPTURED(state->api.GetCompiledModelInputBufferRequirements(state->compiled, 0, number, &needs), what);
  TRY_LITERT_CAPTURED(
      state->api.CreateManagedTensorBufferFromRequirements(state->environment, &type, needs, &state->inputs[number]),
      what);
  size_t size = 0;
  TRY_LITERT(state->api.GetTensorBufferPackedSize(state->inputs[number], &size), what);
  if (size != input->size_bytes)
    return error_set(err, STATUS_INPUT, what, input->info->name, NULL, "LiteRT wants %zu bytes, the input has %zu",
                     size, input->size_bytes);
  return fill_input(state, number, input, err);
}

static enum status litert_prepare(struct predictor_model *model, const struct tensor *inputs, struct error *err)
{
  struct litert_state *state = model->state;
  XSP_TRY(litert_flush(model, err));
  XSP_TRY(unlock(state, err));
  release_buffers(state, state->inputs, state->input_count);
  release_buffers(state, state->outputs, state->output_count);
  for (size_t i = 0; i < state->input_count; i++)
    XSP_TRY(resize_input(state, i, &inputs[i], err));
  memset(state->output_layouts, 0, (state->output_count + 1) * sizeof *state->output_layouts);
  TRY_LITERT_CAPTURED(state->api.GetCompiledModelOutputTensorLayouts(state->compiled, 0, state->output_count,
                                                                     state->output_layouts, true),
                      "cannot prepare model");
  for (size_t i = 0; i < state->input_count; i++)
    XSP_TRY(make_input(state, i, &inputs[i], err));
  for (size_t i = 0; i < state->output_count; i++) {
    const char *what = "cannot make an output";
    struct litert_tensor_type type = {state->output_types[i].element, state->output_layouts[i]};
    litert_handle needs = NULL;
    TRY_LITERT_CAPTURED(state->api.GetCompiledModelOutputBufferRequirements(state->compiled, 0, i, &needs), what);
    TRY_LITERT_CAPTURED(
        state->api.CreateManagedTensorBufferFromRequirements(state->environment, &type, needs, &state->outputs[i]),
        what);
  }
  if (state->common.has_layers)
    litert_read_work(state, inputs);
  return STATUS_OK;
}

static enum status litert_refresh(struct predictor_model *model, const struct tensor *inputs, struct error *err)
{
  struct litert_state *state = model->state;
  XSP_TRY(unlock(state, err));
  for (size_t i = 0; i < state->input_count; i++)
    XSP_TRY(fill_input(state, i, &inputs[i], err));
  return STATUS_OK;
}

// ---- predict --------------------------------------------------------------------------------------------------------

static enum status litert_predict(struct predictor_model *model, const struct tensor *inputs, struct error *err)
{
  struct litert_state *state = model->state;
  state->start_ns = clock_now_ns(CLOCK_MONOTONIC);
  int code = state->api.RunCompiledModel(state->compiled, 0, state->input_count, state->inputs, state->output_count,
                                         state->outputs);
  if (code != 0) { // once more, to capture the reason
    TRY_LITERT_CAPTURED(state->api.RunCompiledModel(state->compiled, 0, state->input_count, state->inputs,
                                                    state->output_count, state->outputs),
                        "cannot run model");
    return litert_failed(state, code, "cannot run model", err);
  }
  state->model_span = model->model_span;
  state->is_waiting = state->profiler != NULL;
  return STATUS_OK;
}

// Its memory is the buffer's, which stays locked until the next one is read.
static enum status litert_read_output(struct predictor_model *model, size_t number, struct tensor *ret_output,
                                      struct error *err)
{
  const char *what = "cannot read an output";
  struct litert_state *state = model->state;
  const struct litert_layout *layout = &state->output_layouts[number];
  XSP_TRY(unlock(state, err));
  model->outputs[number].rank = layout->rank;
  *ret_output = (struct tensor){.info = &model->outputs[number]};
  for (unsigned i = 0; i < layout->rank; i++)
    ret_output->shape[i] = layout->dimensions[i];
  TRY_LITERT(state->api.GetTensorBufferPackedSize(state->outputs[number], &ret_output->size_bytes), what);
  TRY_LITERT(state->api.LockTensorBuffer(state->outputs[number], &ret_output->data, LITERT_READ), what);
  state->locked = state->outputs[number];
  return STATUS_OK;
}

static void litert_close(struct predictor_model *model)
{
  struct litert_state *state = model->state;
  (void)!litert_flush(model, NULL);
  (void)!unlock(state, NULL);
  release_buffers(state, state->inputs, state->input_count);
  release_buffers(state, state->outputs, state->output_count);
  if (state->compiled != NULL)
    state->api.DestroyCompiledModel(state->compiled);
  if (state->compile_options != NULL)
    state->api.DestroyOptions(state->compile_options);
  if (state->model != NULL)
    state->api.DestroyModel(state->model);
  if (state->environment != NULL)
    state->api.DestroyEnvironment(state->environment);
  framework_layer_publisher_free(state->publisher);
  arena_done(&state->work_arena);
}

const struct predictor predictor_litert = {
    .name = "litert",
    .summary = "TFLite models in LiteRT (ai-edge-litert 2.3)",
    .extensions = ".tflite",
    .untold = "start,thread,name",
    .tells_outputs = true,
    .has_devices = true,
    .has_unfused = true,
    .state_bytes = sizeof(struct litert_state),
    .library = &library,
    .check = litert_check,
    .open = litert_open,
    .prepare = litert_prepare,
    .refresh = litert_refresh,
    .predict = litert_predict,
    .read_output = litert_read_output,
    .flush = litert_flush,
    .resume = litert_resume,
    .close = litert_close,
};
