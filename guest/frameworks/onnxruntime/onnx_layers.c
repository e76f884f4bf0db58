// SPDX-License-Identifier: Apache-2.0
// Makes the tensors between layers of an .onnx file readable; see onnx.h. The copy is the file's own bytes and a second graph of
// outputs only: protobuf joins messages that occur twice. Called by the predictors of ONNX Runtime and OpenVINO while they open
// a model.
#include "frameworks/onnxruntime/onnx.h"

#include "base/interner.h"
#include "base/mapped.h"
#include "base/scoped.h"
#include "base/transfer.h"
#include "base/wire.h"
#include "base/wire_write.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { GRAPH_OUTPUT = 12, NODE_OUTPUT = 2, NODE_TYPE = 4, VALUE_NAME = 1 };
#define LAYERS_MOST 65536u
static const char what[] = "cannot read tensors between layers";

// ---- which tensors there are -----------------------------------------------------------------------------------------
struct walk {
  struct arena *arena;
  struct interner seen; // outputs of the model, and tensors that are in the list
  VECTOR(struct onnx_layer) layers;
};

static bool is_new(struct walk *walk, const struct wire_field *name)
{
  uint32_t before = interner_count(&walk->seen);
  return interner_at(&walk->seen, name->bytes, name->length) == before;
}

// Constants are no layers: they are the same in every inference.
static void read_node(struct walk *walk, struct wire node)
{
  struct wire search = node;
  struct wire_field field;
  const char *type = wire_find(&search, NODE_TYPE, WIRE_BYTES, &field) && field.length > 0
                         ? arena_copy(walk->arena, field.bytes, field.length)
                         : "";
  while (strcmp(type, "Constant") != 0 && walk->layers.count < LAYERS_MOST &&
         wire_find(&node, NODE_OUTPUT, WIRE_BYTES, &field))
    if (field.length > 0 && memchr(field.bytes, 0, field.length) == NULL && is_new(walk, &field))
      *vector_add(&walk->layers) = (struct onnx_layer){arena_copy(walk->arena, field.bytes, field.length), type};
}

static void read_graphs(struct walk *walk, struct wire model, uint64_t number)
{
  struct wire_field graph, field;
  while (wire_find(&model, ONNX_MODEL_GRAPH, WIRE_BYTES, &graph)) {
    struct wire inside = wire_inside(&graph);
    while (wire_find(&inside, number, WIRE_BYTES, &field)) {
      struct wire part = wire_inside(&field);
      if (number == ONNX_GRAPH_NODE)
        read_node(walk, part);
      else if (wire_find(&part, VALUE_NAME, WIRE_BYTES, &field))
        (void)is_new(walk, &field);
    }
  }
}

void onnx_layers_read(const uint8_t *bytes, size_t size, struct arena *arena, struct onnx_layers *ret_layers)
{
  struct walk walk = {.arena = arena};
  read_graphs(&walk, wire_over(bytes, size), GRAPH_OUTPUT);
  *ret_layers = (struct onnx_layers){.output_count = interner_count(&walk.seen)};
  read_graphs(&walk, wire_over(bytes, size), ONNX_GRAPH_NODE);
  ret_layers->count = walk.layers.count;
  ret_layers->items = arena_alloc_array(arena, walk.layers.count + 1, sizeof *ret_layers->items);
  if (walk.layers.count > 0)
    memcpy(ret_layers->items, walk.layers.items, walk.layers.count * sizeof *ret_layers->items);
  vector_done(&walk.layers);
  interner_done(&walk.seen);
}

// ---- the copy --------------------------------------------------------------------------------------------------------
static enum status write_file(const char *path, const void *bytes, size_t size, const struct buf *more,
                              struct error *err)
{
  int fd SCOPED(scoped_close) = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0)
    return error_set_errno(err, STATUS_SYSTEM, what, path, "set TMPDIR to a writable folder");
  if (!transfer_write(fd, bytes, size) || (more != NULL && !transfer_write(fd, more->data, more->length)))
    return error_set_errno(err, STATUS_SYSTEM, what, path, "room in TMPDIR for a copy of the model");
  return STATUS_OK;
}

struct weights { // files next to the model, which the copy needs next to it
  const char *model, *folder;
  enum status status;
  struct error *err;
};

// A link where both are on one file system, else a copy: runtimes refuse symbolic links that lead out of the model's folder.
static void take_weights(void *context, const char *name, size_t length)
{
  struct weights *weights = context;
  const char *slash = strrchr(weights->model, '/');
  char from[PATH_MAX], to[PATH_MAX];
  struct mapped file;
  int folder = slash != NULL ? (int)(slash + 1 - weights->model) : 0;
  if (weights->status != STATUS_OK)
    return;
  if (memchr(name, '/', length) != NULL)
    weights->status = error_set(weights->err, STATUS_INPUT, what, weights->model, "a model with its weights next to it",
                                "its weights are in a folder: %.*s", (int)length, name);
  else if (snprintf(from, sizeof from, "%.*s%.*s", folder, weights->model, (int)length, name) < (int)sizeof from &&
           snprintf(to, sizeof to, "%s/%.*s", weights->folder, (int)length, name) < (int)sizeof to &&
           access(to, F_OK) != 0 && link(from, to) != 0 && mapped_open(from, &file)) {
    weights->status = write_file(to, file.bytes, file.size, NULL, weights->err);
    mapped_close(&file);
  }
}

enum status onnx_file_layers(const char *path, const char *folder, struct arena *arena, const char **ret_copy,
                             struct onnx_layers *ret_layers, struct error *err)
{
  struct mapped file;
  XSP_TRY(predictor_map_file(path, SIZE_MAX, "the path of an .onnx file", &file, err));
  onnx_layers_read(file.bytes, file.size, arena, ret_layers);
  struct buf graph SCOPED(buf_done) = {0};
  size_t place = protobuf_begin(&graph, ONNX_MODEL_GRAPH);
  for (size_t i = 0; i < ret_layers->count; i++) {
    const char *name = ret_layers->items[i].name;
    size_t output = protobuf_begin(&graph, GRAPH_OUTPUT);
    protobuf_bytes(&graph, VALUE_NAME, name, strlen(name));
    protobuf_end(&graph, output);
  }
  protobuf_end(&graph, place);
  *ret_copy = arena_format(arena, "%s/layers.onnx", folder);
  enum status status = write_file(*ret_copy, file.bytes, file.size, &graph, err);
  struct weights weights = {.model = path, .folder = folder, .status = status, .err = err};
  if (status == STATUS_OK)
    onnx_external_files(file.bytes, file.size, take_weights, &weights);
  mapped_close(&file);
  return weights.status;
}

void onnx_layers_announce(struct predictor_model *model, const struct onnx_layers *layers, struct arena *arena)
{
  bool has_all = model->output_count == layers->output_count + layers->count;
  model->output_count = layers->output_count < model->output_count ? layers->output_count : model->output_count;
  if (!has_all)
    return;
  model->layer_output_count = layers->count;
  model->layer_types = arena_alloc_array(arena, layers->count + 1, sizeof *model->layer_types);
  for (size_t i = 0; i < layers->count; i++) {
    model->outputs[model->output_count + i].name = layers->items[i].name;
    model->layer_types[i] = layers->items[i].type;
  }
}
