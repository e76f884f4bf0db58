// SPDX-License-Identifier: Apache-2.0
// Protobuf's wire format, read from memory that nobody vouches for. Private to collect. Inline: the whole of it is the
// hot path of everything that comes as protobuf.
#ifndef XSP_COLLECT_IMPORTERS_WIRE_H
#define XSP_COLLECT_IMPORTERS_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };
#define WIRE_KEY(field, type) ((uint64_t)(field) << 3 | (uint64_t)(type))

struct wire { // a message, or what is left of it
  const char *at, *end;
  const char *problem; // static text; sticky
};

static inline bool wire_fail(struct wire *wire, const char *problem)
{
  if (wire->problem == NULL)
    wire->problem = problem;
  return false;
}

bool wire_long_varint(struct wire *wire, uint64_t *ret_value); // of two bytes and more

static inline bool wire_varint(struct wire *wire, uint64_t *ret_value)
{
  if (wire->at < wire->end && (signed char)*wire->at >= 0) {
    *ret_value = (unsigned char)*wire->at++;
    return true;
  }
  return wire_long_varint(wire, ret_value);
}

static inline bool wire_fixed64(struct wire *wire, uint64_t *ret_value)
{
  if (wire->end - wire->at < 8)
    return wire_fail(wire, "it ends within a fixed64");
  memcpy(ret_value, wire->at, 8); // x86-64 and aarch64 are little-endian, as the format is
  wire->at += 8;
  return true;
}

// A length and that many bytes.
static inline bool wire_bytes(struct wire *wire, const char **ret_bytes, size_t *ret_length)
{
  uint64_t length;
  if (!wire_varint(wire, &length))
    return false;
  if (length > (uint64_t)(wire->end - wire->at))
    return wire_fail(wire, "a field is longer than what it lies in");
  *ret_bytes = wire->at;
  *ret_length = (size_t)length;
  wire->at += length;
  return true;
}

// The value of a field that nobody knows.
bool wire_skip(struct wire *wire, uint64_t key);
bool wire_is_utf8(const char *text, size_t length);

// Nearly all texts of traces are. Loads that overlap instead of a loop over the rest.
static inline bool wire_is_ascii(const char *text, size_t length)
{
  uint64_t seen = 0;
  uint64_t word;
  uint32_t half, other;
  if (length >= 8) {
    const char *last = text + length - 8;
    for (; text < last; text += 8) {
      memcpy(&word, text, 8);
      seen |= word;
    }
    memcpy(&word, last, 8);
    return ((seen | word) & UINT64_C(0x8080808080808080)) == 0;
  }
  if (length >= 4) {
    memcpy(&half, text, 4);
    memcpy(&other, text + length - 4, 4);
    return ((half | other) & UINT32_C(0x80808080)) == 0;
  }
  for (size_t i = 0; i < length; i++)
    seen |= (unsigned char)text[i];
  return seen < 0x80;
}

#endif
