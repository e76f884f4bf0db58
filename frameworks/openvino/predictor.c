// SPDX-License-Identifier: Apache-2.0
// OpenVINO through its C API, opened at run time, on its CPU device. Called by the runner (open, prepare, predict, flush,
// resume, close) and by `xsp check` (probe). A model with free dimensions is reshaped and compiled for each shape, as its
// users do. Its inputs: openvino_inputs.c; its layers: openvino_layers.c. One thread, one model.
#include "frameworks/openvino/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OLDEST_MAJOR 2024 // whose numbers of element types are known
#define ADVICE_FILE "give the path of an IR (.xml), .onnx, .pb or .tflite file"

static const struct library_names library_names = {
    .name = "openvino",
    .sonames = (const char *const[]){"libopenvino_c.so", NULL},
    .package_glob = "openvino/libs/libopenvino_c.so*",
    .advice = "pip install openvino, or --library openvino=PATH",
};

// ---- the library ----------------------------------------------------------------------------------------------------

static enum status load_functions(struct openvino_state *state, struct error *err)
{
  struct openvino_api *api = &state->api;
  const struct library_function functions[] = {
#define X(type, name, arguments) {"ov_" #name, &api->name, false},
      OPENVINO_FUNCTIONS(X)
#undef X
#define X(type, name, arguments) {"ov_" #name, &api->name, true},
          OPENVINO_NEWER_FUNCTIONS(X)
#undef X
  };
  return library_functions(&state->library, &library_names, functions, sizeof functions / sizeof functions[0],
                           "OpenVINO of 2024 or later", err);
}

static enum status open_library(const char *given, struct openvino_state *state, struct error *err)
{
  XSP_TRY(library_open(&library_names, given, &state->library, err));
  XSP_TRY(load_functions(state, err));
  struct ov_version version = {0};
  if (state->api.get_openvino_version(&version) != 0 || version.build == NULL)
    return error_set(err, STATUS_SYSTEM, "cannot use library", state->library.path, library_names.advice,
                     "OpenVINO does not tell its version");
  // "2026.4.1-22004-a1b2c3d-releases/2026/4": what follows the number is of the build.
  snprintf(state->version, sizeof state->version, "%.*s", (int)strcspn(version.build, "-"), version.build);
  state->api.version_free(&version);
  state->major = atoi(state->version);
  if (state->major < OLDEST_MAJOR)
    return error_set(err, STATUS_SYSTEM, "cannot use library", state->library.path, library_names.advice,
                     "OpenVINO %s is too old, %d or later is needed", state->version, OLDEST_MAJOR);
  return STATUS_OK;
}

static enum status openvino_probe(const char *library_path, char *library, size_t library_size, char *version,
                                  size_t version_size, struct error *err)
{
  struct openvino_state state = {0};
  XSP_TRY(open_library(library_path, &state, err));
  snprintf(library, library_size, "%s", state.library.path);
  snprintf(version, version_size, "%s", state.version);
  return STATUS_OK;
}

// ---- errors ---------------------------------------------------------------------------------------------------------

// OpenVINO's messages have lines; the first ones name its own source files, the last ones what is wrong.
static void one_line(const char *message, char *text, size_t size)
{
  size_t used = 0;
  text[0] = 0;
  for (const char *at = message; *at != 0 && used + 1 < size;) {
    size_t length = strcspn(at, "\n");
    bool is_place = strncmp(at, "Exception from ", 15) == 0 || strncmp(at, "Check '", 7) == 0;
    if (length > 0 && (!is_place || strlen(at) == length)) // the last line stays, whatever it is
      used += (size_t)snprintf(text + used, size - used, "%s%.*s", used > 0 ? " " : "", (int)length, at);
    at += length + (at[length] == '\n');
  }
}

enum status openvino_failed(struct openvino_state *state, const char *what, struct error *err)
{
  const char *message = state->api.get_last_err_msg();
  char why[sizeof err->why];
  one_line(message != NULL && message[0] != 0 ? message : "OpenVINO does not say why", why, sizeof why);
  bool is_memory = strstr(why, "bad_alloc") != NULL || strstr(why, "out of memory") != NULL ||
                   strstr(why, "std::bad") != NULL || strstr(why, "Failed to allocate") != NULL;
  enum status kind = is_memory ? STATUS_MEMORY : STATUS_INPUT;
  const char *advice = is_memory                ? "a smaller batch, or a machine with more memory"
                       : state->request != NULL ? "other --dim or --input values"
                       : state->model != NULL   ? "other --dim values, or export the model again"
                                                : "open the model with openvino's Python package, or export it again";
  return error_set(err, kind, what, state->options.model_path, advice, "%s", why);
}

// ---- open -----------------------------------------------------------------------------------------------------------

static enum status start_core(struct openvino_state *state, struct error *err)
{
  const char *what = "cannot start OpenVINO";
  TRY_OV(state->api.core_create(&state->core), what);
  if (state->options.threads != 0) {
    char number[16];
    snprintf(number, sizeof number, "%u", state->options.threads);
    TRY_OV(state->api.core_set_property(state->core, OPENVINO_DEVICE, "INFERENCE_NUM_THREADS", number), what);
  }
  char *precision = NULL;
  // A CPU that computes in bf16 does so unless it is told otherwise: other figures, and other results, than in float.
  if (state->api.core_get_property(state->core, OPENVINO_DEVICE, "INFERENCE_PRECISION_HINT", &precision) == 0) {
    snprintf(state->note, sizeof state->note, "inference precision %.64s", precision);
    state->api.free(precision);
  }
  return STATUS_OK;
}

static enum status open_state(const struct predictor_options *options, struct arena *arena,
                              struct predictor_model *model, struct error *err)
{
  struct openvino_state *state = model->state;
  state->options = *options;
  // TensorFlow's saved models are folders.
  XSP_TRY(model_check_file(options->model_path, true, ADVICE_FILE, err));
  if (model_has_layers(&state->options) && !state->options.force_profile_file)
    openvino_find_listener(state);
  XSP_TRY(open_library(state->options.library_path, state, err));
  model->framework = "openvino";
  model->framework_version = state->version;
  model->library_path = state->library.path;
  XSP_TRY(openvino_choose_route(state, model, err));
  XSP_TRY(start_core(state, err));
  if (state->note[0] != 0)
    model->note = state->note;
  TRY_OV(state->api.core_read_model(state->core, state->options.model_path, NULL, &state->model), "cannot open model");
  return openvino_read_inputs(state, arena, model, err);
}

static void openvino_close(struct predictor_model *model);

static enum status openvino_open(const struct predictor_options *options, struct arena *arena,
                                 struct predictor_model *ret_model, struct error *err)
{
  return model_open(options, arena, ret_model, sizeof(struct openvino_state), open_state, openvino_close, err);
}

// ---- prepare: for the shapes at hand --------------------------------------------------------------------------------

static void release_compiled(struct openvino_state *state)
{
  for (size_t i = 0; i < state->input_count && state->tensors != NULL; i++) {
    if (state->tensors[i] != NULL)
      state->api.tensor_free(state->tensors[i]);
    state->tensors[i] = NULL;
  }
  if (state->request != NULL)
    state->api.infer_request_free(state->request);
  if (state->compiled != NULL)
    state->api.compiled_model_free(state->compiled);
  state->request = NULL;
  state->compiled = NULL;
}

static enum status compile(struct openvino_state *state, const struct tensor *inputs, struct error *err)
{
  const char *what = "cannot compile model";
  release_compiled(state);
  bool counts = state->route == OPENVINO_COUNTERS;
  TRY_OV(counts ? state->api.core_compile_model(state->core, state->model, OPENVINO_DEVICE, 2, &state->compiled,
                                                "PERF_COUNT", "YES")
                : state->api.core_compile_model(state->core, state->model, OPENVINO_DEVICE, 0, &state->compiled),
         what);
  TRY_OV(state->api.compiled_model_create_infer_request(state->compiled, &state->request), what);
  XSP_TRY(openvino_bind_inputs(state, inputs, err));
  return state->route != OPENVINO_NO_LAYERS ? openvino_read_nodes(state, err) : STATUS_OK;
}

static enum status openvino_prepare(struct predictor_model *model, const struct tensor *inputs, struct error *err)
{
  struct openvino_state *state = model->state;
  XSP_TRY(openvino_flush(model, err));
  release_compiled(state);
  state->inputs = inputs;
  if (state->is_dynamic)
    XSP_TRY(openvino_reshape(state, inputs, err));
  return compile(state, inputs, err);
}

// ---- predict --------------------------------------------------------------------------------------------------------

static enum status openvino_predict(struct predictor_model *model, const struct tensor *inputs, struct error *err)
{
  struct openvino_state *state = model->state;
  if (state->route == OPENVINO_LISTENER)
    state->listener->begin(model->model_span);
  uint64_t start_ns = layer_clock_ns();
  int failed = state->api.infer_request_infer(state->request);
  if (state->route == OPENVINO_LISTENER)
    state->listener->end();
  TRY_OV(failed, "cannot run model");
  state->inferences++;
  if (state->route != OPENVINO_COUNTERS)
    return STATUS_OK;
  uint64_t begin = xsp_clock_ticks();
  enum status status = openvino_note_counters(state, model->model_span, start_ns, err);
  state->own_ticks += xsp_clock_ticks() - begin;
  return status;
}

// A build of OpenVINO that announces no nodes, though its version says so, is found out by its first inference.
static enum status openvino_resume(struct predictor_model *model, struct error *err)
{
  struct openvino_state *state = model->state;
  if (state->route != OPENVINO_LISTENER || state->inferences == 0 || state->listener->node_count() != 0)
    return STATUS_OK;
  state->route = OPENVINO_COUNTERS;
  return compile(state, state->inputs, err);
}

static void openvino_close(struct predictor_model *model)
{
  struct openvino_state *state = model->state;
  if (state == NULL)
    return;
  (void)!openvino_flush(model, NULL);
  release_compiled(state);
  if (state->model != NULL)
    state->api.model_free(state->model);
  if (state->core != NULL)
    state->api.core_free(state->core);
  openvino_release_layers(state);
  free(state);
  model->state = NULL;
  model->own_ticks = NULL;
}

const struct predictor predictor_openvino = {
    .name = "openvino",
    .summary = "IR, ONNX, TensorFlow and TFLite models in OpenVINO 2024 or later",
    .extensions = ".xml",
    .tells_outputs = true,
    .probe = openvino_probe,
    .open = openvino_open,
    .prepare = openvino_prepare,
    .predict = openvino_predict,
    .flush = openvino_flush,
    .resume = openvino_resume,
    .close = openvino_close,
};
