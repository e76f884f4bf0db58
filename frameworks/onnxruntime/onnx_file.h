// SPDX-License-Identifier: Apache-2.0
// Where an .onnx file is damaged. ONNX Runtime says only that parsing failed; a walk over the protobuf's own lengths
// finds the part that is cut. Used to word errors; no model is read with it.
#ifndef XSP_FRAMEWORKS_ONNXRUNTIME_ONNX_FILE_H
#define XSP_FRAMEWORKS_ONNXRUNTIME_ONNX_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Field numbers of onnx.proto that more than one reader needs.
enum { ONNX_MODEL_GRAPH = 7, ONNX_GRAPH_NODE = 1, ONNX_GRAPH_INITIALIZER = 5 };

// Writes "byte 1234 (graph, initializer 7): …" into `place` where the bytes are no whole ONNX model. False: no damage
// in the structure.
bool onnx_damage(const uint8_t *bytes, size_t size, char *place, size_t place_size);
// The same for a file; false also where it cannot be read.
bool onnx_file_damage(const char *path, char *place, size_t place_size);

#endif
