// SPDX-License-Identifier: Apache-2.0
// MXNet through its predict and profiler C interfaces, opened at run time, on the CPU. Called by the runner (open, prepare,
// predict, flush, resume, close) and by `xsp check` (probe). A model is NAME-symbol.json with NAME-0000.params beside it.
// Layers come from MXNet's profile, which has types and times but no names: these follow from the position in its graph.
// One thread, one model.
#include "base/library.h"
#include "predictors/inferences.h"
#include "predictors/model_open.h"
#include "predictors/mxnet_shapes.h"
#include "profiles/layer_publish.h"
#include "profiles/mxnet_abi.h"
#include "profiles/mxnet_profile.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SYMBOL_END "-symbol.json"
#define ADVICE_FILE "give the path of a NAME-symbol.json, with NAME-0000.params beside it"
#define SYMBOL_BYTES_MOST ((size_t)1 << 30)
#define OUTPUTS_MOST 4096u

struct bytes {
  char *data; // owned, a NUL behind it
  size_t length;
};

struct state {
  struct mxnet_api api;
  struct library library;
  char version[32];
  struct predictor_options options; // strings borrowed from the caller, who keeps them while the model is open
  bool has_layers, is_profiling;
  char prefix[PATH_MAX];       // the model's path up to "-symbol.json"
  char profile_path[PATH_MAX]; // where MXNet writes its profile
  struct bytes symbol_text, parameter_bytes;
  struct arena *arena;
  struct mxnet_symbol symbol;  // as the file has it
  struct mxnet_node *executed; // operators in the order of MXNet's graph
  size_t executed_count;
  uint32_t output_count;
  mxnet_handle predictor;
  float **outputs; // by output, owned
  uint32_t *output_sizes;
  struct inferences waiting;
  struct layer_publisher *publisher;
};

static const struct library_names library_names = {
    .name = "mxnet",
    .sonames = (const char *const[]){"libmxnet.so", NULL},
    .package_glob = "mxnet/libmxnet.so*",
    .advice = "pip install mxnet==1.9.1, or --library mxnet=PATH",
};

// ---- the library -----------------------------------------------------------------------------------------------------

static enum status load_functions(struct state *state, struct error *err)
{
  struct mxnet_api *api = &state->api;
  const struct library_function functions[] = {{"MXGetLastError", &api->GetLastError, false},
#define X(name, arguments) {"MX" #name, &api->name, false},
                                               MXNET_FUNCTIONS(X)
#undef X
  };
  return library_functions(&state->library, &library_names, functions, sizeof functions / sizeof functions[0],
                           "MXNet 1.9", err);
}

static enum status open_library(const char *given, struct state *state, struct error *err)
{
  XSP_TRY(library_open(&library_names, given, &state->library, err));
  XSP_TRY(load_functions(state, err));
  int number = 0; // 10901
  if (state->api.GetVersion(&number) != 0 || number < 10000)
    return error_set(err, STATUS_SYSTEM, "cannot use library", state->library.path, library_names.advice,
                     "MXNet does not tell its version");
  snprintf(state->version, sizeof state->version, "%d.%d.%d", number / 10000, number / 100 % 100, number % 100);
  return STATUS_OK;
}

static enum status mxnet_probe(const char *library_path, char *library, size_t library_size, char *version,
                               size_t version_size, struct error *err)
{
  struct state state = {0};
  XSP_TRY(open_library(library_path, &state, err));
  snprintf(library, library_size, "%s", state.library.path);
  snprintf(version, version_size, "%s", state.version);
  return STATUS_OK;
}

// ---- errors ----------------------------------------------------------------------------------------------------------

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
    snprintf(text, size, "MXNet does not say why");
}

static enum status failed(struct state *state, const char *what, struct error *err)
{
  char why[sizeof err->why];
  one_line(state->api.GetLastError(), why, sizeof why);
  bool is_memory = strstr(why, "bad_alloc") != NULL || strstr(why, "ut of memory") != NULL ||
                   strstr(why, "Failed to allocate") != NULL || strstr(why, "llocation failed") != NULL;
  const char *advice = is_memory                  ? "a smaller batch, or a machine with more memory"
                       : state->predictor != NULL ? "other --input values"
                                                  : "export the model again, or other --dim values";
  return error_set(err, is_memory ? STATUS_MEMORY : STATUS_INPUT, what, state->options.model_path, advice, "%s", why);
}

#define TRY_MX(call, what)                                                                                             \
  do {                                                                                                                 \
    if ((call) != 0)                                                                                                   \
      return failed(state, (what), err);                                                                               \
  } while (0)

// ---- files -----------------------------------------------------------------------------------------------------------

static bool ends_with(const char *text, const char *end)
{
  size_t length = strlen(text), end_length = strlen(end);
  return length > end_length && strcmp(text + length - end_length, end) == 0;
}

static bool mxnet_recognises(const char *path)
{
  return ends_with(path, SYMBOL_END);
}

static enum status read_file(const char *path, size_t most, struct bytes *ret_bytes, struct error *err)
{
  const char *what = "cannot open model";
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  struct stat info;
  if (fd < 0)
    return error_set_errno(err, STATUS_INPUT, what, path, ADVICE_FILE);
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || (uint64_t)info.st_size > most) {
    close(fd);
    return error_set(err, STATUS_INPUT, what, path, ADVICE_FILE,
                     S_ISREG(info.st_mode) ? "it is larger than MXNet's interface takes" : "not a file");
  }
  size_t size = (size_t)info.st_size;
  *ret_bytes = (struct bytes){malloc(size + 1), 0};
  ssize_t got = ret_bytes->data != NULL ? 1 : 0;
  while (got > 0 && ret_bytes->length < size) {
    got = read(fd, ret_bytes->data + ret_bytes->length, size - ret_bytes->length);
    if (got < 0 && errno == EINTR)
      got = 1;
    else if (got > 0)
      ret_bytes->length += (size_t)got;
  }
  close(fd);
  if (ret_bytes->data == NULL)
    return error_set(err, STATUS_MEMORY, what, path, NULL, "out of memory");
  ret_bytes->data[ret_bytes->length] = 0;
  return got < 0 ? error_set_errno(err, STATUS_INPUT, what, path, NULL) : STATUS_OK;
}

// NAME-NNNN.params, the latest epoch of those beside the symbol.
static enum status find_parameters(struct state *state, char *path, size_t size, struct error *err)
{
  char pattern[PATH_MAX + 64];
  size_t used = 0;
  for (const char *at = state->prefix; *at != 0 && used + 2 < PATH_MAX; at++) { // a name is no pattern
    if (strchr("*?[\\", *at) != NULL)
      pattern[used++] = '\\';
    pattern[used++] = *at;
  }
  snprintf(pattern + used, sizeof pattern - used, "-[0-9][0-9][0-9][0-9].params");
  glob_t matches;
  if (glob(pattern, 0, NULL, &matches) != 0)
    return error_set(err, STATUS_INPUT, "cannot open model", state->options.model_path, ADVICE_FILE,
                     "%s-0000.params is not there", state->prefix);
  snprintf(path, size, "%s", matches.gl_pathv[matches.gl_pathc - 1]);
  globfree(&matches);
  return STATUS_OK;
}

static enum status read_files(struct state *state, struct error *err)
{
  const char *path = state->options.model_path;
  if (!mxnet_recognises(path) || strlen(path) >= sizeof state->prefix)
    return error_set(err, STATUS_INPUT, "cannot open model", path, ADVICE_FILE,
                     "its name does not end with " SYMBOL_END);
  snprintf(state->prefix, sizeof state->prefix, "%.*s", (int)(strlen(path) - strlen(SYMBOL_END)), path);
  XSP_TRY(read_file(path, SYMBOL_BYTES_MOST, &state->symbol_text, err));
  char parameters[PATH_MAX + 64];
  XSP_TRY(find_parameters(state, parameters, sizeof parameters, err));
  return read_file(parameters, INT_MAX, &state->parameter_bytes, err);
}

// ---- what the model is -----------------------------------------------------------------------------------------------

static enum status read_parameters(struct state *state, struct arena *arena, struct mxnet_parameter **ret_parameters,
                                   size_t *ret_count, struct error *err)
{
  const char *what = "cannot read the model's parameters";
  mxnet_handle list = NULL;
  uint32_t count = 0;
  TRY_MX(state->api.NDListCreate(state->parameter_bytes.data, (int)state->parameter_bytes.length, &list, &count), what);
  struct mxnet_parameter *parameters = arena_alloc_array(arena, (size_t)count + 1, sizeof *parameters);
  enum status status = parameters != NULL ? STATUS_OK : model_no_memory(&state->options, err);
  for (uint32_t i = 0; i < count && status == STATUS_OK; i++) {
    const char *key = NULL;
    const float *data = NULL;
    const uint32_t *shape = NULL;
    uint32_t rank = 0;
    if (state->api.NDListGet(list, i, &key, &data, &shape, &rank) != 0) {
      status = failed(state, what, err);
      break;
    }
    const char *colon = strchr(key, ':');
    const char *name = colon != NULL ? colon + 1 : key;
    parameters[i] = (struct mxnet_parameter){
        arena_copy(arena, name, strlen(name)),
        rank > 0 ? (const uint32_t *)(const void *)arena_copy(arena, (const char *)shape, rank * sizeof *shape) : NULL,
        rank};
    if (parameters[i].name == NULL || (rank > 0 && parameters[i].shape == NULL))
      status = model_no_memory(&state->options, err);
  }
  state->api.NDListFree(list);
  *ret_parameters = parameters;
  *ret_count = count;
  return status;
}

static bool is_parameter(const char *name, const struct mxnet_parameter *parameters, size_t count)
{
  for (size_t i = 0; i < count; i++)
    if (strcmp(parameters[i].name, name) == 0)
      return true;
  return false;
}

static enum status read_signature(struct state *state, const char *name, struct tensor_info *info, bool *ret_found,
                                  struct error *err)
{
  char path[PATH_MAX + 32];
  snprintf(path, sizeof path, "%s-signature.json", state->prefix);
  *ret_found = false;
  if (access(path, F_OK) != 0)
    return STATUS_OK;
  struct bytes text = {0};
  enum status status = read_file(path, SYMBOL_BYTES_MOST, &text, err);
  if (status == STATUS_OK)
    status = mxnet_signature_read(text.data, text.length, path, name, info, ret_found, err);
  free(text.data);
  return status;
}

// The format holds no shapes of inputs.
static enum status read_input(struct state *state, size_t node, const struct mxnet_parameter *parameters, size_t count,
                              struct tensor_info *info, struct error *err)
{
  info->name = state->symbol.nodes[node].name;
  info->type = TENSOR_FLOAT; // all that the predict interface takes
  bool found = false;
  XSP_TRY(read_signature(state, info->name, info, &found, err));
  if (found || mxnet_input_shape(&state->symbol, node, parameters, count, info))
    return STATUS_OK;
  return error_set(
      err, STATUS_INPUT, "cannot read the model's inputs", state->options.model_path,
      "a NAME-signature.json beside it: {\"inputs\": [{\"data_name\": \"data\", \"data_shape\": [0, 3, 224, 224]}]}",
      "nothing says the shape of input \"%s\"", info->name);
}

// Variables that are no parameters. Labels belong to losses, which are not computed.
static enum status read_inputs(struct state *state, struct predictor_model *model, struct error *err)
{
  struct mxnet_parameter *parameters = NULL;
  size_t count = 0;
  struct arena arena = {0};
  enum status status = read_parameters(state, &arena, &parameters, &count, err);
  model->inputs = arena_alloc_array(state->arena, state->symbol.count + 1, sizeof *model->inputs);
  if (status == STATUS_OK && model->inputs == NULL)
    status = model_no_memory(&state->options, err);
  for (size_t i = 0; i < state->symbol.count && status == STATUS_OK; i++) {
    const struct mxnet_node *node = &state->symbol.nodes[i];
    if (!mxnet_is_variable(node) || is_parameter(node->name, parameters, count) || ends_with(node->name, "label"))
      continue;
    model->inputs[model->input_count] = (struct tensor_info){0};
    status = read_input(state, i, parameters, count, &model->inputs[model->input_count], err);
    model->input_count++;
  }
  arena_done(&arena);
  if (status == STATUS_OK && model->input_count == 0)
    return error_set(err, STATUS_INPUT, "cannot open model", state->options.model_path, NULL,
                     "each of its variables is a parameter: it has no input");
  return status;
}

// The graph that MXNet executes: the model's after its subgraph backend has fused what it can.
static enum status read_graph(struct state *state, struct error *err)
{
  const char *what = "cannot open model";
  mxnet_handle symbol = NULL, fused = NULL;
  TRY_MX(state->api.SymbolCreateFromJSON(state->symbol_text.data, &symbol), what);
  enum status status = STATUS_OK;
  struct mxnet_symbol graph = state->symbol;
  const char *json = NULL;
  if (state->api.SymbolGetNumOutputs(symbol, &state->output_count) != 0)
    status = failed(state, what, err);
  bool is_fused = !state->options.unfused && status == STATUS_OK && state->has_layers &&
                  state->api.GenBackendSubgraph(symbol, MXNET_FUSING_BACKEND, &fused) == 0 &&
                  state->api.SymbolSaveToJSON(fused, &json) == 0;
  if (is_fused)
    status = mxnet_symbol_read(json, strlen(json), "MXNet's graph", state->arena, &graph, err);
  if (fused != NULL && fused != symbol)
    state->api.SymbolFree(fused);
  state->api.SymbolFree(symbol);
  XSP_TRY(status);
  state->executed = arena_alloc_array(state->arena, graph.count + 1, sizeof *state->executed);
  if (state->executed == NULL)
    return model_no_memory(&state->options, err);
  for (size_t i = 0; i < graph.count; i++)
    if (!mxnet_is_variable(&graph.nodes[i]))
      state->executed[state->executed_count++] = graph.nodes[i];
  return STATUS_OK;
}

// ---- open ------------------------------------------------------------------------------------------------------------

// MXNet reads these when it is loaded.
static void set_environment(const struct state *state)
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

static enum status configure_profiler(struct state *state, struct error *err)
{
  snprintf(state->profile_path, sizeof state->profile_path, "%s/mxnet.json", state->options.work_directory);
  const char *const keys[] = {"filename",    "profile_symbolic", "profile_imperative", "profile_memory",
                              "profile_api", "aggregate_stats",  "continuous_dump"};
  const char *const values[] = {state->profile_path, "True", "False", "False", "False", "False", "False"};
  TRY_MX(state->api.SetProcessProfilerConfig(sizeof keys / sizeof keys[0], keys, values, NULL),
         "cannot set up MXNet's profiler");
  return STATUS_OK;
}

static enum status open_state(const struct predictor_options *options, struct arena *arena,
                              struct predictor_model *model, struct error *err)
{
  struct state *state = model->state;
  state->options = *options;
  static const struct layer_publisher_options publishing = {"mxnet", "name,thread", LAYER_TIMES_REALTIME};
  state->arena = arena;
  state->has_layers = model_has_layers(&state->options);
  XSP_TRY(read_files(state, err));
  set_environment(state);
  XSP_TRY(open_library(state->options.library_path, state, err));
  model->framework = "mxnet";
  model->framework_version = state->version;
  model->library_path = state->library.path;
  model->layer_source = state->has_layers ? "profiler" : "none";
  if ((state->publisher = layer_publisher_create(&publishing)) == NULL)
    return model_no_memory(&state->options, err);
  XSP_TRY(mxnet_symbol_read(state->symbol_text.data, state->symbol_text.length, state->options.model_path, arena,
                            &state->symbol, err));
  XSP_TRY(read_graph(state, err));
  if (state->output_count == 0 || state->output_count > OUTPUTS_MOST)
    return error_set(err, STATUS_INPUT, "cannot open model", state->options.model_path, NULL, "it has %u outputs",
                     (unsigned)state->output_count);
  state->outputs = arena_alloc_array(arena, state->output_count, sizeof *state->outputs);
  state->output_sizes = arena_alloc_array(arena, state->output_count, sizeof *state->output_sizes);
  if (state->outputs == NULL || state->output_sizes == NULL)
    return model_no_memory(&state->options, err);
  memset(state->outputs, 0, state->output_count * sizeof *state->outputs);
  XSP_TRY(read_inputs(state, model, err));
  return state->has_layers ? configure_profiler(state, err) : STATUS_OK;
}

static void mxnet_close(struct predictor_model *model);

static enum status mxnet_open(const struct predictor_options *options, struct arena *arena,
                              struct predictor_model *ret_model, struct error *err)
{
  return model_open(options, arena, ret_model, sizeof(struct state), open_state, mxnet_close, err);
}

// ---- prepare ---------------------------------------------------------------------------------------------------------

static void release_predictor(struct state *state)
{
  if (state->predictor != NULL)
    state->api.PredFree(state->predictor);
  state->predictor = NULL;
  for (uint32_t i = 0; i < state->output_count && state->outputs != NULL; i++) {
    free(state->outputs[i]);
    state->outputs[i] = NULL;
  }
}

static enum status create_predictor(struct state *state, size_t count, const struct tensor *inputs, struct error *err)
{
  struct arena arena = {0};
  const char **names = arena_alloc_array(&arena, count, sizeof *names);
  uint32_t *starts = arena_alloc_array(&arena, count + 1, sizeof *starts);
  uint32_t *shapes = arena_alloc_array(&arena, count * TENSOR_MAXIMUM_RANK, sizeof *shapes);
  enum status status =
      names != NULL && starts != NULL && shapes != NULL ? STATUS_OK : model_no_memory(&state->options, err);
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
  if (status == STATUS_OK &&
      state->api.PredCreate(state->symbol_text.data, state->parameter_bytes.data, (int)state->parameter_bytes.length,
                            MXNET_CPU, 0, (uint32_t)count, names, starts, shapes, &state->predictor) != 0) {
    state->predictor = NULL;
    status = failed(state, "cannot open model", err);
  }
  arena_done(&arena);
  return status;
}

static enum status make_output(struct state *state, uint32_t number, struct error *err)
{
  uint32_t *shape = NULL, rank = 0;
  TRY_MX(state->api.PredGetOutputShape(state->predictor, number, &shape, &rank), "cannot make an output");
  size_t size = 1;
  for (uint32_t i = 0; i < rank; i++)
    if (__builtin_mul_overflow(size, (size_t)shape[i], &size) || size > UINT32_MAX)
      return error_set(err, STATUS_INPUT, "cannot make an output", state->options.model_path, "a smaller batch",
                       "output %u is too large", (unsigned)number);
  state->output_sizes[number] = (uint32_t)size;
  state->outputs[number] = malloc(size * sizeof(float) + 1);
  return state->outputs[number] != NULL ? STATUS_OK : model_no_memory(&state->options, err);
}

static enum status mxnet_flush(struct predictor_model *model, struct error *err);

// Inputs stay in the predictor from one inference to the next.
static enum status mxnet_prepare(struct predictor_model *model, const struct tensor *inputs, struct error *err)
{
  struct state *state = model->state;
  XSP_TRY(mxnet_flush(model, err));
  release_predictor(state);
  XSP_TRY(create_predictor(state, model->input_count, inputs, err));
  for (size_t i = 0; i < model->input_count; i++) {
    if (inputs[i].size_bytes / sizeof(float) > UINT32_MAX)
      return error_set(err, STATUS_INPUT, "cannot make an input", inputs[i].info->name, "a smaller batch",
                       "it is larger than MXNet's interface takes");
    TRY_MX(state->api.PredSetInput(state->predictor, inputs[i].info->name, inputs[i].data,
                                   (uint32_t)(inputs[i].size_bytes / sizeof(float))),
           "cannot make an input");
  }
  for (uint32_t i = 0; i < state->output_count; i++)
    XSP_TRY(make_output(state, i, err));
  return STATUS_OK;
}

// ---- predict ---------------------------------------------------------------------------------------------------------

// In whole microseconds, as MXNet's profile has it.
static uint64_t realtime_ns(void)
{
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec / 1000 * 1000;
}

static enum status mxnet_predict(struct predictor_model *model, const struct tensor *inputs, struct error *err)
{
  struct state *state = model->state;
  struct inference inference = {.model = model->model_span, .start_ns = realtime_ns()};
  TRY_MX(state->api.PredForward(state->predictor), "cannot run model");
  for (uint32_t i = 0; i < state->output_count; i++) // an inference ends here: execution is asynchronous
    TRY_MX(state->api.PredGetOutput(state->predictor, i, state->outputs[i], state->output_sizes[i]),
           "cannot run model");
  inference.end_ns = realtime_ns();
  if (state->has_layers && !inferences_add(&state->waiting, inference))
    return model_no_memory(&state->options, err);
  return STATUS_OK;
}

// ---- layers ----------------------------------------------------------------------------------------------------------

// The n-th event is the n-th operator of the graph where there are as many, of the same types in the same order.
static bool follows_graph(const struct state *state, const struct mxnet_event *events, size_t count)
{
  if (count != state->executed_count)
    return false;
  for (size_t i = 0; i < count; i++)
    if (strcmp(events[i].name, state->executed[i].op) != 0)
      return false;
  return true;
}

static enum status publish_inference(struct state *state, const struct inference *inference,
                                     const struct mxnet_event *events, size_t count, struct error *err)
{
  struct arena arena = {0};
  struct layer_told *told = arena_alloc_array(&arena, count + 1, sizeof *told);
  struct layer_tag(*tags)[2] = arena_alloc_array(&arena, count + 1, sizeof *tags);
  enum status status = told != NULL && tags != NULL ? STATUS_OK : model_no_memory(&state->options, err);
  bool has_names = follows_graph(state, events, count);
  for (size_t i = 0; i < count && status == STATUS_OK; i++) {
    const struct mxnet_event *event = &events[i];
    told[i] = (struct layer_told){.type = event->name,
                                  .index = (int64_t)i,
                                  .alloc_bytes = -1,
                                  .start_ns = (uint64_t)event->start_us * 1000,
                                  .duration_ns = (uint64_t)(event->end_us - event->start_us) * 1000,
                                  .parent = LAYER_PARENT_MODEL};
    if (!has_names)
      continue;
    tags[i][0] = (struct layer_tag){.key = "name_by", .text = "position in the graph"};
    tags[i][1] = (struct layer_tag){.key = "fused", .text = state->executed[i].fused};
    told[i].name = state->executed[i].name;
    told[i].tags = tags[i];
    told[i].tag_count = state->executed[i].fused != NULL ? 2 : 1;
  }
  if (status == STATUS_OK)
    status = layer_publish(state->publisher, told, count, inference->model, 0, err);
  arena_done(&arena);
  return status;
}

static enum status publish_profile(struct state *state, struct error *err)
{
  struct arena arena = {0};
  struct bytes text = {0};
  struct mxnet_profile profile = {0};
  enum status status = read_file(state->profile_path, (size_t)1 << 36, &text, err);
  if (status == STATUS_OK)
    status = mxnet_profile_read(text.data, text.length, state->profile_path, &arena, &profile, err);
  size_t at = 0;
  for (size_t i = 0; i < state->waiting.count && status == STATUS_OK; i++) {
    const struct inference *inference = &state->waiting.items[i];
    while (at < profile.count && (uint64_t)profile.events[at].start_us * 1000 < inference->start_ns)
      at++;
    size_t first = at;
    while (at < profile.count && (uint64_t)profile.events[at].start_us * 1000 <= inference->end_ns)
      at++;
    status = publish_inference(state, inference, profile.events + first, at - first, err);
  }
  free(text.data);
  arena_done(&arena);
  unlink(state->profile_path);
  return status;
}

static enum status mxnet_flush(struct predictor_model *model, struct error *err)
{
  struct state *state = model->state;
  if (!state->is_profiling || state->waiting.count == 0)
    return STATUS_OK;
  const char *what = "cannot end MXNet's profile";
  TRY_MX(state->api.SetProcessProfilerState(0, 0, NULL), what);
  state->is_profiling = false;
  TRY_MX(state->api.DumpProcessProfile(0, 0, NULL), what);
  enum status status = publish_profile(state, err);
  inferences_clear(&state->waiting);
  return status;
}

static enum status mxnet_resume(struct predictor_model *model, struct error *err)
{
  struct state *state = model->state;
  if (!state->has_layers || state->is_profiling)
    return STATUS_OK;
  TRY_MX(state->api.SetProcessProfilerState(1, 0, NULL), "cannot start MXNet's profiler");
  state->is_profiling = true;
  return STATUS_OK;
}

static void mxnet_close(struct predictor_model *model)
{
  struct state *state = model->state;
  if (state == NULL)
    return;
  (void)!mxnet_flush(model, NULL);
  release_predictor(state);
  layer_publisher_free(state->publisher);
  free(state->symbol_text.data);
  free(state->parameter_bytes.data);
  inferences_free(&state->waiting);
  free(state);
  model->state = NULL;
}

const struct predictor predictor_mxnet = {
    .name = "mxnet",
    .summary = "NAME-symbol.json with NAME-0000.params in MXNet 1.9",
    .extensions = SYMBOL_END,
    .recognises = mxnet_recognises,
    .untold = "name,thread",
    .has_unfused = true,
    .probe = mxnet_probe,
    .open = mxnet_open,
    .prepare = mxnet_prepare,
    .predict = mxnet_predict,
    .flush = mxnet_flush,
    .resume = mxnet_resume,
    .close = mxnet_close,
};
