// SPDX-License-Identifier: Apache-2.0
// Protobuf's wire format, one message at a time, as far as .onnx files need it. Called by onnx_file.c and onnx_windows.c on
// files of anybody: never reads beyond what it was given.
#include "predictors/onnx_wire.h"

static bool fail(struct onnx_walk *walk, size_t at, const char *problem)
{
  walk->problem = problem;
  walk->problem_at = at;
  return false;
}

bool onnx_varint(struct onnx_walk *walk, uint64_t *ret_value)
{
  size_t start = walk->at;
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (walk->at == walk->end)
      return fail(walk, start, "the file ends inside a number");
    uint8_t byte = walk->bytes[walk->at++];
    value |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80) {
      *ret_value = value;
      return true;
    }
  }
  return fail(walk, start, "a number is too long");
}

bool onnx_next_field(struct onnx_walk *walk, struct onnx_field *ret_field)
{
  if (walk->at == walk->end)
    return false;
  ret_field->start = walk->at;
  uint64_t tag = 0, length = 0;
  if (!onnx_varint(walk, &tag))
    return false;
  ret_field->number = tag >> 3;
  ret_field->wire = tag & 7;
  if (ret_field->number == 0)
    return fail(walk, ret_field->start, "no ONNX model: a field without a number");
  size_t payload = walk->at;
  switch (ret_field->wire) {
  case ONNX_WIRE_VARINT:
    if (!onnx_varint(walk, &length))
      return false;
    length = walk->at - payload;
    walk->at = payload;
    break;
  case ONNX_WIRE_64:
    length = 8;
    break;
  case ONNX_WIRE_32:
    length = 4;
    break;
  case ONNX_WIRE_BYTES:
    if (!onnx_varint(walk, &length))
      return false;
    break;
  default:
    return fail(walk, ret_field->start, "no ONNX model: an unknown kind of field");
  }
  if (length > SIZE_MAX / 2)
    return fail(walk, ret_field->start, "a length is absurd");
  ret_field->length = (size_t)length;
  return true;
}

bool onnx_inside(const struct onnx_walk *walk, const struct onnx_field *field)
{
  return field->length <= walk->end - walk->at;
}
