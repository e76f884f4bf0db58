// SPDX-License-Identifier: Apache-2.0
// TensorFlow through its C API, opened at run time: SavedModel folders and frozen graphs. Called by the runner (open,
// predict, flush, resume, close) and by `xsp check` (probe). A model's files become a session in session.c. Layers
// come from RunMetadata, asked for where the session has the layer level, and published outside the model span. One thread,
// one model.
#include "frameworks/tensorflow/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- the library ----------------------------------------------------------------------------------------------------

static void set_environment(const struct predictor_state *state)
{
  setenv("TF_CPP_MIN_LOG_LEVEL", "3", 0); // errors that it would log come back as a status, too
  if (state->options.unfused)
    setenv("TF_ENABLE_ONEDNN_OPTS", "0", 1);
}

static enum status load(struct predictor_state *state, struct error *err)
{
  snprintf(state->version, sizeof state->version, "%s", ((struct tensorflow_state *)state)->tf.Version());
  return STATUS_OK;
}

static const struct library_function functions[] = {
#define X(result, name, parameters) {"TF_" #name, offsetof(struct tensorflow_state, tf.name), false},
    TENSORFLOW_FUNCTIONS(X)
#undef X
};
static const struct predictor_library library = {
    .names = {.name = "tensorflow",
              .sonames = (const char *const[]){"libtensorflow_cc.so.2", "libtensorflow.so.2", NULL},
              .package_glob = "tensorflow/libtensorflow_cc.so*",
              .advice = "pip install tensorflow-cpu, or --library tensorflow=PATH"},
    .expected = "TensorFlow 2",
    .functions = functions,
    .function_count = sizeof functions / sizeof functions[0],
    .set_environment = set_environment,
    .load = load,
};

// ---- errors ---------------------------------------------------------------------------------------------------------

// Length of the library's first sentence: hints at its own API and C++ stacks may follow.
static int sentence_length(const char *message)
{
  size_t length = strcspn(message, "\n");
  for (const char *end = strstr(message, ". "); end != NULL && end + 2 < message + length; end = strstr(end + 1, ". "))
    if (end[2] >= 'A' && end[2] <= 'Z') // not "[2] vs. [3]"
      length = (size_t)(end - message);
  return (int)length;
}

// The library's status as ours.
enum status tensorflow_status(const struct tensorflow_state *state, const char *what, const char *advice,
                              struct error *err)
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
  return error_set(err, is_memory ? STATUS_MEMORY : STATUS_INPUT, what, state->common.options.model_path, advice,
                   "%.*s", sentence_length(message), message);
}

// ---- predict --------------------------------------------------------------------------------------------------------

static void keep(void *data, size_t length, void *unused)
{
  // the runner's memory
}

static void *make_strings(struct tensorflow_state *state, int type, const struct tensor *tensor)
{
  size_t count = tensor->size_bytes / sizeof(const char *);
  void *made = state->tf.AllocateTensor(type, tensor->shape, (int)tensor->info->rank, count * sizeof(struct tf_string));
  struct tf_string *strings = made != NULL ? state->tf.TensorData(made) : NULL;
  for (size_t i = 0; strings != NULL && i < count; i++) {
    const char *text = ((const char *const *)tensor->data)[i];
    state->tf.StringInit(&strings[i]);
    state->tf.StringCopy(&strings[i], text, strlen(text));
  }
  return made;
}

static void release_fed(struct tensorflow_state *state, size_t number)
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
// data that is not aligned as the library wants, which is not part of an inference.
static enum status feed(struct tensorflow_state *state, size_t number, const struct tensor *tensor, struct error *err)
{
  struct tensorflow_fed *fed = &state->fed[number];
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
    return error_set(err, STATUS_MEMORY, "cannot make an input", state->common.options.model_path, NULL,
                     "TensorFlow makes no tensor for \"%s\"", tensor->info->name);
  fed->from = tensor;
  fed->data = tensor->data;
  memcpy(fed->shape, tensor->shape, shape_bytes);
  return STATUS_OK;
}

// RunOptions: trace_level (1) = SOFTWARE_TRACE (1), which times operators on the host; from HARDWARE_TRACE (2) on TensorFlow
// starts a tracer of the device too, whose cost belongs to kernels. The first time also output_partition_graphs (5), which is
// the whole graph.
static const struct tf_buffer *run_options(const struct tensorflow_state *state)
{
  static const uint8_t traced[] = {0x08, 1}, with_graph[] = {0x08, 1, 0x28, 1};
  static const struct tf_buffer options[] = {{traced, sizeof traced, NULL}, {with_graph, sizeof with_graph, NULL}};
  if (state->layers == NULL)
    return NULL;
  return &options[tensorflow_layers_has_graph(state->layers) ? 0 : 1];
}

// Also before each inference, outside every span: never more than one inference's metadata is kept.
static enum status tensorflow_flush(struct predictor_model *model, struct error *err)
{
  struct tensorflow_state *state = model->state;
  if (state->pending == NULL)
    return STATUS_OK;
  struct tf_buffer *metadata = state->pending;
  state->pending = NULL;
  enum status status =
      tensorflow_layers_publish(state->layers, metadata->data, metadata->length, state->pending_span, err);
  state->tf.DeleteBuffer(metadata);
  return status;
}

static void release_outputs(struct tensorflow_state *state)
{
  for (size_t i = 0; i < state->output_count; i++) {
    if (state->output_values[i] != NULL)
      state->tf.DeleteTensor(state->output_values[i]);
    state->output_values[i] = NULL;
  }
}

// A tensor may be a copy of the values before.
static enum status tensorflow_refresh(struct predictor_model *model, const struct tensor *inputs, struct error *err)
{
  struct tensorflow_state *state = model->state;
  for (size_t i = 0; i < state->input_count; i++) {
    release_fed(state, i);
    XSP_TRY(feed(state, i, &inputs[i], err));
  }
  return STATUS_OK;
}

static enum status tensorflow_predict(struct predictor_model *model, const struct tensor *inputs, struct error *err)
{
  struct tensorflow_state *state = model->state;
  release_outputs(state); // of the one before
  for (size_t i = 0; i < state->input_count; i++)
    XSP_TRY(feed(state, i, &inputs[i], err));
  struct tf_buffer *metadata = state->layers != NULL ? state->tf.NewBuffer() : NULL;
  state->tf.SessionRun(state->session, run_options(state), state->inputs, state->input_values, (int)state->input_count,
                       state->outputs, state->output_values, (int)state->output_count, NULL, 0, metadata,
                       state->status);
  enum status status =
      tensorflow_status(state, "cannot run model", "other --dim or --input values, or export the model again", err);
  if (!model->keep_outputs)
    release_outputs(state);
  if (metadata != NULL && status == STATUS_OK) {
    state->pending = metadata;
    state->pending_span = model->model_span;
  } else if (metadata != NULL) {
    state->tf.DeleteBuffer(metadata);
  }
  return status;
}

static enum status tensorflow_read_output(struct predictor_model *model, size_t number, struct tensor *ret_output,
                                          struct error *err)
{
  struct tensorflow_state *state = model->state;
  const void *value = state->output_values[number];
  state->read_output = model->outputs[number]; // the value has its type and shape
  *ret_output = (struct tensor){.info = &state->read_output};
  int rank = value != NULL ? state->tf.NumDims(value) : -1;
  if (rank < 0 || rank > TENSOR_MAXIMUM_RANK)
    return error_set(err, STATUS_INPUT, "cannot read an output", state->read_output.name, NULL,
                     value == NULL ? "the model made none" : "it has too many dimensions");
  state->read_output.type = tensorflow_tensor_type((uint32_t)state->tf.TensorType(value));
  state->read_output.rank = (unsigned)rank;
  for (int i = 0; i < rank; i++)
    ret_output->shape[i] = state->tf.Dim(value, i);
  ret_output->data = state->tf.TensorData(value);
  ret_output->size_bytes = state->tf.TensorByteSize(value);
  return STATUS_OK;
}

static void tensorflow_close(struct predictor_model *model)
{
  struct tensorflow_state *state = model->state;
  mapped_close(&state->file);
  (void)!tensorflow_flush(model, NULL);
  release_outputs(state);
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
}

const struct predictor predictor_tensorflow = {
    .name = "tensorflow",
    .summary = "SavedModels and frozen graphs in TensorFlow 2.14 or later",
    .extensions = ".pb",
    .recognises = tensorflow_recognises,
    .untold = TENSORFLOW_UNTOLD,
    .tells_outputs = true,
    .pinned_by = "TF_DETERMINISTIC_OPS, TF_CUDNN_DETERMINISTIC, TF_CUDNN_USE_AUTOTUNE",
    .has_devices = true,
    .has_unfused = true,
    .state_bytes = sizeof(struct tensorflow_state),
    .library = &library,
    .check = tensorflow_check,
    .open = tensorflow_open,
    .refresh = tensorflow_refresh,
    .predict = tensorflow_predict,
    .read_output = tensorflow_read_output,
    .flush = tensorflow_flush,
    .resume = tensorflow_flush,
    .close = tensorflow_close,
};
