// SPDX-License-Identifier: Apache-2.0
// What xsp itself reads from .onnx files, over protobuf's wire format; models are run by ONNX Runtime alone. Any bytes may
// be given.
#ifndef XSP_FRAMEWORKS_ONNXRUNTIME_ONNX_H
#define XSP_FRAMEWORKS_ONNXRUNTIME_ONNX_H

#include "base/wire.h"
#include "frameworks/common/predictor.h"

// Field numbers of onnx.proto that more than one reader needs.
enum { ONNX_MODEL_GRAPH = 7, ONNX_GRAPH_NODE = 1, ONNX_GRAPH_INITIALIZER = 5 };

// ---- onnx_file.c: where a file is damaged. ONNX Runtime reports only that parsing failed.
// Writes "byte 1234 (graph, initializer 7): …" into `place` where the bytes are no whole ONNX model. False: no damage
// in the structure.
bool onnx_damage(const uint8_t *bytes, size_t size, char *place, size_t place_size);
// The same for a file; false also where it cannot be read.
bool onnx_file_damage(const char *path, char *place, size_t place_size);

// ---- onnx_external.c: which files next to a model have its weights. A damaged model has fewer.
void onnx_external_files(const void *bytes, size_t size, model_file_fn visit, void *context);
void onnx_file_external(const char *path, model_file_fn visit, void *context); // none where it cannot be read

// ---- onnx_windows.c: attributes of operators that no profile has and that counting their work needs
// Nodes of the model's own graph (not of its If and Loop bodies) of the types that have windows. False: damaged; what was
// found before the damage is valid. ONNX Runtime names a node's layer after the node, or, laid out anew in blocks of
// channels, "OUTPUT_nchwc".
bool onnx_windows(const uint8_t *bytes, size_t size, struct arena *arena, struct operator_window **ret_windows,
                  size_t *ret_count);
bool onnx_file_windows(const char *path, struct arena *arena, struct operator_window **ret_windows, size_t *ret_count);

// ---- onnx_sources.c: for each convolution that nodes of a graph may become, a layer "OUTPUT_nchwc", these nodes: "conv1, relu1"
typedef void (*onnx_source_fn)(void *context, const char *layer, const char *sources);
void onnx_sources(struct wire graph, struct arena *arena, onnx_source_fn visit, void *context);

// ---- onnx_layers.c: the tensors between layers of the model's own graph, in the order of its nodes
struct onnx_layer {
  const char *name, *type; // of the tensor; of the operator that makes it
};
struct onnx_layers {
  struct onnx_layer *items;
  size_t count;
  size_t output_count; // of the model's own outputs, which are not among them
};
// In `arena`. A damaged model has fewer.
void onnx_layers_read(const uint8_t *bytes, size_t size, struct arena *arena, struct onnx_layers *ret_layers);
// Writes a copy of the model into `folder` of which they are outputs, after its own, with its weights next to it. STATUS_INPUT:
// the model cannot be read; STATUS_SYSTEM: no room.
enum status onnx_file_layers(const char *path, const char *folder, struct arena *arena, const char **ret_copy,
                             struct onnx_layers *ret_layers, struct error *err) MUST_CHECK;
// Of a model opened as that copy: its last outputs are the tensors between layers, with these names and types; none, where the
// runtime has another number of outputs.
void onnx_layers_announce(struct predictor_model *model, const struct onnx_layers *layers, struct arena *arena);

#endif
