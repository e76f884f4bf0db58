// SPDX-License-Identifier: Apache-2.0
// OpenVINO through its C API, opened at run time. Called by the runner (open, prepare, predict, flush,
// resume, close) and by `xsp check` (probe). A model with free dimensions is reshaped and compiled for each shape, as its
// users do. Its inputs: inputs.c; its layers: layers.c. One thread, one model.
#include "frameworks/openvino/state.h"

#include "base/clock.h"
#include "base/slice.h"
#include "frameworks/onnxruntime/onnx.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OLDEST_MAJOR 2024 // whose numbers of element types are known
#define ADVICE_FILE "give the path of an IR (.xml), .onnx, .pb or .tflite file"

#define LIBRARY_ADVICE "pip install openvino, or --library openvino=PATH"

// ---- the library ----------------------------------------------------------------------------------------------------

static const struct library_function functions[] = {
#define X(type, name, arguments) {"ov_" #name, offsetof(struct openvino_state, api.name), false},
    OPENVINO_FUNCTIONS(X)
#undef X
#define X(type, name, arguments) {"ov_" #name, offsetof(struct openvino_state, api.name), true},
        OPENVINO_NEWER_FUNCTIONS(X)
#undef X
};

static enum status load(struct predictor_state *common, struct error *err)
{
  struct openvino_state *state = (struct openvino_state *)common;
  struct ov_version version = {0};
  if (state->api.get_openvino_version(&version) != 0 || version.build == NULL)
    return error_set(err, STATUS_SYSTEM, "cannot use library", common->library.path, LIBRARY_ADVICE,
                     "OpenVINO did not report its version");
  // "2026.4.1-22004-a1b2c3d-releases/2026/4": after the number comes the build.
  snprintf(common->version, sizeof common->version, "%.*s", (int)strcspn(version.build, "-"), version.build);
  state->api.version_free(&version);
  state->major = atoi(common->version);
  if (state->major < OLDEST_MAJOR)
    return error_set(err, STATUS_SYSTEM, "cannot use library", common->library.path, LIBRARY_ADVICE,
                     "OpenVINO %s is too old, %d or later is needed", common->version, OLDEST_MAJOR);
  return STATUS_OK;
}

static const struct predictor_library library = {
    .names = {.name = "openvino",
              .sonames = (const char *const[]){"libopenvino_c.so", NULL},
              .package_glob = "openvino/libs/libopenvino_c.so*",
              .advice = LIBRARY_ADVICE},
    .expected = "OpenVINO of 2024 or later",
    .functions = functions,
    .function_count = sizeof functions / sizeof functions[0],
    .load = load,
};

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
  one_line(message != NULL && message[0] != 0 ? message : "OpenVINO gave no reason", why, sizeof why);
  const char *advice = state->request != NULL ? "other --dim or --input values"
                       : state->model != NULL ? "other --dim values, or export the model again"
                                              : "open the model with openvino's Python package, or export it again";
  return predictor_failed(&state->common, what, why, advice, err);
}

// ---- open -----------------------------------------------------------------------------------------------------------

// GPU.0 is GPU where there is one only. AUTO, HETERO, MULTI and BATCH are devices made of those listed.
static bool is_present(const struct ov_devices *devices, const char *device)
{
  size_t length = strcspn(device, ":");
  const char *kind = device;
  for (const char *const *made = (const char *const[]){"AUTO", "HETERO", "MULTI", "BATCH", NULL}; *made != NULL; made++)
    if (strlen(*made) == length && memcmp(kind, *made, length) == 0)
      return true;
  for (size_t i = 0; i < devices->count; i++) {
    const char *name = devices->names[i];
    size_t name_length = strlen(name);
    if (strcmp(name, device) == 0 || (strncmp(name, device, length) == 0 && name[length] == '.') ||
        (strncmp(name, device, name_length) == 0 && strcmp(device + name_length, ".0") == 0))
      return true;
  }
  return false;
}

static enum status choose_device(struct openvino_state *state, struct arena *arena, struct predictor_model *model,
                                 struct error *err)
{
  const struct framework_device *device = &state->common.device;
  struct ov_devices devices = {0};
  char *name = arena_copy(arena, "CPU", 3);
  if (device->kind == DEVICE_GPU)
    name = device->index < 0 ? arena_copy(arena, "GPU", 3) : arena_format(arena, "GPU.%d", device->index);
  else if (device->kind == DEVICE_NAMED)
    name = arena_copy(arena, device->text, strlen(device->text));
  for (char *at = name; *at != 0; at++)
    *at = (char)toupper((unsigned char)*at);
  state->device = model->device = name;
  model->device_class = strcmp(name, "CPU") == 0 ? PREDICTOR_ON_CPU : PREDICTOR_ON_OTHER;
  if (model->device_class == PREDICTOR_ON_CPU)
    return STATUS_OK;
  TRY_OV(state->api.core_get_available_devices(state->core, &devices), "cannot list OpenVINO's devices");
  const char *present = "";
  for (size_t i = 0; i < devices.count; i++)
    present = framework_device_list(arena, present, devices.names[i]);
  bool is_there = is_present(&devices, name);
  state->api.available_devices_free(&devices);
  return is_there ? STATUS_OK : framework_device_missing(device, "openvino", present, err);
}

static enum status start_core(struct openvino_state *state, struct arena *arena, struct predictor_model *model,
                              struct error *err)
{
  const char *what = "cannot start OpenVINO";
  TRY_OV(state->api.core_create(&state->core), what);
  XSP_TRY(choose_device(state, arena, model, err));
  if (state->common.options.threads != 0) {
    char number[16];
    snprintf(number, sizeof number, "%u", state->common.options.threads);
    // Other devices do not know the property; some of them (AUTO, HETERO) use the CPU's.
    TRY_OV(state->api.core_set_property(state->core, "CPU", "INFERENCE_NUM_THREADS", number), what);
  }
  char *precision = NULL;
  // A CPU that computes in bf16 does so unless it is told otherwise: other figures, and other results, than in float.
  if (state->api.core_get_property(state->core, state->device, "INFERENCE_PRECISION_HINT", &precision) == 0) {
    snprintf(state->note, sizeof state->note, "inference precision %.64s", precision);
    state->api.free(precision);
  }
  return STATUS_OK;
}

static enum status openvino_check(struct predictor_state *state, struct arena *arena, struct error *err)
{
  // TensorFlow's saved models are folders.
  XSP_TRY(predictor_check_file(state->options.model_path, true, ADVICE_FILE, err));
  bool is_on_cpu = state->device.kind == DEVICE_DEFAULT || state->device.kind == DEVICE_CPU;
  if (state->has_layers && is_on_cpu)
    openvino_find_listener((struct openvino_state *)state); // before OpenVINO is loaded
  return STATUS_OK;
}

static enum status openvino_open(struct predictor_model *model, struct arena *arena, struct error *err)
{
  struct openvino_state *state = model->state;
  XSP_TRY(start_core(state, arena, model, err));
  openvino_choose_route(state, model);
  if (state->note[0] != 0)
    model->note = state->note;
  struct onnx_layers layers = {0};
  const char *path = state->common.options.model_path;
  bool has_layers = state->common.options.layer_outputs && text_ends_with(path, ".onnx");
  if (has_layers)
    XSP_TRY(onnx_file_layers(path, state->common.options.work_directory, arena, &path, &layers, err));
  TRY_OV(state->api.core_read_model(state->core, path, state->common.options.weights_path, &state->model),
         "cannot open model");
  XSP_TRY(openvino_read_inputs(state, arena, model, err));
  if (has_layers)
    onnx_layers_announce(model, &layers, arena);
  return STATUS_OK;
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
  TRY_OV(counts ? state->api.core_compile_model(state->core, state->model, state->device, 2, &state->compiled,
                                                "PERF_COUNT", "YES")
                : state->api.core_compile_model(state->core, state->model, state->device, 0, &state->compiled),
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
  uint64_t start_ns = clock_now_ns(CLOCK_MONOTONIC);
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

static enum status read_kind(struct openvino_state *state, const struct ov_tensor *tensor, struct tensor *output,
                             struct error *err)
{
  static const char what[] = "cannot read an output";
  struct ov_shape shape = {0};
  int type = 0;
  TRY_OV(state->api.tensor_get_element_type(tensor, &type), what);
  TRY_OV(state->api.tensor_get_shape(tensor, &shape), what);
  state->read_output.type = openvino_tensor_type(state, type);
  state->read_output.rank = shape.rank >= 0 && shape.rank <= TENSOR_MAXIMUM_RANK ? (unsigned)shape.rank : 0;
  bool is_known = shape.rank == state->read_output.rank && state->read_output.type != 0;
  for (unsigned i = 0; i < state->read_output.rank; i++)
    output->shape[i] = shape.dimensions[i];
  state->api.shape_free(&shape);
  return is_known ? STATUS_OK
                  : error_set(err, STATUS_INPUT, what, output->info->name, NULL,
                              "its elements are of a type that is not handled, or it has too many dimensions");
}

// The request owns the memory until its next inference.
static enum status openvino_read_output(struct predictor_model *model, size_t number, struct tensor *ret_output,
                                        struct error *err)
{
  static const char what[] = "cannot read an output";
  struct openvino_state *state = model->state;
  struct ov_tensor *tensor = NULL;
  state->read_output = model->outputs[number]; // the tensor has its type and shape
  *ret_output = (struct tensor){.info = &state->read_output};
  TRY_OV(state->api.infer_request_get_output_tensor_by_index(state->request, number, &tensor), what);
  enum status status = read_kind(state, tensor, ret_output, err);
  if (status == STATUS_OK && (state->api.tensor_data(tensor, &ret_output->data) != 0 ||
                              state->api.tensor_get_byte_size(tensor, &ret_output->size_bytes) != 0))
    status = openvino_failed(state, what, err);
  state->api.tensor_free(tensor);
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
  (void)!openvino_flush(model, NULL);
  release_compiled(state);
  if (state->model != NULL)
    state->api.model_free(state->model);
  if (state->core != NULL)
    state->api.core_free(state->core);
  openvino_release_layers(state);
}

// An IR's weights are next to it.
static void openvino_visit_files(const char *path, model_file_fn visit, void *context)
{
  char name[NAME_MAX + sizeof ".bin"];
  const char *base = basename(path);
  visit(context, name, (size_t)snprintf(name, sizeof name, "%.*s.bin", (int)(strlen(base) - strlen(".xml")), base));
}

const struct predictor predictor_openvino = {
    .name = "openvino",
    .summary = "IR, ONNX, TensorFlow and TFLite models in OpenVINO 2024 or later",
    .takes_weights = true,
    .extensions = ".xml",
    .visit_files = openvino_visit_files,
    .tells_outputs = true,
    .has_devices = true,
    .state_bytes = sizeof(struct openvino_state),
    .library = &library,
    .check = openvino_check,
    .open = openvino_open,
    .prepare = openvino_prepare,
    .predict = openvino_predict,
    .read_output = openvino_read_output,
    .flush = openvino_flush,
    .resume = openvino_resume,
    .close = openvino_close,
};
