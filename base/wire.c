// SPDX-License-Identifier: Apache-2.0
// The rarer parts of reading protobuf's wire format; see wire.h.
#include "base/wire.h"

const char wire_cut[] = "a part is longer than what is there";

bool wire_long_varint(struct wire *wire, uint64_t *ret_value)
{
  uint64_t value = 0;
  const char *at = wire->at;
  for (unsigned shift = 0; shift < 70; shift += 7) {
    if (at == wire->end)
      return wire_fail(wire, "it ends inside a number");
    unsigned char byte = (unsigned char)*at++;
    value |= shift < 63 ? (uint64_t)(byte & 0x7f) << shift : (uint64_t)(byte & 1) << 63;
    if (byte < 0x80) {
      wire->at = at;
      *ret_value = value;
      return true;
    }
  }
  return wire_fail(wire, "a number is too long");
}

static bool key_is_good(struct wire *wire, uint64_t key)
{
  return (key >> 3 != 0 && key <= UINT32_MAX) || wire_fail(wire, "a field has no number");
}

static bool skip_value(struct wire *wire, uint64_t key)
{
  uint64_t number;
  const char *bytes;
  size_t length;
  switch (key & 7) {
  case WIRE_VARINT:
    return wire_varint(wire, &number);
  case WIRE_FIXED64:
    return wire_fixed64(wire, &number);
  case WIRE_BYTES:
    return wire_bytes(wire, &bytes, &length);
  case WIRE_FIXED32:
    return wire_fixed32(wire, &number);
  default:
    return wire_fail(wire, "a field is of an unknown kind");
  }
}

// A group is the fields up to the key that ends it, which has the same number.
bool wire_skip(struct wire *wire, uint64_t key)
{
  uint32_t open[WIRE_GROUPS_MOST]; // keys that end the groups around
  size_t depth = 0;
  for (;;) {
    if (!key_is_good(wire, key))
      return false;
    if (depth > 0 && key == open[depth - 1])
      depth--;
    else if ((key & 7) != WIRE_GROUP && !skip_value(wire, key))
      return false;
    else if ((key & 7) == WIRE_GROUP && depth == WIRE_GROUPS_MOST)
      return wire_fail(wire, "groups are nested deeper than 100");
    else if ((key & 7) == WIRE_GROUP)
      open[depth++] = (uint32_t)(key + 1);
    if (depth == 0)
      return true;
    if (wire->at == wire->end)
      return wire_fail(wire, "it ends inside a group");
    if (!wire_varint(wire, &key))
      return false;
  }
}

bool wire_next(struct wire *wire, struct wire_field *ret_field)
{
  *ret_field = (struct wire_field){.start = wire->at};
  uint64_t key;
  if (wire->problem != NULL || wire->at == wire->end || !wire_varint(wire, &key) || !key_is_good(wire, key))
    return false;
  ret_field->number = key >> 3;
  ret_field->type = (enum wire_type)(key & 7);
  switch (key & 7) {
  case WIRE_VARINT:
    return wire_varint(wire, &ret_field->value);
  case WIRE_FIXED64:
    return wire_fixed64(wire, &ret_field->value);
  case WIRE_FIXED32:
    return wire_fixed32(wire, &ret_field->value);
  case WIRE_BYTES: {
    if (!wire_varint(wire, &ret_field->value))
      return false;
    uint64_t there = (uint64_t)(wire->end - wire->at);
    ret_field->bytes = wire->at;
    ret_field->length = (size_t)(ret_field->value < there ? ret_field->value : there);
    if (ret_field->value > there)
      return wire_fail(wire, wire_cut);
    wire->at += ret_field->length;
    return true;
  }
  default: // also groups, which no format has that is read so
    return wire_fail(wire, "a field is of an unknown kind");
  }
}
