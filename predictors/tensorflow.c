// SPDX-License-Identifier: Apache-2.0
// TensorFlow through its C API, opened at run time: SavedModel folders and frozen graphs. Called by the runner (open,
// predict, flush, resume, close) and by `xsp check` (probe). Layers come from RunMetadata, asked for where the session has
// the layer level, and published outside the model span. One thread, one model.
#include "base/library.h"
#include "predictors/model_open.h"
#include "predictors/tensorflow_abi.h"
#include "predictors/tensorflow_graph.h"
#include "predictors/tensorflow_layers.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define ADVICE_MODEL "give a SavedModel folder or a frozen graph (.pb)"
#define GRAPH_BYTES_MAXIMUM ((size_t)INT32_MAX) // of any protobuf message

static const struct library_names library_names = {
    .name = "tensorflow",
    .sonames = (const char *const[]){"libtensorflow_cc.so.2", "libtensorflow.so.2", NULL},
    .package_glob = "tensorflow/libtensorflow_cc.so*",
    .advice = "pip install tensorflow-cpu, or --library tensorflow=PATH",
};

static const struct {
  uint32_t tensorflow;
  enum tensor_type type;
} types[] = {
    {1, TENSOR_FLOAT},   {2, TENSOR_DOUBLE},   {3, TENSOR_INT32},   {4, TENSOR_UINT8},   {5, TENSOR_INT16},
    {6, TENSOR_INT8},    {7, TENSOR_STRING},   {9, TENSOR_INT64},   {10, TENSOR_BOOL},   {14, TENSOR_BFLOAT16},
    {17, TENSOR_UINT16}, {19, TENSOR_FLOAT16}, {22, TENSOR_UINT32}, {23, TENSOR_UINT64},
};

struct fed { // an input's tensor over the runner's memory, kept while that stays as it is
  const struct tensor *from;
  void *data;
  int64_t shape[TENSOR_MAXIMUM_RANK];
  void *tensor;
};

struct state {
  struct tf_api tf;
  struct library library;
  struct predictor_options options; // strings borrowed from the caller, who keeps them while the model is open
  struct tensorflow_model model;    // in the caller's arena
  void *graph, *session_options, *session, *status;
  struct tf_output *inputs, *outputs; // in the caller's arena, as the two below
  struct fed *fed;
  void **input_values, **output_values;
  size_t input_count, output_count;
  // Layers: what the last inference's metadata says is published before the next, or at flush.
  struct tensorflow_layers *layers;
  struct tf_buffer *pending;
  struct xsp_context pending_span;
};

// ---- the library -----------------------------------------------------------------------------------------------------

static enum status open_library(const char *given, struct state *state, struct error *err)
{
  setenv("TF_CPP_MIN_LOG_LEVEL", "3", 0); // what it would log as an error comes back as a status too
  if (state->options.unfused)
    setenv("TF_ENABLE_ONEDNN_OPTS", "0", 1); // read once, while it is loaded
  XSP_TRY(library_open(&library_names, given, &state->library, err));
  const struct library_function functions[] = {
#define X(result, name, parameters) {"TF_" #name, &state->tf.name, false},
      TENSORFLOW_FUNCTIONS(X)
#undef X
  };
  return library_functions(&state->library, &library_names, functions, sizeof functions / sizeof functions[0],
                           "TensorFlow, or a very old one", err);
}

static enum status tensorflow_probe(const char *library_path, char *library, size_t library_size, char *version,
                                    size_t version_size, struct error *err)
{
  struct state state = {0};
  XSP_TRY(open_library(library_path, &state, err));
  snprintf(library, library_size, "%s", state.library.path);
  snprintf(version, version_size, "%s", state.tf.Version());
  return STATUS_OK;
}

// ---- errors ----------------------------------------------------------------------------------------------------------

// The first sentence of what the library says: hints at its own API and stacks of C++ may follow.
static int sentence_length(const char *message)
{
  size_t length = strcspn(message, "\n");
  for (const char *end = strstr(message, ". "); end != NULL && end + 2 < message + length; end = strstr(end + 1, ". "))
    if (end[2] >= 'A' && end[2] <= 'Z') // not "[2] vs. [3]"
      length = (size_t)(end - message);
  return (int)length;
}

// What the library's status says, as ours.
static enum status take_status(const struct state *state, const char *what, const char *advice, struct error *err)
{
  enum { RESOURCE_EXHAUSTED = 8, FAILED_PRECONDITION = 9 };
  int code = state->tf.GetCode(state->status);
  if (code == 0)
    return STATUS_OK;
  const char *message = state->tf.Message(state->status);
  bool is_memory = code == RESOURCE_EXHAUSTED;
  if (is_memory)
    advice = "a smaller batch, or a machine with more memory";
  else if (code == FAILED_PRECONDITION) // a variable has no value
    advice = state->model.signature == NULL
                 ? "a frozen graph, in which variables have become constants, or a SavedModel folder"
                 : "the whole folder, with its variables/";
  return error_set(err, is_memory ? STATUS_MEMORY : STATUS_INPUT, what, state->options.model_path, advice, "%.*s",
                   sentence_length(message), message);
}

// ---- the model's file ------------------------------------------------------------------------------------------------

static bool is_folder(const char *path)
{
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static bool tensorflow_recognises(const char *path)
{
  char inside[PATH_MAX];
  return is_folder(path) && snprintf(inside, sizeof inside, "%s/saved_model.pb", path) < (int)sizeof inside &&
         access(inside, F_OK) == 0;
}

// Maps the file that describes the model. NULL data: it is empty.
static enum status map_file(const char *path, struct tf_buffer *ret_bytes, struct error *err)
{
  const char *what = "cannot open model";
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  struct stat info;
  if (fd < 0)
    return error_set_errno(err, STATUS_INPUT, what, path, ADVICE_MODEL);
  enum status status = STATUS_OK;
  *ret_bytes = (struct tf_buffer){0};
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
    status = error_set(err, STATUS_INPUT, what, path, ADVICE_MODEL, "not a file");
  else if ((uint64_t)info.st_size > GRAPH_BYTES_MAXIMUM)
    status = error_set(err, STATUS_INPUT, what, path, "a SavedModel, which keeps its constants in files of their own",
                       "it has %" PRId64 " bytes, a graph at most %zu", (int64_t)info.st_size, GRAPH_BYTES_MAXIMUM);
  else if (info.st_size == 0)
    status = error_set(err, STATUS_INPUT, what, path, ADVICE_MODEL, "the file is empty");
  if (status == STATUS_OK) {
    void *data = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED)
      status = error_set_errno(err, STATUS_INPUT, what, path, ADVICE_MODEL);
    else
      *ret_bytes = (struct tf_buffer){data, (size_t)info.st_size, NULL};
  }
  close(fd);
  return status;
}

static void unmap_file(struct tf_buffer *bytes)
{
  if (bytes->data != NULL)
    munmap((void *)(uintptr_t)bytes->data, bytes->length);
  bytes->data = NULL;
}

// ---- inputs and outputs ----------------------------------------------------------------------------------------------

static enum status read_input(const struct state *state, const struct tensorflow_port *port, struct tensor_info *info,
                              struct error *err)
{
  const char *what = "cannot read the model's inputs", *path = state->options.model_path;
  info->name = port->name;
  if (port->shape.rank > TENSOR_MAXIMUM_RANK)
    return error_set(err, STATUS_INPUT, what, path, "export the model with a shape for each input",
                     "input \"%s\" has no number of dimensions, or more than %d", port->name, TENSOR_MAXIMUM_RANK);
  for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
    if (types[i].tensorflow == port->type)
      info->type = types[i].type;
  if (info->type == 0)
    return error_set(err, STATUS_INPUT, what, path, "export the model with plain tensors as inputs",
                     "input \"%s\" is of a type that cannot be fed (number %" PRIu32 ")", port->name, port->type);
  info->rank = port->shape.rank;
  for (unsigned i = 0; i < info->rank; i++)
    info->shape[i] = port->shape.size[i];
  return STATUS_OK;
}

static enum status find_output(struct state *state, const struct tensorflow_port *port, struct tf_output *ret_output,
                               struct error *err)
{
  *ret_output = (struct tf_output){state->tf.GraphOperationByName(state->graph, port->node), port->index};
  if (ret_output->operation != NULL && port->index >= 0 &&
      port->index < state->tf.OperationNumOutputs(ret_output->operation))
    return STATUS_OK;
  return error_set(err, STATUS_INPUT, "cannot open model", state->options.model_path, "export the model again",
                   "its graph has no output %d of a node \"%s\", which \"%s\" is said to be", port->index, port->node,
                   port->name);
}

static enum status make_interface(struct state *state, struct arena *arena, struct predictor_model *model,
                                  struct error *err)
{
  const struct tensorflow_model *read = &state->model;
  model->inputs = arena_alloc_array(arena, read->input_count + 1, sizeof *model->inputs);
  state->inputs = arena_alloc_array(arena, read->input_count + 1, sizeof *state->inputs);
  state->fed = arena_alloc_array(arena, read->input_count + 1, sizeof *state->fed);
  state->input_values = arena_alloc_array(arena, read->input_count + 1, sizeof *state->input_values);
  state->outputs = arena_alloc_array(arena, read->output_count + 1, sizeof *state->outputs);
  state->output_values = arena_alloc_array(arena, read->output_count + 1, sizeof *state->output_values);
  if (model->inputs == NULL || state->inputs == NULL || state->fed == NULL || state->input_values == NULL ||
      state->outputs == NULL || state->output_values == NULL)
    return model_no_memory(&state->options, err);
  for (size_t i = 0; i < read->input_count; i++) {
    XSP_TRY(read_input(state, &read->inputs[i], &model->inputs[i], err));
    XSP_TRY(find_output(state, &read->inputs[i], &state->inputs[i], err));
  }
  model->input_count = state->input_count = read->input_count;
  for (size_t i = 0; i < read->output_count; i++) {
    // A node of a frozen graph that gives nothing (a file it writes, a message) is no output.
    void *operation = state->tf.GraphOperationByName(state->graph, read->outputs[i].node);
    if (read->signature == NULL && operation != NULL && state->tf.OperationNumOutputs(operation) == 0)
      continue;
    XSP_TRY(find_output(state, &read->outputs[i], &state->outputs[state->output_count++], err));
  }
  return STATUS_OK;
}

// ---- session ---------------------------------------------------------------------------------------------------------

// ConfigProto: intra_op_parallelism_threads (2), graph_options (10) { rewrite_options (10) { remapping (14) = OFF (2) } }.
static enum status make_options(struct state *state, struct error *err)
{
  uint8_t config[32];
  size_t length = 0;
  if (state->options.threads != 0) {
    config[length++] = 2 << 3;
    for (unsigned rest = state->options.threads; rest != 0; rest >>= 7)
      config[length++] = (uint8_t)((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
  }
  if (state->options.unfused) {
    static const uint8_t apart[] = {0x52, 4, 0x52, 2, 0x70, 2};
    memcpy(config + length, apart, sizeof apart);
    length += sizeof apart;
  }
  state->session_options = state->tf.NewSessionOptions();
  if (state->session_options == NULL)
    return model_no_memory(&state->options, err);
  if (length > 0)
    state->tf.SetConfig(state->session_options, config, length, state->status);
  return take_status(state, "cannot set up a TensorFlow session", NULL, err);
}

static enum status make_session(struct state *state, const char *folder, const struct tf_buffer *bytes,
                                struct error *err)
{
  const char *what = "cannot open model", *advice = "export the model again, with the operators this version has";
  state->graph = state->tf.NewGraph();
  if (state->model.signature != NULL) {
    state->session =
        state->tf.LoadSessionFromSavedModel(state->session_options, NULL, folder, state->model.tags,
                                            (int)state->model.tag_count, state->graph, NULL, state->status);
    return take_status(state, what, advice, err);
  }
  void *options = state->tf.NewImportGraphDefOptions();
  state->tf.GraphImportGraphDef(state->graph, bytes, options, state->status);
  state->tf.DeleteImportGraphDefOptions(options);
  XSP_TRY(take_status(state, what, advice, err));
  state->session = state->tf.NewSession(state->graph, state->session_options, state->status);
  return take_status(state, what, advice, err);
}

// The folder of a SavedModel, also where its saved_model.pb was named; "" for a frozen graph. `file` is what is read.
static enum status find_files(const char *path, char *folder, char *file, struct error *err)
{
  const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
  int length = snprintf(file, PATH_MAX, "%s%s", path, is_folder(path) ? "/saved_model.pb" : "");
  if (length >= PATH_MAX)
    return error_set(err, STATUS_INPUT, "cannot open model", path, ADVICE_MODEL, "the path is too long");
  folder[0] = 0;
  if (is_folder(path))
    snprintf(folder, PATH_MAX, "%s", path);
  else if (strcmp(name, "saved_model.pb") == 0)
    snprintf(folder, PATH_MAX, "%.*s", name > path ? (int)(name - path) : 1, name > path ? path : ".");
  return STATUS_OK;
}

static enum status open_model(struct state *state, const char *folder, const struct tf_buffer *bytes,
                              struct arena *arena, struct predictor_model *model, struct error *err)
{
  const char *problem = NULL, *path = state->options.model_path;
  bool is_read = folder[0] != 0 ? tensorflow_saved_read(bytes->data, bytes->length, arena, &state->model, &problem)
                                : tensorflow_frozen_read(bytes->data, bytes->length, arena, &state->model, &problem);
  if (!is_read)
    return error_set(err, STATUS_INPUT, "cannot open model", path, ADVICE_MODEL, "%s", problem);
  XSP_TRY(open_library(state->options.library_path, state, err));
  model->framework = "tensorflow";
  model->framework_version = state->tf.Version();
  model->library_path = state->library.path;
  model->layer_source = "none";
  state->status = state->tf.NewStatus();
  if (state->status == NULL)
    return model_no_memory(&state->options, err);
  XSP_TRY(make_options(state, err));
  XSP_TRY(make_session(state, folder, bytes, err));
  XSP_TRY(make_interface(state, arena, model, err));
  if (!model_has_layers(&state->options))
    return STATUS_OK;
  model->layer_source = "run metadata";
  state->layers = tensorflow_layers_create(&state->model.graph, path);
  return state->layers != NULL ? STATUS_OK : model_no_memory(&state->options, err);
}

// ---- the predictor's functions ---------------------------------------------------------------------------------------

static void tensorflow_close(struct predictor_model *model);

static enum status open_state(const struct predictor_options *options, struct arena *arena,
                              struct predictor_model *model, struct error *err)
{
  struct state *state = model->state;
  state->options = *options;
  char folder[PATH_MAX], file[PATH_MAX];
  struct tf_buffer bytes = {0};
  XSP_TRY(find_files(options->model_path, folder, file, err));
  XSP_TRY(map_file(file, &bytes, err));
  enum status status = open_model(state, folder, &bytes, arena, model, err);
  unmap_file(&bytes);
  return status;
}

static enum status tensorflow_open(const struct predictor_options *options, struct arena *arena,
                                   struct predictor_model *ret_model, struct error *err)
{
  return model_open(options, arena, ret_model, sizeof(struct state), open_state, tensorflow_close, err);
}

static void keep(void *data, size_t length, void *unused)
{
  // the runner's memory
}

static size_t string_count(const struct tensor *tensor)
{
  return tensor->size_bytes / sizeof(const char *);
}

static void *make_strings(struct state *state, int type, const struct tensor *tensor)
{
  size_t count = string_count(tensor);
  void *made = state->tf.AllocateTensor(type, tensor->shape, (int)tensor->info->rank, count * sizeof(struct tf_string));
  struct tf_string *strings = made != NULL ? state->tf.TensorData(made) : NULL;
  for (size_t i = 0; strings != NULL && i < count; i++) {
    const char *text = ((const char *const *)tensor->data)[i];
    state->tf.StringInit(&strings[i]);
    state->tf.StringCopy(&strings[i], text, strlen(text));
  }
  return made;
}

static void release_fed(struct state *state, size_t number)
{
  void *tensor = state->fed[number].tensor;
  if (tensor == NULL)
    return;
  enum { STRING = 7 };
  if (state->model.inputs[number].type == STRING) { // the library frees the array, not what is in it
    struct tf_string *strings = state->tf.TensorData(tensor);
    for (size_t i = 0; i < state->tf.TensorByteSize(tensor) / sizeof *strings; i++)
      state->tf.StringDealloc(&strings[i]);
  }
  state->tf.DeleteTensor(tensor);
  state->fed[number].tensor = NULL;
}

// The tensor over an input's memory. It stays until the runner gives other memory or another shape: making one copies
// what does not lie as the library wants it, which is no part of an inference.
static enum status feed(struct state *state, size_t number, const struct tensor *tensor, struct error *err)
{
  struct fed *fed = &state->fed[number];
  size_t shape_bytes = tensor->info->rank * sizeof tensor->shape[0];
  if (fed->tensor != NULL && fed->from == tensor && fed->data == tensor->data &&
      memcmp(fed->shape, tensor->shape, shape_bytes) == 0)
    return STATUS_OK;
  release_fed(state, number);
  int type = (int)state->model.inputs[number].type;
  fed->tensor = tensor->info->type == TENSOR_STRING ? make_strings(state, type, tensor)
                                                    : state->tf.NewTensor(type, tensor->shape, (int)tensor->info->rank,
                                                                          tensor->data, tensor->size_bytes, keep, NULL);
  state->input_values[number] = fed->tensor;
  if (fed->tensor == NULL)
    return error_set(err, STATUS_MEMORY, "cannot make an input", state->options.model_path, NULL,
                     "TensorFlow makes no tensor for \"%s\"", tensor->info->name);
  fed->from = tensor;
  fed->data = tensor->data;
  memcpy(fed->shape, tensor->shape, shape_bytes);
  return STATUS_OK;
}

// RunOptions: trace_level (1) = FULL_TRACE (3); the first time also output_partition_graphs (5), which is the whole graph.
static const struct tf_buffer *run_options(const struct state *state)
{
  static const uint8_t traced[] = {0x08, 3}, with_graph[] = {0x08, 3, 0x28, 1};
  static const struct tf_buffer options[] = {{traced, sizeof traced, NULL}, {with_graph, sizeof with_graph, NULL}};
  if (state->layers == NULL)
    return NULL;
  return &options[tensorflow_layers_has_graph(state->layers) ? 0 : 1];
}

static enum status publish(struct state *state, struct error *err)
{
  if (state->pending == NULL)
    return STATUS_OK;
  struct tf_buffer *metadata = state->pending;
  state->pending = NULL;
  enum status status =
      tensorflow_layers_publish(state->layers, metadata->data, metadata->length, state->pending_span, err);
  state->tf.DeleteBuffer(metadata);
  return status;
}

static enum status tensorflow_predict(struct predictor_model *model, const struct tensor *inputs, struct error *err)
{
  struct state *state = model->state;
  for (size_t i = 0; i < state->input_count; i++)
    XSP_TRY(feed(state, i, &inputs[i], err));
  struct tf_buffer *metadata = state->layers != NULL ? state->tf.NewBuffer() : NULL;
  state->tf.SessionRun(state->session, run_options(state), state->inputs, state->input_values, (int)state->input_count,
                       state->outputs, state->output_values, (int)state->output_count, NULL, 0, metadata,
                       state->status);
  enum status status =
      take_status(state, "cannot run model", "other --dim or --input values, or export the model again", err);
  for (size_t i = 0; i < state->output_count; i++) {
    if (state->output_values[i] != NULL)
      state->tf.DeleteTensor(state->output_values[i]);
    state->output_values[i] = NULL;
  }
  if (metadata != NULL && status == STATUS_OK) {
    state->pending = metadata;
    state->pending_span = model->model_span;
  } else if (metadata != NULL) {
    state->tf.DeleteBuffer(metadata);
  }
  return status;
}

static enum status tensorflow_flush(struct predictor_model *model, struct error *err)
{
  return publish(model->state, err);
}

// Before each inference, outside every span: what the last one left is published, so that never more than one is kept.
static enum status tensorflow_resume(struct predictor_model *model, struct error *err)
{
  return publish(model->state, err);
}

static void tensorflow_close(struct predictor_model *model)
{
  struct state *state = model->state;
  if (state == NULL)
    return;
  if (state->pending != NULL)
    (void)publish(state, NULL);
  for (size_t i = 0; i < state->input_count; i++)
    release_fed(state, i);
  if (state->session != NULL) {
    state->tf.CloseSession(state->session, state->status);
    state->tf.DeleteSession(state->session, state->status);
  }
  if (state->graph != NULL)
    state->tf.DeleteGraph(state->graph);
  if (state->session_options != NULL)
    state->tf.DeleteSessionOptions(state->session_options);
  if (state->status != NULL)
    state->tf.DeleteStatus(state->status);
  tensorflow_layers_free(state->layers);
  free(state);
  model->state = NULL;
}

const struct predictor predictor_tensorflow = {
    .name = "tensorflow",
    .summary = "SavedModels and frozen graphs in TensorFlow 2.14 or later",
    .extensions = ".pb",
    .recognises = tensorflow_recognises,
    .untold = TENSORFLOW_UNTOLD,
    .has_unfused = true,
    .probe = tensorflow_probe,
    .open = tensorflow_open,
    .predict = tensorflow_predict,
    .flush = tensorflow_flush,
    .resume = tensorflow_resume,
    .close = tensorflow_close,
};
