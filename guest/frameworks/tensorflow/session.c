// SPDX-License-Identifier: Apache-2.0
// From the files of a TensorFlow model to a session, and what it takes and gives. Called by predictor.c. The files are read
// by ourselves first (model.c): other files are refused before the library is loaded.
#include "frameworks/tensorflow/state.h"

#include "base/memory.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define ADVICE_MODEL "give a SavedModel folder or a frozen graph (.pb)"
#define GRAPH_BYTES_MAXIMUM ((size_t)INT32_MAX) // of any protobuf message

enum tensor_type tensorflow_tensor_type(uint32_t type)
{
  static const enum tensor_type types[] = {
      [1] = TENSOR_FLOAT,   [2] = TENSOR_DOUBLE,   [3] = TENSOR_INT32,   [4] = TENSOR_UINT8,   [5] = TENSOR_INT16,
      [6] = TENSOR_INT8,    [7] = TENSOR_STRING,   [9] = TENSOR_INT64,   [10] = TENSOR_BOOL,   [14] = TENSOR_BFLOAT16,
      [17] = TENSOR_UINT16, [19] = TENSOR_FLOAT16, [22] = TENSOR_UINT32, [23] = TENSOR_UINT64,
  };
  return type < sizeof types / sizeof types[0] ? types[type] : 0;
}

// ---- the model's file -----------------------------------------------------------------------------------------------

static bool is_folder(const char *path)
{
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

bool tensorflow_recognises(const char *path)
{
  char inside[PATH_MAX];
  return is_folder(path) && snprintf(inside, sizeof inside, "%s/saved_model.pb", path) < (int)sizeof inside &&
         access(inside, F_OK) == 0;
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

// ---- inputs and outputs ---------------------------------------------------------------------------------------------

static enum status read_input(const struct tensorflow_state *state, const struct tensorflow_port *port,
                              struct tensor_info *info, struct error *err)
{
  const char *what = "cannot read the model's inputs", *path = state->common.options.model_path;
  info->name = port->name;
  if (port->shape.rank > TENSOR_MAXIMUM_RANK)
    return error_set(err, STATUS_INPUT, what, path, "export the model with a shape for each input",
                     "input \"%s\" has no number of dimensions, or more than %d", port->name, TENSOR_MAXIMUM_RANK);
  info->type = tensorflow_tensor_type(port->type);
  if (info->type == 0)
    return error_set(err, STATUS_INPUT, what, path, "export the model with plain tensors as inputs",
                     "input \"%s\" is of a type that cannot be fed (number %" PRIu32 ")", port->name, port->type);
  info->rank = port->shape.rank;
  for (unsigned i = 0; i < info->rank; i++)
    info->shape[i] = port->shape.size[i];
  return STATUS_OK;
}

// As far as the file has it: a frozen graph has no shapes of outputs, and types where the node has an attribute of that name.
static void read_output(const struct tensorflow_port *port, struct tensor_info *info)
{
  info->name = port->name;
  info->type = tensorflow_tensor_type(port->type);
  info->has_no_shape = port->shape.rank > TENSOR_MAXIMUM_RANK;
  info->rank = info->has_no_shape ? 0 : port->shape.rank;
  for (unsigned i = 0; i < info->rank; i++)
    info->shape[i] = port->shape.size[i];
}

static enum status find_output(struct tensorflow_state *state, const struct tensorflow_port *port,
                               struct tf_output *ret_output, struct error *err)
{
  *ret_output = (struct tf_output){state->tf.GraphOperationByName(state->graph, port->node), port->index};
  if (ret_output->operation != NULL && port->index >= 0 &&
      port->index < state->tf.OperationNumOutputs(ret_output->operation))
    return STATUS_OK;
  return error_set(err, STATUS_INPUT, "cannot open model", state->common.options.model_path, "export the model again",
                   "its graph has no output %d of a node \"%s\", which \"%s\" refers to", port->index, port->node,
                   port->name);
}

// Of a SavedModel the nodes are in functions, whose tensors cannot be fetched.
static enum status add_layers(struct tensorflow_state *state, struct arena *arena, struct predictor_model *model,
                              struct error *err)
{
  const struct tensorflow_model *read = &state->model;
  model->layer_types = arena_alloc_array(arena, read->layer_count + 1, sizeof *model->layer_types);
  for (size_t i = 0; i < read->layer_count; i++) {
    const struct tensorflow_port *port = &read->layers[i];
    void *operation = state->tf.GraphOperationByName(state->graph, port->node);
    if (operation == NULL || state->tf.OperationNumOutputs(operation) == 0)
      continue;
    read_output(port, &model->outputs[model->output_count + model->layer_output_count]);
    model->layer_types[model->layer_output_count++] =
        tensorflow_graph_find(&read->graph, port->node, strlen(port->node))->op;
    XSP_TRY(find_output(state, port, &state->outputs[state->output_count++], err));
  }
  return STATUS_OK;
}

static enum status make_interface(struct tensorflow_state *state, struct arena *arena, struct predictor_model *model,
                                  struct error *err)
{
  const struct tensorflow_model *read = &state->model;
  model->inputs = arena_alloc_array(arena, read->input_count + 1, sizeof *model->inputs);
  size_t outputs = read->output_count + read->layer_count;
  model->outputs = arena_alloc_array(arena, outputs + 1, sizeof *model->outputs);
  state->inputs = arena_alloc_array(arena, read->input_count + 1, sizeof *state->inputs);
  state->fed = arena_alloc_array(arena, read->input_count + 1, sizeof *state->fed);
  state->input_values = arena_alloc_array(arena, read->input_count + 1, sizeof *state->input_values);
  state->outputs = arena_alloc_array(arena, outputs + 1, sizeof *state->outputs);
  state->output_values = arena_alloc_array(arena, outputs + 1, sizeof *state->output_values);
  for (size_t i = 0; i < read->input_count; i++) {
    XSP_TRY(read_input(state, &read->inputs[i], &model->inputs[i], err));
    XSP_TRY(find_output(state, &read->inputs[i], &state->inputs[i], err));
  }
  model->input_count = state->input_count = read->input_count;
  for (size_t i = 0; i < read->output_count; i++) {
    // A node of a frozen graph that gives nothing (a file it writes, a message) is not an output.
    void *operation = state->tf.GraphOperationByName(state->graph, read->outputs[i].node);
    if (read->signature == NULL && operation != NULL && state->tf.OperationNumOutputs(operation) == 0)
      continue;
    read_output(&read->outputs[i], &model->outputs[model->output_count++]);
    XSP_TRY(find_output(state, &read->outputs[i], &state->outputs[state->output_count++], err));
  }
  return state->common.options.layer_outputs ? add_layers(state, arena, model, err) : STATUS_OK;
}

// ---- session --------------------------------------------------------------------------------------------------------

// ConfigProto: device_count (1) { key (1) = "GPU", value (2) = 0 }; gpu_options (6) { visible_device_list (5) = "N" }.
static size_t put_device(const struct framework_device *device, uint8_t *config)
{
  static const uint8_t no_gpu[] = {0x0a, 7, 0x0a, 3, 'G', 'P', 'U', 0x10, 0};
  if (device->kind == DEVICE_CPU)
    memcpy(config, no_gpu, sizeof no_gpu);
  if (device->kind != DEVICE_GPU || device->index < 0)
    return device->kind == DEVICE_CPU ? sizeof no_gpu : 0;
  uint8_t digits = (uint8_t)snprintf((char *)config + 4, 8, "%d", device->index);
  const uint8_t head[] = {0x32, (uint8_t)(digits + 2), 0x2a, digits};
  memcpy(config, head, sizeof head);
  return sizeof head + digits;
}

// ConfigProto: intra_op_parallelism_threads (2), graph_options (10) { rewrite_options (10) { remapping (14) = OFF (2) } }.
static enum status make_options(struct tensorflow_state *state, struct error *err)
{
  uint8_t config[64];
  size_t length = put_device(&state->common.device, config);
  if (state->common.options.threads != 0) {
    config[length++] = 2 << 3;
    for (unsigned rest = state->common.options.threads; rest != 0; rest >>= 7)
      config[length++] = (uint8_t)((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
  }
  if (state->common.options.unfused) {
    static const uint8_t apart[] = {0x52, 4, 0x52, 2, 0x70, 2};
    memcpy(config + length, apart, sizeof apart);
    length += sizeof apart;
  }
  state->session_options = state->tf.NewSessionOptions();
  if (state->session_options == NULL)
    memory_exhausted();
  if (length > 0)
    state->tf.SetConfig(state->session_options, config, length, state->status);
  return tensorflow_status(state, "cannot set up a TensorFlow session", NULL, err);
}

static enum status make_session(struct tensorflow_state *state, struct error *err)
{
  const char *what = "cannot open model", *advice = "export the model again, with the operators this version has";
  state->graph = state->tf.NewGraph();
  if (state->model.signature != NULL) {
    state->session =
        state->tf.LoadSessionFromSavedModel(state->session_options, NULL, state->folder, state->model.tags,
                                            (int)state->model.tag_count, state->graph, NULL, state->status);
    return tensorflow_status(state, what, advice, err);
  }
  void *options = state->tf.NewImportGraphDefOptions();
  const struct tf_buffer bytes = {state->file.bytes, state->file.size, NULL};
  state->tf.GraphImportGraphDef(state->graph, &bytes, options, state->status);
  state->tf.DeleteImportGraphDefOptions(options);
  XSP_TRY(tensorflow_status(state, what, advice, err));
  state->session = state->tf.NewSession(state->graph, state->session_options, state->status);
  return tensorflow_status(state, what, advice, err);
}

// Which devices TensorFlow has is known once there is a session. It places operators on the first that is not a CPU.
static enum status check_device(struct tensorflow_state *state, struct arena *arena, struct predictor_model *model,
                                struct error *err)
{
  const struct framework_device *device = &state->common.device;
  const char *wanted = device->kind == DEVICE_GPU ? "GPU" : device->kind == DEVICE_NAMED ? device->text : NULL;
  const char *present = "", *used = "CPU";
  bool is_there = wanted == NULL;
  void *list = state->tf.SessionListDevices(state->session, state->status);
  XSP_TRY(tensorflow_status(state, "cannot list TensorFlow's devices", NULL, err));
  for (int i = 0; i < state->tf.DeviceListCount(list); i++) {
    const char *type = state->tf.DeviceListType(list, i, state->status);
    if (type == NULL)
      continue;
    present = framework_device_list(arena, present, type);
    bool is_wanted = wanted != NULL && strcasecmp(type, wanted) == 0;
    is_there = is_there || is_wanted;
    if (is_wanted || (wanted == NULL && strcmp(used, "CPU") == 0))
      used = arena_copy(arena, type, strlen(type));
  }
  state->tf.DeleteDeviceList(list);
  if (!is_there)
    return framework_device_missing(device, "tensorflow", present, err);
  bool is_gpu = strcmp(used, "GPU") == 0;
  model->device = is_gpu ? arena_format(arena, "GPU:%d", device->index < 0 ? 0 : device->index) : used;
  model->device_class = is_gpu ? PREDICTOR_ON_CUDA : strcmp(used, "CPU") == 0 ? PREDICTOR_ON_CPU : PREDICTOR_ON_OTHER;
  return STATUS_OK;
}

enum status tensorflow_check(struct predictor_state *common, struct arena *arena, struct error *err)
{
  struct tensorflow_state *state = (struct tensorflow_state *)common;
  const char *problem = NULL, *path = common->options.model_path;
  char file[PATH_MAX];
  XSP_TRY(find_files(path, state->folder, file, err));
  XSP_TRY(predictor_map_file(file, SIZE_MAX, ADVICE_MODEL, &state->file, err));
  if (state->file.size > GRAPH_BYTES_MAXIMUM)
    return error_set(err, STATUS_INPUT, "cannot open model", path,
                     "a SavedModel, which keeps its constants in files of their own",
                     "it has %zu bytes, a graph at most %zu", state->file.size, GRAPH_BYTES_MAXIMUM);
  if (state->file.size == 0)
    return error_set(err, STATUS_INPUT, "cannot open model", path, ADVICE_MODEL, "the file is empty");
  bool is_read = (state->folder[0] != 0 ? tensorflow_saved_read : tensorflow_frozen_read)(
      state->file.bytes, state->file.size, arena, &state->model, &problem);
  return is_read ? STATUS_OK : error_set(err, STATUS_INPUT, "cannot open model", path, ADVICE_MODEL, "%s", problem);
}

enum status tensorflow_open(struct predictor_model *model, struct arena *arena, struct error *err)
{
  struct tensorflow_state *state = model->state;
  model->layer_source = "none";
  state->status = state->tf.NewStatus();
  if (state->status == NULL)
    memory_exhausted();
  XSP_TRY(make_options(state, err));
  XSP_TRY(make_session(state, err));
  XSP_TRY(check_device(state, arena, model, err));
  mapped_close(&state->file);
  XSP_TRY(make_interface(state, arena, model, err));
  if (!state->common.has_layers)
    return STATUS_OK;
  model->layer_source = "run metadata";
  state->layers = tensorflow_layers_create(&state->model.graph, state->common.options.model_path);
  return STATUS_OK;
}
