// SPDX-License-Identifier: Apache-2.0
// OpenVINO through its C API, opened at run time, on its CPU device. Called by the runner (open, prepare, predict, flush,
// resume, close) and by `xsp check` (probe). A model with free dimensions is reshaped and compiled for each shape, as its
// users do. Layers come from xsp's listener where OpenVINO announces its nodes (2026 and later), else from its performance
// counters. One thread, one model.
#include "base/library.h"
#include "predictors/inferences.h"
#include "predictors/model_open.h"
#include "predictors/openvino_abi.h"
#include "predictors/openvino_nodes.h"
#include "profiles/layer_publish.h"
#include "tracers/openvino/listener.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEVICE "CPU"
#define OLDEST_MAJOR 2024  // whose numbers of element types are known
#define SHIFTED_MAJOR 2024 // up to this one they are one more
#define LISTENER_MAJOR 2026
#define ADVICE_FILE "give the path of an IR (.xml), .onnx, .pb or .tflite file"

enum route { ROUTE_NONE, ROUTE_LISTENER, ROUTE_COUNTERS };

struct state {
  struct openvino_api api;
  struct library library;
  char version[64];
  int major;
  struct predictor_options options; // strings borrowed from the caller, who keeps them while the model is open
  enum route route;
  char note[128];
  struct ov_core *core;
  struct ov_model *model;
  struct ov_compiled_model *compiled;
  struct ov_infer_request *request;
  size_t input_count;
  struct ov_tensor **tensors; // the request's inputs, over the runner's memory; in the caller's arena
  const struct tensor *inputs;
  bool is_dynamic;
  // Of the compiled model
  struct arena node_arena;
  struct openvino_nodes nodes;
  uint64_t inferences;
  const struct openvino_listener *listener;
  uint64_t own_ticks; // reading counters inside of inferences
  uint64_t *told_us;  // by node, in node_arena
  struct layer_publisher *publisher;
  struct inferences waiting; // counters' route: those that are not published yet
};
static struct state *the_state; // for own_ticks, which is given none

static const struct library_names library_names = {
    .name = "openvino",
    .sonames = (const char *const[]){"libopenvino_c.so", NULL},
    .package_glob = "openvino/libs/libopenvino_c.so*",
    .advice = "pip install openvino, or --library openvino=PATH",
};

// ---- the library -----------------------------------------------------------------------------------------------------

static enum status load_functions(struct state *state, struct error *err)
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

static enum status open_library(const char *given, struct state *state, struct error *err)
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
  struct state state = {0};
  XSP_TRY(open_library(library_path, &state, err));
  snprintf(library, library_size, "%s", state.library.path);
  snprintf(version, version_size, "%s", state.version);
  return STATUS_OK;
}

// ---- errors ----------------------------------------------------------------------------------------------------------

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

static enum status take_status(struct state *state, const char *what, struct error *err)
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

#define TRY_OV(call, what)                                                                                             \
  do {                                                                                                                 \
    if ((call) != 0)                                                                                                   \
      return take_status(state, (what), err);                                                                          \
  } while (0)

// ---- open ------------------------------------------------------------------------------------------------------------

// Before the library is opened: each of its modules looks for a collector when it first has something to say.
static void find_listener(struct state *state)
{
  char path[4096];
  snprintf(path, sizeof path, "%s/openvino.so", state->options.tracer_directory);
  void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  void *symbol = handle != NULL ? dlsym(handle, OPENVINO_LISTENER_SYMBOL) : NULL;
  openvino_listener_fn listener = NULL;
  memcpy(&listener, &symbol, sizeof symbol);
  if (listener == NULL)
    return; // it stays NULL: counters
  state->listener = listener();
  setenv("INTEL_LIBITTNOTIFY64", path, 1);
}

static enum status start_core(struct state *state, struct error *err)
{
  const char *what = "cannot start OpenVINO";
  TRY_OV(state->api.core_create(&state->core), what);
  if (state->options.threads != 0) {
    char number[16];
    snprintf(number, sizeof number, "%u", state->options.threads);
    TRY_OV(state->api.core_set_property(state->core, DEVICE, "INFERENCE_NUM_THREADS", number), what);
  }
  char *precision = NULL;
  // A CPU that computes in bf16 does so unless it is told otherwise: other figures, and other results, than in float.
  if (state->api.core_get_property(state->core, DEVICE, "INFERENCE_PRECISION_HINT", &precision) == 0) {
    snprintf(state->note, sizeof state->note, "inference precision %.64s", precision);
    state->api.free(precision);
  }
  return STATUS_OK;
}

static enum tensor_type tensor_type_of(const struct state *state, int type)
{
  static const enum tensor_type types[] = {
      [1] = TENSOR_BOOL,    [2] = TENSOR_BFLOAT16, [3] = TENSOR_FLOAT16, [4] = TENSOR_FLOAT,   [5] = TENSOR_DOUBLE,
      [7] = TENSOR_INT8,    [8] = TENSOR_INT16,    [9] = TENSOR_INT32,   [10] = TENSOR_INT64,  [16] = TENSOR_UINT8,
      [17] = TENSOR_UINT16, [18] = TENSOR_UINT32,  [19] = TENSOR_UINT64, [23] = TENSOR_STRING,
  };
  size_t number = (size_t)type - (state->major <= SHIFTED_MAJOR);
  return type >= 0 && number < sizeof types / sizeof types[0] ? types[number] : 0;
}

static int ov_type_of(const struct state *state, enum tensor_type type)
{
  for (int number = 0; number < 64; number++)
    if (tensor_type_of(state, number) == type)
      return number;
  return 0;
}

static enum status read_port(struct state *state, const struct ov_port *port, size_t number, struct arena *arena,
                             struct tensor_info *info, struct error *err)
{
  const char *what = "cannot read the model's inputs";
  char *name = NULL;
  if (state->api.port_get_any_name(port, &name) == 0 && name != NULL) {
    info->name = arena_copy(arena, name, strlen(name));
    state->api.free(name);
  } else {
    info->name = arena_format(arena, "input_%zu", number); // without a name
  }
  if (info->name == NULL)
    return model_no_memory(&state->options, err);
  int type = 0;
  TRY_OV(state->api.port_get_element_type(port, &type), what);
  info->type = tensor_type_of(state, type);
  if (info->type == 0)
    return error_set(err, STATUS_INPUT, what, state->options.model_path, NULL,
                     "input \"%s\" has elements of a type that is not handled (OpenVINO's number %d)", info->name,
                     type);
  struct ov_partial_shape shape = {0};
  TRY_OV(state->api.port_get_partial_shape(port, &shape), what);
  bool is_ranked = shape.rank.min == shape.rank.max && shape.rank.min >= 0;
  if (is_ranked && shape.rank.min <= TENSOR_MAXIMUM_RANK) {
    info->rank = (unsigned)shape.rank.min;
    for (unsigned i = 0; i < info->rank; i++) {
      const struct ov_dimension *dimension = &shape.dimensions[i];
      info->shape[i] = dimension->min == dimension->max && dimension->min >= 0 ? dimension->min : -1;
    }
  }
  int64_t rank = shape.rank.min;
  state->api.partial_shape_free(&shape);
  if (!is_ranked)
    return error_set(err, STATUS_INPUT, what, state->options.model_path, "export the model with shapes",
                     "input \"%s\" does not say how many dimensions it has", info->name);
  if (rank > TENSOR_MAXIMUM_RANK)
    return error_set(err, STATUS_INPUT, what, state->options.model_path, NULL,
                     "input \"%s\" has %lld dimensions, at most %d are handled", info->name, (long long)rank,
                     TENSOR_MAXIMUM_RANK);
  return STATUS_OK;
}

static enum status read_inputs(struct state *state, struct arena *arena, struct predictor_model *model,
                               struct error *err)
{
  const char *what = "cannot read the model's inputs";
  TRY_OV(state->api.model_inputs_size(state->model, &state->input_count), what);
  model->inputs = arena_alloc_array(arena, state->input_count + 1, sizeof *model->inputs);
  state->tensors = arena_alloc_array(arena, state->input_count + 1, sizeof *state->tensors);
  if (model->inputs == NULL || state->tensors == NULL)
    return model_no_memory(&state->options, err);
  memset(model->inputs, 0, (state->input_count + 1) * sizeof *model->inputs);
  memset(state->tensors, 0, (state->input_count + 1) * sizeof *state->tensors);
  model->input_count = state->input_count;
  for (size_t i = 0; i < state->input_count; i++) {
    struct ov_port *port = NULL;
    TRY_OV(state->api.model_const_input_by_index(state->model, i, &port), what);
    enum status status = read_port(state, port, i, arena, &model->inputs[i], err);
    state->api.output_const_port_free(port);
    XSP_TRY(status);
  }
  state->is_dynamic = state->api.model_is_dynamic(state->model);
  return STATUS_OK;
}

static uint64_t listener_ticks(void)
{
  return the_state->own_ticks + (the_state->listener != NULL ? the_state->listener->own_ticks() : 0);
}

static enum status choose_route(struct state *state, struct predictor_model *model, struct error *err)
{
  bool has_layers = model_has_layers(&state->options);
  bool listens = has_layers && state->listener != NULL && state->major >= LISTENER_MAJOR;
  state->route = !has_layers ? ROUTE_NONE : listens ? ROUTE_LISTENER : ROUTE_COUNTERS;
  static const char *const sources[] = {"none", "listener", "performance counters"};
  model->layer_source = sources[state->route];
  if (state->route != ROUTE_NONE)
    model->own_ticks = listener_ticks;
  static const struct layer_publisher_options publishing = {
      .tracer = "openvino", .untold = "start,thread", .times = LAYER_TIMES_LAID_OUT};
  state->publisher = layer_publisher_create(&publishing);
  return state->publisher != NULL ? STATUS_OK : model_no_memory(&state->options, err);
}

static enum status open_state(const struct predictor_options *options, struct arena *arena,
                              struct predictor_model *model, struct error *err)
{
  struct state *state = model->state;
  state->options = *options;
  the_state = state;
  // TensorFlow's saved models are folders.
  XSP_TRY(model_check_file(options->model_path, true, ADVICE_FILE, err));
  if (model_has_layers(&state->options) && !state->options.force_profile_file)
    find_listener(state);
  XSP_TRY(open_library(state->options.library_path, state, err));
  model->framework = "openvino";
  model->framework_version = state->version;
  model->library_path = state->library.path;
  XSP_TRY(choose_route(state, model, err));
  XSP_TRY(start_core(state, err));
  if (state->note[0] != 0)
    model->note = state->note;
  TRY_OV(state->api.core_read_model(state->core, state->options.model_path, NULL, &state->model), "cannot open model");
  return read_inputs(state, arena, model, err);
}

static void openvino_close(struct predictor_model *model);

static enum status openvino_open(const struct predictor_options *options, struct arena *arena,
                                 struct predictor_model *ret_model, struct error *err)
{
  return model_open(options, arena, ret_model, sizeof(struct state), open_state, openvino_close, err);
}

// ---- prepare: for the shapes at hand ---------------------------------------------------------------------------------

static void release_compiled(struct state *state)
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

static enum status reshape(struct state *state, const struct tensor *inputs, struct error *err)
{
  size_t count = state->input_count;
  struct arena arena = {0};
  size_t *ports = arena_alloc_array(&arena, count, sizeof *ports);
  struct ov_partial_shape *shapes = arena_alloc_array(&arena, count, sizeof *shapes);
  struct ov_dimension *dimensions = arena_alloc_array(&arena, count * TENSOR_MAXIMUM_RANK, sizeof *dimensions);
  enum status status = STATUS_OK;
  if (ports == NULL || shapes == NULL || dimensions == NULL) {
    status = model_no_memory(&state->options, err);
  } else {
    for (size_t i = 0; i < count; i++) {
      int64_t rank = inputs[i].info->rank;
      ports[i] = i;
      shapes[i] = (struct ov_partial_shape){{rank, rank}, &dimensions[i * TENSOR_MAXIMUM_RANK]};
      for (int64_t k = 0; k < rank; k++)
        shapes[i].dimensions[k] = (struct ov_dimension){inputs[i].shape[k], inputs[i].shape[k]};
    }
    if (state->api.model_reshape_by_port_indexes(state->model, ports, shapes, count) != 0)
      status = take_status(state, "cannot give the model's inputs these shapes", err);
  }
  arena_done(&arena);
  return status;
}

static enum status bind_inputs(struct state *state, const struct tensor *inputs, struct error *err)
{
  const char *what = "cannot make an input";
  for (size_t i = 0; i < state->input_count; i++) {
    const struct tensor *input = &inputs[i];
    struct ov_shape shape = {input->info->rank, (int64_t *)(uintptr_t)input->shape}; // read only
    if (input->info->type == TENSOR_STRING && state->api.tensor_create_from_string_array == NULL)
      return error_set(err, STATUS_INPUT, what, input->info->name, "OpenVINO 2025 or later",
                       "OpenVINO %s makes no tensors of texts", state->version);
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

// The list is there before the first inference, with all times zero.
static enum status read_nodes(struct state *state, struct error *err)
{
  arena_done(&state->node_arena);
  state->nodes = (struct openvino_nodes){0};
  state->inferences = 0;
  state->told_us = NULL;
  struct ov_profiling_list list = {0};
  TRY_OV(state->api.infer_request_get_profiling_info(state->request, &list), "cannot read OpenVINO's list of layers");
  enum status status = openvino_nodes_read(&list, &state->node_arena, &state->nodes, err);
  state->api.profiling_info_list_free(&list);
  XSP_TRY(status);
  state->told_us = arena_alloc_array(&state->node_arena, state->nodes.count + 1, sizeof *state->told_us);
  struct openvino_layer *layers = arena_alloc_array(&state->node_arena, state->nodes.count + 1, sizeof *layers);
  if (state->told_us == NULL || layers == NULL)
    return model_no_memory(&state->options, err);
  memset(state->told_us, 0, (state->nodes.count + 1) * sizeof *state->told_us);
  for (size_t i = 0; i < state->nodes.count; i++) {
    const struct openvino_node *node = &state->nodes.nodes[i];
    layers[i] = (struct openvino_layer){node->name, node->type, node->primitive, node->fused, node->index};
  }
  if (state->route == ROUTE_LISTENER)
    state->listener->describe(layers, state->nodes.count);
  return STATUS_OK;
}

static enum status compile(struct state *state, const struct tensor *inputs, struct error *err)
{
  const char *what = "cannot compile model";
  release_compiled(state);
  bool counts = state->route == ROUTE_COUNTERS;
  TRY_OV(counts ? state->api.core_compile_model(state->core, state->model, DEVICE, 2, &state->compiled, "PERF_COUNT",
                                                "YES")
                : state->api.core_compile_model(state->core, state->model, DEVICE, 0, &state->compiled),
         what);
  TRY_OV(state->api.compiled_model_create_infer_request(state->compiled, &state->request), what);
  XSP_TRY(bind_inputs(state, inputs, err));
  return state->route != ROUTE_NONE ? read_nodes(state, err) : STATUS_OK;
}

static enum status openvino_flush(struct predictor_model *model, struct error *err);

static enum status openvino_prepare(struct predictor_model *model, const struct tensor *inputs, struct error *err)
{
  struct state *state = model->state;
  XSP_TRY(openvino_flush(model, err));
  release_compiled(state);
  state->inputs = inputs;
  if (state->is_dynamic)
    XSP_TRY(reshape(state, inputs, err));
  return compile(state, inputs, err);
}

// ---- predict ---------------------------------------------------------------------------------------------------------

// Reads the counters of the inference that has just ended; they are published outside its span.
static enum status note_counters(struct state *state, struct xsp_context span, uint64_t start_ns, struct error *err)
{
  uint64_t *durations = calloc(state->nodes.count + 1, sizeof *durations);
  if (durations == NULL)
    return model_no_memory(&state->options, err);
  struct ov_profiling_list list = {0};
  if (state->api.infer_request_get_profiling_info(state->request, &list) != 0) {
    free(durations);
    return take_status(state, "cannot read OpenVINO's performance counters", err);
  }
  for (size_t i = 0; i < state->nodes.count; i++) {
    size_t at = state->nodes.nodes[i].at;
    if (at < list.count && list.infos[at].status == OV_NODE_EXECUTED)
      durations[i] = openvino_duration_ns(list.infos[at].real_time_us, state->inferences, &state->told_us[i]);
  }
  state->api.profiling_info_list_free(&list);
  struct inference inference = {.model = span, .start_ns = start_ns, .durations_ns = durations};
  if (inferences_add(&state->waiting, inference))
    return STATUS_OK;
  free(durations);
  return model_no_memory(&state->options, err);
}

static enum status openvino_predict(struct predictor_model *model, const struct tensor *inputs, struct error *err)
{
  struct state *state = model->state;
  if (state->route == ROUTE_LISTENER)
    state->listener->begin(model->model_span);
  uint64_t start_ns = layer_clock_ns();
  int failed = state->api.infer_request_infer(state->request);
  if (state->route == ROUTE_LISTENER)
    state->listener->end();
  TRY_OV(failed, "cannot run model");
  state->inferences++;
  if (state->route != ROUTE_COUNTERS)
    return STATUS_OK;
  uint64_t begin = xsp_clock_ticks();
  enum status status = note_counters(state, model->model_span, start_ns, err);
  state->own_ticks += xsp_clock_ticks() - begin;
  return status;
}

static enum status publish_one(struct state *state, const struct inference *inference, struct layer_told *told,
                               struct layer_tag (*tags)[2], struct error *err)
{
  size_t count = 0;
  for (size_t i = 0; i < state->nodes.count; i++) {
    const struct openvino_node *node = &state->nodes.nodes[i];
    if (inference->durations_ns[i] == 0)
      continue;
    tags[count][0] = (struct layer_tag){.key = "primitive", .text = node->primitive};
    tags[count][1] = (struct layer_tag){.key = "fused", .text = node->fused};
    told[count] = (struct layer_told){.name = node->name,
                                      .type = node->type,
                                      .index = node->index,
                                      .alloc_bytes = -1,
                                      .duration_ns = inference->durations_ns[i],
                                      .parent = LAYER_PARENT_MODEL,
                                      .tags = tags[count],
                                      .tag_count = node->fused != NULL ? 2 : 1};
    count++;
  }
  return layer_publish(state->publisher, told, count, inference->model, inference->start_ns, err);
}

static enum status openvino_flush(struct predictor_model *model, struct error *err)
{
  struct state *state = model->state;
  if (state->waiting.count == 0)
    return STATUS_OK;
  struct arena arena = {0};
  struct layer_told *told = arena_alloc_array(&arena, state->nodes.count + 1, sizeof *told);
  struct layer_tag(*tags)[2] = arena_alloc_array(&arena, state->nodes.count + 1, sizeof *tags);
  enum status status = told == NULL || tags == NULL ? model_no_memory(&state->options, err) : STATUS_OK;
  for (size_t i = 0; i < state->waiting.count && status == STATUS_OK; i++)
    status = publish_one(state, &state->waiting.items[i], told, tags, err);
  inferences_clear(&state->waiting);
  arena_done(&arena);
  return status;
}

// A build of OpenVINO that announces no nodes, though its version says so, is found out by its first inference.
static enum status openvino_resume(struct predictor_model *model, struct error *err)
{
  struct state *state = model->state;
  if (state->route != ROUTE_LISTENER || state->inferences == 0 || state->listener->node_count() != 0)
    return STATUS_OK;
  state->route = ROUTE_COUNTERS;
  return compile(state, state->inputs, err);
}

static void openvino_close(struct predictor_model *model)
{
  struct state *state = model->state;
  if (state == NULL)
    return;
  (void)!openvino_flush(model, NULL);
  release_compiled(state);
  if (state->model != NULL)
    state->api.model_free(state->model);
  if (state->core != NULL)
    state->api.core_free(state->core);
  layer_publisher_free(state->publisher);
  arena_done(&state->node_arena);
  inferences_free(&state->waiting);
  free(state);
  model->state = NULL;
  model->own_ticks = NULL;
  the_state = NULL;
}

const struct predictor predictor_openvino = {
    .name = "openvino",
    .summary = "IR, ONNX, TensorFlow and TFLite models in OpenVINO 2024 or later",
    .extensions = ".xml",
    .probe = openvino_probe,
    .open = openvino_open,
    .prepare = openvino_prepare,
    .predict = openvino_predict,
    .flush = openvino_flush,
    .resume = openvino_resume,
    .close = openvino_close,
};
