// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime through its C API, opened at run time. Called by the runner (open, predict, flush, resume, close) and by
// `xsp check` (probe). Layers come from xsp's listener where the library is 1.25 or later, else from the profile file.
// One thread, one model.
#include "base/slice.h"
#include "frameworks/onnxruntime/onnx.h"
#include "frameworks/onnxruntime/profile.h"
#include "frameworks/onnxruntime/state.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ERROR_ADVICE_MODEL "check the model with onnx.checker, or export it again"

#define LIBRARY_ADVICE "pip install onnxruntime, or --library onnxruntime=PATH"

// ---- the library ----------------------------------------------------------------------------------------------------

// Its wheels report use over the network and leave files in the home directory, from threads of their own, which would
// disturb the measurement. A user's own value of the variable stays.
static void set_environment(const struct predictor_state *state)
{
  setenv("ORT_DISABLE_TELEMETRY", "1", 0);
}

static enum status load(struct predictor_state *common, struct error *err)
{
  struct onnxruntime_state *state = (struct onnxruntime_state *)common;
  const char *path = state->common.library.path;
  const struct ort_api_base *base = state->get_base();
  snprintf(common->version, sizeof common->version, "%s", base->version_string());
  state->api_version = ort_api_version(state->common.version);
  if (state->api_version < ORT_API_LEAST)
    return error_set(err, STATUS_SYSTEM, "cannot use library", path, LIBRARY_ADVICE,
                     "ONNX Runtime %s is too old, 1.%u or later is needed", state->common.version, ORT_API_LEAST);
  // Asked for a version above its own the library prints to stderr, so go down from what its name says.
  const void *table = NULL;
  while (table == NULL && state->api_version >= ORT_API_LEAST)
    if ((table = base->get_api(state->api_version)) == NULL)
      state->api_version--;
  if (table == NULL)
    return error_set(err, STATUS_SYSTEM, "cannot use library", path, LIBRARY_ADVICE,
                     "ONNX Runtime %s offers no API version from 1.%u on", state->common.version, ORT_API_LEAST);
  ort_api_load(table, state->api_version, &state->api);
  return STATUS_OK;
}

static const struct library_function functions[] = {
    {ORT_GET_API_BASE, offsetof(struct onnxruntime_state, get_base), false}};
static const struct predictor_library library = {
    .names = {.name = "onnxruntime",
              .sonames = (const char *const[]){"libonnxruntime.so.1", "libonnxruntime.so", NULL},
              .package_glob = "onnxruntime/capi/libonnxruntime.so*",
              .advice = LIBRARY_ADVICE},
    .expected = "an ONNX Runtime library",
    .functions = functions,
    .function_count = sizeof functions / sizeof functions[0],
    .set_environment = set_environment,
    .load = load,
};

// ---- errors ---------------------------------------------------------------------------------------------------------

static bool is_memory(const char *message)
{
  return strstr(message, "Failed to allocate memory") != NULL || strstr(message, "bad_alloc") != NULL;
}

static bool is_environment(int code)
{
  return code == ORT_ERROR_ENGINE;
}

// Turns the runtime's status into ours and releases it. The message names the node; `what` and the model's path are
// ours, and where the file itself is cut, so is the byte.
enum status onnxruntime_status(struct onnxruntime_state *state, struct ort_status *status, const char *what,
                               struct error *err)
{
  if (status == NULL)
    return STATUS_OK;
  int code = state->api.error_code(status);
  char message[sizeof err->why];
  snprintf(message, sizeof message, "%s", state->api.error_message(status));
  state->api.release_status(status);
  enum status kind = is_memory(message) ? STATUS_MEMORY : is_environment(code) ? STATUS_SYSTEM : STATUS_INPUT;
  char where[sizeof err->where];
  char place[256];
  const char *path = state->common.options.model_path;
  if (kind == STATUS_INPUT && state->session == NULL && onnx_file_damage(path, place, sizeof place))
    snprintf(where, sizeof where, "%s: %s", path, place);
  else
    snprintf(where, sizeof where, "%s", path);
  const char *advice = kind == STATUS_MEMORY    ? "a smaller batch, or a machine with more memory"
                       : state->session == NULL ? ERROR_ADVICE_MODEL
                                                : "other --dim or --input values";
  return error_set(err, kind, what, where, advice, "%s", message);
}

// ---- session --------------------------------------------------------------------------------------------------------

static enum status add_listener(struct onnxruntime_state *state, struct error *err)
{
  char path[4096];
  snprintf(path, sizeof path, "%s/onnxruntime.so", state->common.options.tracer_directory);
  const char *what = "cannot load xsp's listener into ONNX Runtime";
  if (access(path, R_OK) != 0)
    return error_set_errno(err, STATUS_SYSTEM, what, path, "--profile-file, which needs no listener");
  TRY_ORT(state->api.register_ep_library(state->env, ORT_REGISTRATION_NAME, path), what);
  const struct ort_ep_device *const *devices = NULL;
  size_t count = 0;
  TRY_ORT(state->api.ep_devices(state->env, &devices, &count), what);
  for (size_t i = 0; i < count; i++) {
    if (strcmp(state->api.ep_device_name(devices[i]), ORT_LISTENER_NAME) != 0)
      continue;
    TRY_ORT(state->api.append_ep(state->session_options, state->env, &devices[i], 1, NULL, NULL, 0), what);
    return STATUS_OK;
  }
  return error_set(err, STATUS_SYSTEM, what, path, "--profile-file, which needs no listener",
                   "ONNX Runtime %s does not show it among its devices", state->common.version);
}

static enum status make_options(struct onnxruntime_state *state, struct arena *arena, struct predictor_model *model,
                                struct error *err)
{
  const char *what = "cannot set up an ONNX Runtime session";
  TRY_ORT(state->api.create_session_options(&state->session_options), what);
  if (state->common.options.threads != 0)
    TRY_ORT(state->api.set_intra_op_threads(state->session_options, (int)state->common.options.threads), what);
  // An idle session of another level set must not spin on the cores of the one that is being measured.
  TRY_ORT(state->api.add_session_config(state->session_options, "session.force_spinning_stop", "1"), what);
  if (state->common.options.pin_algorithms && state->api.set_deterministic_compute != NULL)
    TRY_ORT(state->api.set_deterministic_compute(state->session_options, true), what);
  XSP_TRY(onnxruntime_add_device(state, arena, model, err));
  if (state->route == ONNXRUNTIME_NO_LAYERS)
    return STATUS_OK;
  char prefix[4096];
  snprintf(prefix, sizeof prefix, "%s/onnxruntime", state->common.options.work_directory);
  TRY_ORT(state->api.enable_profiling(state->session_options, prefix), what);
  return state->route == ONNXRUNTIME_LISTENER ? add_listener(state, err) : STATUS_OK;
}

static enum status make_session(struct onnxruntime_state *state, struct error *err)
{
  TRY_ORT(state->api.create_session(state->env, state->path, state->session_options, &state->session),
          "cannot open model");
  return STATUS_OK;
}

// ---- the predictor's functions --------------------------------------------------------------------------------------

static enum onnxruntime_route choose_route(const struct onnxruntime_state *state)
{
  if (!state->common.has_layers)
    return ONNXRUNTIME_NO_LAYERS;
  bool listens = state->api_version >= ORT_API_LISTENER && !state->common.options.force_profile_file;
  return listens ? ONNXRUNTIME_LISTENER : ONNXRUNTIME_PROFILE_FILE;
}

// Where the listener is in this process, what it says of its own cost.
static uint64_t (*find_own_ticks(const struct onnxruntime_state *state))(void)
{
  char path[4096];
  snprintf(path, sizeof path, "%s/onnxruntime.so", state->common.options.tracer_directory);
  void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (handle == NULL)
    return NULL;
  void *symbol = dlsym(handle, "xsp_listener_own_ticks");
  uint64_t (*own_ticks)(void) = NULL;
  memcpy(&own_ticks, &symbol, sizeof symbol);
  dlclose(handle); // ONNX Runtime keeps it open
  return own_ticks;
}

static enum status onnxruntime_check(struct predictor_state *state, struct arena *arena, struct error *err)
{
  return predictor_check_file(state->options.model_path, false, "give the path of an .onnx or .ort file", err);
}

static enum status onnxruntime_open(struct predictor_model *model, struct arena *arena, struct error *err)
{
  struct onnxruntime_state *state = model->state;
  state->route = choose_route(state);
  static const char *const sources[] = {"none", "listener", "profile file"};
  model->layer_source = sources[state->route];
  // Whatever it would log as an error comes back as a status too.
  TRY_ORT(state->api.create_env(ORT_LOG_FATAL, "xsp", &state->env), "cannot start ONNX Runtime");
  TRY_ORT(state->api.create_cpu_memory_info(ORT_ALLOCATOR_ARENA, ORT_MEMORY_DEFAULT, &state->memory),
          "cannot start ONNX Runtime");
  XSP_TRY(make_options(state, arena, model, err));
  struct onnx_layers layers = {0};
  state->path = state->common.options.model_path;
  bool has_layers = state->common.options.layer_outputs && text_ends_with(state->path, ".onnx");
  if (has_layers)
    XSP_TRY(onnx_file_layers(state->path, state->common.options.work_directory, arena, &state->path, &layers, err));
  XSP_TRY(make_session(state, err));
  if (state->route == ONNXRUNTIME_LISTENER)
    model->own_ticks = find_own_ticks(state);
  XSP_TRY(onnxruntime_read_interface(state, arena, model, err));
  if (has_layers)
    onnx_layers_announce(model, &layers, arena);
  return STATUS_OK;
}

static enum status make_value(struct onnxruntime_state *state, const struct tensor *tensor,
                              struct ort_value **ret_value, struct error *err)
{
  const char *what = "cannot make an input";
  unsigned rank = tensor->info->rank;
  int type = (int)tensor->info->type;
  if (tensor->info->type != TENSOR_STRING) {
    TRY_ORT(state->api.create_tensor_over(state->memory, tensor->data, tensor->size_bytes, tensor->shape, rank, type,
                                          ret_value),
            what);
    return STATUS_OK;
  }
  TRY_ORT(state->api.create_tensor(state->allocator, tensor->shape, rank, type, ret_value), what);
  TRY_ORT(state->api.fill_strings(*ret_value, tensor->data, tensor->size_bytes / sizeof(const char *)), what);
  return STATUS_OK;
}

static void release_values(struct onnxruntime_state *state, struct ort_value **values, size_t count)
{
  for (size_t i = 0; i < count; i++) {
    if (values[i] != NULL)
      state->api.release_value(values[i]);
    values[i] = NULL;
  }
}

static enum status onnxruntime_predict(struct predictor_model *model, const struct tensor *inputs, struct error *err)
{
  struct onnxruntime_state *state = model->state;
  enum status status = STATUS_OK;
  release_values(state, state->outputs, state->output_count); // of the one before
  for (size_t i = 0; i < state->input_count && status == STATUS_OK; i++)
    status = make_value(state, &inputs[i], &state->inputs[i], err);
  if (status == STATUS_OK) {
    struct ort_status *failed =
        state->api.run(state->session, NULL, state->input_names, (const struct ort_value *const *)state->inputs,
                       state->input_count, state->output_names, state->output_count, state->outputs);
    status = onnxruntime_status(state, failed, "cannot run model", err);
  }
  if (!model->keep_outputs)
    release_values(state, state->outputs, state->output_count);
  release_values(state, state->inputs, state->input_count);
  if (status == STATUS_OK && state->route == ONNXRUNTIME_PROFILE_FILE)
    vector_add(&state->waiting)->model = model->model_span;
  return status;
}

static enum status read_shape(struct onnxruntime_state *state, const struct ort_tensor_info *info,
                              struct tensor *tensor, struct error *err)
{
  size_t rank = 0;
  int type = 0;
  TRY_ORT(state->api.element_type(info, &type), "cannot read an output");
  TRY_ORT(state->api.dimension_count(info, &rank), "cannot read an output");
  if (rank > TENSOR_MAXIMUM_RANK)
    return error_set(err, STATUS_INPUT, "cannot read an output", tensor->info->name, NULL,
                     "it has %zu dimensions, at most %d are handled", rank, TENSOR_MAXIMUM_RANK);
  TRY_ORT(state->api.dimensions(info, tensor->shape, rank), "cannot read an output");
  state->read_output.type = (enum tensor_type)type;
  state->read_output.rank = (unsigned)rank;
  size_t bytes = tensor_type_facts(state->read_output.type)->bytes;
  if (bytes == 0 || type == TENSOR_STRING)
    return error_set(err, STATUS_INPUT, "cannot read an output", tensor->info->name, "another output",
                     "it is not a tensor of numbers");
  for (size_t i = 0; i < rank; i++)
    bytes *= (size_t)tensor->shape[i];
  tensor->size_bytes = bytes;
  return STATUS_OK;
}

static enum status onnxruntime_read_output(struct predictor_model *model, size_t number, struct tensor *ret_output,
                                           struct error *err)
{
  struct onnxruntime_state *state = model->state;
  struct ort_tensor_info *info = NULL;
  state->read_output = model->outputs[number]; // the value has its type and shape
  *ret_output = (struct tensor){.info = &state->read_output};
  int is_tensor = 0;
  TRY_ORT(state->api.is_tensor(state->outputs[number], &is_tensor), "cannot read an output");
  if (!is_tensor)
    return error_set(err, STATUS_INPUT, "cannot read an output", ret_output->info->name, "another output",
                     "it is not a tensor");
  TRY_ORT(state->api.tensor_info_of_value(state->outputs[number], &info), "cannot read an output");
  enum status status = read_shape(state, info, ret_output, err);
  state->api.release_tensor_info(info);
  XSP_TRY(status);
  TRY_ORT(state->api.tensor_data(state->outputs[number], &ret_output->data), "cannot read an output");
  return STATUS_OK;
}

// Ends the session's profile and publishes it. A profile cannot be resumed, so the session goes with it.
static enum status onnxruntime_flush(struct predictor_model *model, struct error *err)
{
  struct onnxruntime_state *state = model->state;
  if (state->route != ONNXRUNTIME_PROFILE_FILE || state->session == NULL || state->waiting.count == 0)
    return STATUS_OK;
  const char *what = "cannot end ONNX Runtime's profile";
  uint64_t start_ns = 0;
  char *written = NULL;
  TRY_ORT(state->api.profiling_start_ns(state->session, &start_ns), what);
  TRY_ORT(state->api.end_profiling(state->session, state->allocator, &written), what);
  char path[4096];
  snprintf(path, sizeof path, "%s", written);
  struct ort_status *failed = state->api.allocator_free(state->allocator, written);
  if (failed != NULL)
    state->api.release_status(failed);
  state->api.release_session(state->session);
  state->session = NULL;
  enum status status = onnxruntime_profile_publish_file(path, start_ns, &state->waiting, err);
  inferences_clear(&state->waiting);
  unlink(path);
  return status;
}

static enum status onnxruntime_resume(struct predictor_model *model, struct error *err)
{
  struct onnxruntime_state *state = model->state;
  return state->session != NULL ? STATUS_OK : make_session(state, err);
}

static void onnxruntime_close(struct predictor_model *model)
{
  struct onnxruntime_state *state = model->state;
  release_values(state, state->outputs, state->outputs != NULL ? state->output_count : 0);
  if (state->session != NULL)
    onnxruntime_flush(model, NULL);
  if (state->session != NULL)
    state->api.release_session(state->session);
  if (state->session_options != NULL)
    state->api.release_session_options(state->session_options);
  if (state->memory != NULL)
    state->api.release_memory_info(state->memory);
  if (state->env != NULL)
    state->api.release_env(state->env);
  inferences_free(&state->waiting);
}

const struct predictor predictor_onnxruntime = {
    .name = "onnxruntime",
    .summary = "ONNX and ORT models in ONNX Runtime 1.12 or later",
    .extensions = ".onnx .ort",
    .visit_files = onnx_file_external,
    .windows = onnx_file_windows,
    .tells_outputs = true,
    .pinned_by = "use_deterministic_compute (1.18 and later); with CUDA cudnn_conv_algo_search=HEURISTIC",
    .has_devices = true,
    .state_bytes = sizeof(struct onnxruntime_state),
    .library = &library,
    .check = onnxruntime_check,
    .open = onnxruntime_open,
    .predict = onnxruntime_predict,
    .read_output = onnxruntime_read_output,
    .flush = onnxruntime_flush,
    .resume = onnxruntime_resume,
    .close = onnxruntime_close,
};
