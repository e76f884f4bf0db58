// SPDX-License-Identifier: Apache-2.0
// A walk over the fields of one protobuf message of an ONNX model.
#ifndef XSP_PREDICTORS_ONNX_WIRE_H
#define XSP_PREDICTORS_ONNX_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ONNX_MODEL_GRAPH = 7, ONNX_GRAPH_NODE = 1, ONNX_GRAPH_INITIALIZER = 5 };
enum { ONNX_WIRE_VARINT = 0, ONNX_WIRE_64 = 1, ONNX_WIRE_BYTES = 2, ONNX_WIRE_32 = 5 };

struct onnx_walk {
  const uint8_t *bytes;
  size_t at, end;
  const char *problem; // NULL: none so far
  size_t problem_at;
};
struct onnx_field {
  uint64_t number;
  unsigned wire;
  size_t start;  // of its tag
  size_t length; // of its payload, at walk.at
};

// Reads a tag and the payload's length; walk.at is then at the payload, which the caller moves over. False at the end or on
// damage.
bool onnx_next_field(struct onnx_walk *walk, struct onnx_field *ret_field);
bool onnx_inside(const struct onnx_walk *walk, const struct onnx_field *field); // the payload is all there
bool onnx_varint(struct onnx_walk *walk, uint64_t *ret_value);

#endif
