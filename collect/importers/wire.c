// SPDX-License-Identifier: Apache-2.0
// The rarer parts of reading protobuf's wire format; see wire.h.
#include "collect/importers/wire.h"

#include "collect/importers/json_scan.h"

bool wire_long_varint(struct wire *wire, uint64_t *ret_value)
{
  uint64_t value = 0;
  const char *at = wire->at;
  for (unsigned shift = 0; shift < 70; shift += 7) {
    if (at == wire->end)
      return wire_fail(wire, "it ends within a number");
    unsigned char byte = (unsigned char)*at++;
    value |= shift < 63 ? (uint64_t)(byte & 0x7f) << shift : (uint64_t)(byte & 1) << 63;
    if (byte < 0x80) {
      wire->at = at;
      *ret_value = value;
      return true;
    }
  }
  return wire_fail(wire, "a number is longer than ten bytes");
}

bool wire_skip(struct wire *wire, uint64_t key)
{
  uint64_t number;
  const char *bytes;
  size_t length;
  if (key >> 3 == 0 || key > UINT32_MAX)
    return wire_fail(wire, "a field has no number");
  switch (key & 7) {
  case WIRE_VARINT:
    return wire_varint(wire, &number);
  case WIRE_FIXED64:
    return wire_fixed64(wire, &number);
  case WIRE_BYTES:
    return wire_bytes(wire, &bytes, &length);
  case WIRE_FIXED32:
    if (wire->end - wire->at < 4)
      return wire_fail(wire, "it ends within a fixed32");
    wire->at += 4;
    return true;
  case 3: // a group: OTLP never had any
    return wire_fail(wire, "a group is no part of OTLP");
  default:
    return wire_fail(wire, "a field has a wire type that does not exist");
  }
}

bool wire_is_utf8(const char *text, size_t length)
{
  return wire_is_ascii(text, length) || json_is_utf8(text, length);
}
