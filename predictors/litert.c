// SPDX-License-Identifier: Apache-2.0
// LiteRT (TFLite models) through its C API, opened at run time, on the CPU. Called by the runner (open, prepare, predict,
// flush, resume, close) and by `xsp check` (probe). Layers come from its profiler after each inference: those that XNNPACK
// computes have durations only; with --unfused the interpreter's own kernels run each operator, and all but threads is told.
// One thread, one model, its first signature.
#include "base/library.h"
#include "predictors/litert_abi.h"
#include "predictors/litert_events.h"
#include "predictors/litert_file.h"
#include "predictors/model_open.h"
#include "predictors/talk.h"
#include "profiles/layer_publish.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TENSORS_MOST 4096 // inputs or outputs

struct operator_facts {
  const char *name; // of its first output
  char shape[128];  // ""; not known
};

struct state {
  struct litert_api api;
  struct library library;
  char version[64];
  struct predictor_options options; // strings borrowed from the caller, who keeps them while the model is open
  bool has_layers;
  litert_handle environment, model, signature, compile_options, compiled,
      profiler; // the profiler is the compiled model's
  size_t input_count, output_count;
  struct litert_tensor_type *input_types, *output_types; // in the caller's arena, as all arrays here
  struct litert_layout *output_layouts;
  litert_handle *inputs, *outputs; // buffers
  struct operator_facts *operators;
  size_t operator_count;
  struct talk talk;
  char said[320]; // by the library, about what failed last
  // The inference whose events are still with the profiler
  bool is_waiting;
  struct xsp_context model_span;
  uint64_t start_ns;
  struct layer_publisher *publisher;
};

static const struct library_names library_names = {
    .name = "litert",
    .sonames = (const char *const[]){"libLiteRt.so", NULL},
    .package_glob = "ai_edge_litert/libLiteRt.so*",
    .advice = "pip install ai-edge-litert, or --library litert=PATH",
};

// ---- the library -----------------------------------------------------------------------------------------------------

static enum status load_functions(struct state *state, struct error *err)
{
  struct litert_api *api = &state->api;
  const struct library_function functions[] = {
#define X(name, arguments) {"LiteRt" #name, &api->name, false},
      LITERT_FUNCTIONS(X)
#undef X
#define X(name) {"LiteRt" #name, &api->name, false},
          LITERT_RELEASES(X)
#undef X
  };
  return library_functions(&state->library, &library_names, functions, sizeof functions / sizeof functions[0],
                           "LiteRT as of ai-edge-litert 2.3", err);
}

// The library does not say; the folder beside its package does.
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

static enum status open_library(const char *given, struct state *state, struct error *err)
{
  XSP_TRY(library_open(&library_names, given, &state->library, err));
  XSP_TRY(load_functions(state, err));
  find_version(state->library.path, state->version, sizeof state->version);
  return STATUS_OK;
}

static enum status litert_probe(const char *library_path, char *library, size_t library_size, char *version,
                                size_t version_size, struct error *err)
{
  struct state state = {0};
  XSP_TRY(open_library(library_path, &state, err));
  snprintf(library, library_size, "%s", state.library.path);
  snprintf(version, version_size, "%s", state.version);
  return STATUS_OK;
}

// ---- errors ----------------------------------------------------------------------------------------------------------

static enum status failed(struct state *state, int code, const char *what, struct error *err)
{
  const char *advice = state->profiler != NULL || state->is_waiting ? "other --dim or --input values"
                                                                    : "export the model again, for TFLite";
  if (code == LITERT_NO_MEMORY || strstr(state->said, "bad_alloc") != NULL || strstr(state->said, "of memory") != NULL)
    return error_set(err, STATUS_MEMORY, what, state->options.model_path, "a smaller batch, or more memory", "%s",
                     state->said[0] != 0 ? state->said : "out of memory");
  if (state->said[0] != 0)
    return error_set(err, STATUS_INPUT, what, state->options.model_path, advice, "%s", state->said);
  return error_set(err, STATUS_INPUT, what, state->options.model_path, advice, "LiteRT's status %d", code);
}

// A call whose reason, where it fails, is on stderr.
#define TRY_TALK(call, what)                                                                                           \
  do {                                                                                                                 \
    talk_catch(&state->talk);                                                                                          \
    int litert_code_ = (call);                                                                                         \
    talk_release(&state->talk, "ERROR: ", state->said, sizeof state->said);                                            \
    if (litert_code_ != 0)                                                                                             \
      return failed(state, litert_code_, (what), err);                                                                 \
  } while (0)
#define TRY_LITERT(call, what)                                                                                         \
  do {                                                                                                                 \
    int litert_code_ = (call);                                                                                         \
    if (litert_code_ != 0)                                                                                             \
      return failed(state, litert_code_, (what), err);                                                                 \
  } while (0)

// ---- open ------------------------------------------------------------------------------------------------------------

static enum status check_file(const char *path, struct error *err)
{
  XSP_TRY(model_check_file(path, false, "give the path of a .tflite file", err));
  char place[128];
  if (litert_file_damage(path, place, sizeof place))
    return error_set(err, STATUS_INPUT, "cannot open model", path, "copy or export the model again",
                     "the file is damaged: %s", place);
  return STATUS_OK;
}

static enum tensor_type tensor_type_of(int element)
{
  static const enum tensor_type types[] = {
      [1] = TENSOR_FLOAT,   [2] = TENSOR_INT32,   [3] = TENSOR_UINT8,     [4] = TENSOR_INT64,   [6] = TENSOR_BOOL,
      [7] = TENSOR_INT16,   [9] = TENSOR_INT8,    [10] = TENSOR_FLOAT16,  [11] = TENSOR_DOUBLE, [13] = TENSOR_UINT64,
      [16] = TENSOR_UINT32, [17] = TENSOR_UINT16, [19] = TENSOR_BFLOAT16,
  };
  return element >= 0 && (size_t)element < sizeof types / sizeof types[0] ? types[element] : 0;
}

static enum status read_type(struct state *state, litert_handle tensor, const char *name,
                             struct litert_tensor_type *ret_type, struct error *err)
{
  const char *what = "cannot read the model's inputs and outputs";
  int kind = -1;
  TRY_LITERT(state->api.GetTensorTypeId(tensor, &kind), what);
  if (kind != LITERT_RANKED)
    return error_set(err, STATUS_INPUT, what, state->options.model_path, NULL,
                     "\"%s\" does not say how many dimensions it has", name);
  TRY_LITERT(state->api.GetRankedTensorType(tensor, ret_type), what);
  if (ret_type->layout.rank > LITERT_RANK_MOST)
    return error_set(err, STATUS_INPUT, what, state->options.model_path, NULL, "\"%s\" has %u dimensions", name,
                     (unsigned)ret_type->layout.rank);
  return STATUS_OK;
}

static enum status read_input(struct state *state, struct arena *arena, size_t number, struct tensor_info *info,
                              struct error *err)
{
  const char *what = "cannot read the model's inputs and outputs", *name = NULL;
  litert_handle tensor = NULL;
  TRY_LITERT(state->api.GetSignatureInputName(state->signature, number, &name), what);
  TRY_LITERT(state->api.GetSignatureInputTensorByIndex(state->signature, number, &tensor), what);
  info->name = arena_copy(arena, name, strlen(name));
  if (info->name == NULL)
    return model_no_memory(&state->options, err);
  struct litert_tensor_type *type = &state->input_types[number];
  XSP_TRY(read_type(state, tensor, info->name, type, err));
  info->type = tensor_type_of(type->element);
  if (info->type == 0)
    return error_set(err, STATUS_INPUT, what, state->options.model_path, NULL,
                     "input \"%s\" has elements of a type that is not handled (TFLite's number %d)", info->name,
                     (int)type->element);
  info->rank = type->layout.rank;
  for (unsigned i = 0; i < info->rank; i++)
    info->shape[i] = type->layout.dimensions[i] >= 0 ? type->layout.dimensions[i] : -1;
  return STATUS_OK;
}

static enum status read_interface(struct state *state, struct arena *arena, struct predictor_model *model,
                                  struct error *err)
{
  const char *what = "cannot read the model's inputs and outputs";
  TRY_LITERT(state->api.GetNumSignatureInputs(state->signature, &state->input_count), what);
  TRY_LITERT(state->api.GetNumSignatureOutputs(state->signature, &state->output_count), what);
  size_t inputs = state->input_count, outputs = state->output_count;
  if (inputs > TENSORS_MOST || outputs > TENSORS_MOST)
    return error_set(err, STATUS_INPUT, what, state->options.model_path, NULL, "more than %d of them", TENSORS_MOST);
  model->inputs = arena_alloc_array(arena, inputs + 1, sizeof *model->inputs);
  state->input_types = arena_alloc_array(arena, inputs + 1, sizeof *state->input_types);
  state->output_types = arena_alloc_array(arena, outputs + 1, sizeof *state->output_types);
  state->output_layouts = arena_alloc_array(arena, outputs + 1, sizeof *state->output_layouts);
  state->inputs = arena_alloc_array(arena, inputs + 1, sizeof *state->inputs);
  state->outputs = arena_alloc_array(arena, outputs + 1, sizeof *state->outputs);
  if (model->inputs == NULL || state->input_types == NULL || state->output_types == NULL ||
      state->output_layouts == NULL || state->inputs == NULL || state->outputs == NULL)
    return model_no_memory(&state->options, err);
  memset(model->inputs, 0, (inputs + 1) * sizeof *model->inputs);
  memset(state->inputs, 0, (inputs + 1) * sizeof(litert_handle));
  memset(state->outputs, 0, (outputs + 1) * sizeof(litert_handle));
  model->input_count = inputs;
  for (size_t i = 0; i < inputs; i++)
    XSP_TRY(read_input(state, arena, i, &model->inputs[i], err));
  for (size_t i = 0; i < outputs; i++) {
    litert_handle tensor = NULL;
    TRY_LITERT(state->api.GetSignatureOutputTensorByIndex(state->signature, i, &tensor), what);
    XSP_TRY(read_type(state, tensor, "an output", &state->output_types[i], err));
  }
  return STATUS_OK;
}

// Names and shapes of the model's operators: those of their first outputs. What is not to be had stays empty.
static enum status read_operators(struct state *state, struct arena *arena, struct error *err)
{
  litert_handle graph = NULL;
  size_t count = 0;
  if (state->api.GetSignatureSubgraph(state->signature, &graph) != 0 ||
      state->api.GetNumSubgraphOps(graph, &count) != 0 || count > LITERT_EVENTS_MOST)
    return STATUS_OK;
  state->operators = arena_alloc_array(arena, count + 1, sizeof *state->operators);
  if (state->operators == NULL)
    return model_no_memory(&state->options, err);
  memset(state->operators, 0, (count + 1) * sizeof *state->operators);
  state->operator_count = count;
  for (size_t i = 0; i < count; i++) {
    struct operator_facts *facts = &state->operators[i];
    litert_handle one = NULL, tensor = NULL;
    size_t outputs = 0;
    const char *name = NULL;
    struct litert_tensor_type type;
    int kind = -1;
    if (state->api.GetSubgraphOp(graph, i, &one) != 0 || state->api.GetNumOpOutputs(one, &outputs) != 0 ||
        outputs == 0 || state->api.GetOpOutput(one, 0, &tensor) != 0 || state->api.GetTensorName(tensor, &name) != 0 ||
        name == NULL)
      continue;
    if ((facts->name = arena_copy(arena, name, strlen(name))) == NULL)
      return model_no_memory(&state->options, err);
    if (state->api.GetTensorTypeId(tensor, &kind) != 0 || kind != LITERT_RANKED ||
        state->api.GetRankedTensorType(tensor, &type) != 0 || type.layout.rank > LITERT_RANK_MOST)
      continue;
    int64_t shape[LITERT_RANK_MOST];
    bool is_known = true;
    for (unsigned k = 0; k < type.layout.rank; k++)
      is_known = (shape[k] = type.layout.dimensions[k]) >= 0 && is_known;
    if (is_known) // a free dimension's size is not told for what lies inside of the model
      layer_shape_text(shape, type.layout.rank, facts->shape, sizeof facts->shape);
  }
  return STATUS_OK;
}

static enum status add_options(struct state *state, const char *identifier, const char *toml, struct error *err)
{
  const char *what = "cannot set LiteRT's options";
  litert_handle added = NULL;
  char *copy = strdup(toml); // the library's from here on
  if (copy == NULL)
    return model_no_memory(&state->options, err);
  TRY_LITERT(state->api.CreateOpaqueOptions(identifier, copy, free, &added), what);
  TRY_LITERT(state->api.AddOpaqueOptions(state->compile_options, added), what);
  return STATUS_OK;
}

static enum status compile(struct state *state, struct error *err)
{
  const char *what = "cannot set LiteRT's options";
  TRY_LITERT(state->api.CreateOptions(&state->compile_options), what);
  TRY_LITERT(state->api.SetOptionsHardwareAccelerators(state->compile_options, LITERT_CPU), what);
  if (state->has_layers)
    XSP_TRY(add_options(state, "runtime_options_string", "enable_profiling = true\n", err));
  char toml[96] = "";
  size_t used = 0;
  if (state->options.threads != 0)
    used = (size_t)snprintf(toml, sizeof toml, "num_threads = %u\n", state->options.threads);
  if (state->options.unfused)
    snprintf(toml + used, sizeof toml - used, "kernel_mode = %d\n", LITERT_KERNELS_BUILTIN);
  if (toml[0] != 0)
    XSP_TRY(add_options(state, "xnnpack", toml, err));
  TRY_TALK(state->api.CreateCompiledModel(state->environment, state->model, state->compile_options, &state->compiled),
           "cannot open model");
  if (state->has_layers)
    TRY_LITERT(state->api.CompiledModelGetProfiler(state->compiled, &state->profiler), "cannot get LiteRT's profiler");
  return STATUS_OK;
}

static enum status make_publisher(struct state *state, struct error *err)
{
  static const struct layer_publisher_options delegated = {"litert", "start,thread,name", LAYER_TIMES_LAID_OUT};
  static const struct layer_publisher_options builtin = {"litert", "thread", LAYER_TIMES_MONOTONIC};
  state->publisher = layer_publisher_create(state->options.unfused ? &builtin : &delegated);
  return state->publisher != NULL ? STATUS_OK : model_no_memory(&state->options, err);
}

static enum status open_state(const struct predictor_options *options, struct arena *arena,
                              struct predictor_model *model, struct error *err)
{
  struct state *state = model->state;
  state->options = *options;
  XSP_TRY(check_file(state->options.model_path, err));
  XSP_TRY(open_library(state->options.library_path, state, err));
  state->has_layers = model_has_layers(&state->options);
  model->framework = "litert";
  model->framework_version = state->version;
  model->library_path = state->library.path;
  model->layer_source = state->has_layers ? "profiler" : "none";
  model->note = state->options.unfused ? "the interpreter's own kernels, each operator apart"
                                       : "kernels of XNNPACK where it has one";
  XSP_TRY(make_publisher(state, err));
  TRY_TALK(state->api.CreateEnvironment(0, NULL, &state->environment), "cannot start LiteRT");
  TRY_TALK(state->api.CreateModelFromFile(state->environment, state->options.model_path, &state->model),
           "cannot open model");
  size_t signatures = 0;
  TRY_LITERT(state->api.GetNumModelSignatures(state->model, &signatures), "cannot open model");
  if (signatures == 0)
    return error_set(err, STATUS_INPUT, "cannot open model", state->options.model_path, NULL, "it has no signature");
  TRY_LITERT(state->api.GetModelSignature(state->model, 0, &state->signature), "cannot open model");
  XSP_TRY(read_interface(state, arena, model, err));
  XSP_TRY(read_operators(state, arena, err));
  return compile(state, err);
}

static void litert_close(struct predictor_model *model);

static enum status litert_open(const struct predictor_options *options, struct arena *arena,
                               struct predictor_model *ret_model, struct error *err)
{
  return model_open(options, arena, ret_model, sizeof(struct state), open_state, litert_close, err);
}

// ---- prepare ---------------------------------------------------------------------------------------------------------

static void release_buffers(struct state *state)
{
  for (size_t i = 0; i < state->input_count && state->inputs != NULL; i++) {
    if (state->inputs[i] != NULL)
      state->api.DestroyTensorBuffer(state->inputs[i]);
    state->inputs[i] = NULL;
  }
  for (size_t i = 0; i < state->output_count && state->outputs != NULL; i++) {
    if (state->outputs[i] != NULL)
      state->api.DestroyTensorBuffer(state->outputs[i]);
    state->outputs[i] = NULL;
  }
}

static enum status resize_input(struct state *state, size_t number, const struct tensor *input, struct error *err)
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
    TRY_TALK(state->api.CompiledModelResizeInputTensor(state->compiled, 0, number, dimensions, input->info->rank),
             "cannot give the model's inputs these shapes");
  return STATUS_OK;
}

static enum status make_input(struct state *state, size_t number, const struct tensor *input, struct error *err)
{
  const char *what = "cannot make an input";
  struct litert_tensor_type type = state->input_types[number];
  for (unsigned i = 0; i < input->info->rank; i++)
    type.layout.dimensions[i] = (int32_t)input->shape[i];
  litert_handle needs = NULL;
  TRY_TALK(state->api.GetCompiledModelInputBufferRequirements(state->compiled, 0, number, &needs), what);
  TRY_TALK(
      state->api.CreateManagedTensorBufferFromRequirements(state->environment, &type, needs, &state->inputs[number]),
      what);
  size_t size = 0;
  TRY_LITERT(state->api.GetTensorBufferPackedSize(state->inputs[number], &size), what);
  if (size != input->size_bytes)
    return error_set(err, STATUS_INPUT, what, input->info->name, NULL, "LiteRT wants %zu bytes, the input has %zu",
                     size, input->size_bytes);
  void *memory = NULL;
  TRY_LITERT(state->api.LockTensorBuffer(state->inputs[number], &memory, LITERT_WRITE), what);
  memcpy(memory, input->data, size);
  TRY_LITERT(state->api.UnlockTensorBuffer(state->inputs[number]), what);
  return STATUS_OK;
}

static enum status litert_flush(struct predictor_model *model, struct error *err);

static enum status litert_prepare(struct predictor_model *model, const struct tensor *inputs, struct error *err)
{
  struct state *state = model->state;
  XSP_TRY(litert_flush(model, err));
  release_buffers(state);
  for (size_t i = 0; i < state->input_count; i++)
    XSP_TRY(resize_input(state, i, &inputs[i], err));
  memset(state->output_layouts, 0, (state->output_count + 1) * sizeof *state->output_layouts);
  TRY_TALK(state->api.GetCompiledModelOutputTensorLayouts(state->compiled, 0, state->output_count,
                                                          state->output_layouts, true),
           "cannot prepare model");
  for (size_t i = 0; i < state->input_count; i++)
    XSP_TRY(make_input(state, i, &inputs[i], err));
  for (size_t i = 0; i < state->output_count; i++) {
    const char *what = "cannot make an output";
    struct litert_tensor_type type = {state->output_types[i].element, state->output_layouts[i]};
    litert_handle needs = NULL;
    TRY_TALK(state->api.GetCompiledModelOutputBufferRequirements(state->compiled, 0, i, &needs), what);
    TRY_TALK(state->api.CreateManagedTensorBufferFromRequirements(state->environment, &type, needs, &state->outputs[i]),
             what);
  }
  return STATUS_OK;
}

// ---- predict ---------------------------------------------------------------------------------------------------------

static enum status litert_predict(struct predictor_model *model, const struct tensor *inputs, struct error *err)
{
  struct state *state = model->state;
  state->start_ns = layer_clock_ns();
  int code = state->api.RunCompiledModel(state->compiled, 0, state->input_count, state->inputs, state->output_count,
                                         state->outputs);
  if (code != 0) { // once more, to be told why
    TRY_TALK(state->api.RunCompiledModel(state->compiled, 0, state->input_count, state->inputs, state->output_count,
                                         state->outputs),
             "cannot run model");
    return failed(state, code, "cannot run model", err);
  }
  state->model_span = model->model_span;
  state->is_waiting = state->profiler != NULL;
  return STATUS_OK;
}

static struct layer_told told_of(const struct state *state, const struct litert_event *event, size_t index)
{
  struct layer_told told = {.type = event->tag,
                            .index = (int64_t)index,
                            .alloc_bytes = -1,
                            .start_ns = event->start_us * 1000,
                            .duration_ns = event->duration_us * 1000,
                            .parent = LAYER_PARENT_MODEL};
  if (!event->is_delegated && (uint64_t)event->node < state->operator_count) {
    const struct operator_facts *facts = &state->operators[event->node];
    told.name = facts->name;
    told.shape = facts->shape[0] != 0 ? facts->shape : NULL;
  }
  return told;
}

static enum status publish_events(struct state *state, struct error *err)
{
  const char *what = "cannot read LiteRT's profile";
  int count = 0;
  TRY_LITERT(state->api.GetNumProfilerEvents(state->profiler, &count), what);
  if (count <= 0 || count > LITERT_EVENTS_MOST)
    return count == 0 ? STATUS_OK
                      : error_set(err, STATUS_SYSTEM, what, NULL, NULL, "it is said to have %d events", count);
  size_t events = (size_t)count, size = events * LITERT_EVENT_ROOM;
  struct arena arena = {0};
  unsigned char *bytes = arena_alloc(&arena, size);
  struct litert_event *read = arena_alloc_array(&arena, events, sizeof *read);
  struct layer_told *told = arena_alloc_array(&arena, events, sizeof *told);
  enum status status = STATUS_OK;
  if (bytes == NULL || read == NULL || told == NULL) {
    status = model_no_memory(&state->options, err);
  } else {
    memset(bytes, LITERT_EVENT_GUARD, size);
    int code = state->api.GetProfilerEvents(state->profiler, count, bytes);
    size_t written = litert_events_written(bytes, size);
    if (code != 0)
      status = failed(state, code, what, err);
    else if (written != events * LITERT_EVENT_BYTES)
      status = error_set(err, STATUS_SYSTEM, what, state->library.path, "ai-edge-litert 2.3",
                         "its events are not of %u bytes: %zu for %d of them", LITERT_EVENT_BYTES, written, count);
    size_t operators = status == STATUS_OK ? litert_events_read(bytes, events, read) : 0;
    for (size_t i = 0; i < operators; i++)
      told[i] = told_of(state, &read[i], i);
    if (status == STATUS_OK)
      status = layer_publish(state->publisher, told, operators, state->model_span, state->start_ns, err);
  }
  arena_done(&arena);
  return status;
}

// The events of one inference are fetched before the next begins, outside of both spans.
static enum status litert_flush(struct predictor_model *model, struct error *err)
{
  struct state *state = model->state;
  if (!state->is_waiting)
    return STATUS_OK;
  state->is_waiting = false;
  TRY_LITERT(state->api.StopProfiler(state->profiler), "cannot stop LiteRT's profiler");
  enum status status = publish_events(state, err);
  if (status == STATUS_OK)
    TRY_LITERT(state->api.ResetProfiler(state->profiler), "cannot reset LiteRT's profiler");
  return status;
}

static enum status litert_resume(struct predictor_model *model, struct error *err)
{
  struct state *state = model->state;
  XSP_TRY(litert_flush(model, err));
  if (state->profiler != NULL)
    TRY_LITERT(state->api.StartProfiler(state->profiler), "cannot start LiteRT's profiler");
  return STATUS_OK;
}

static void litert_close(struct predictor_model *model)
{
  struct state *state = model->state;
  if (state == NULL)
    return;
  (void)!litert_flush(model, NULL);
  release_buffers(state);
  if (state->compiled != NULL)
    state->api.DestroyCompiledModel(state->compiled);
  if (state->compile_options != NULL)
    state->api.DestroyOptions(state->compile_options);
  if (state->model != NULL)
    state->api.DestroyModel(state->model);
  if (state->environment != NULL)
    state->api.DestroyEnvironment(state->environment);
  layer_publisher_free(state->publisher);
  free(state);
  model->state = NULL;
}

const struct predictor predictor_litert = {
    .name = "litert",
    .summary = "TFLite models in LiteRT (ai-edge-litert 2.3)",
    .extensions = ".tflite",
    .untold = "start,thread,name",
    .has_unfused = true,
    .probe = litert_probe,
    .open = litert_open,
    .prepare = litert_prepare,
    .predict = litert_predict,
    .flush = litert_flush,
    .resume = litert_resume,
    .close = litert_close,
};
