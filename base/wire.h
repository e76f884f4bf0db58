// SPDX-License-Identifier: Apache-2.0
// Protobuf's wire format, read from memory that may be hostile: never beyond it, no recursion, no allocation. Used by
// the importer of OTLP, for which the whole of it is the hot path, hence inline; and, field by field (wire_next), by the
// predictors on models and on what a framework hands over.
#ifndef XSP_BASE_WIRE_H
#define XSP_BASE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_GROUP = 3, WIRE_FIXED32 = 5 };
#define WIRE_GROUPS_MOST 100u // in each other: the limit of protobuf's own readers
#define WIRE_KEY(field, type) ((uint64_t)(field) << 3 | (uint64_t)(type))

struct wire { // a message, or what is left of it
  const char *at, *end;
  const char *problem; // static text; sticky
};

static inline struct wire wire_over(const void *bytes, size_t length)
{
  const char *start = length > 0 ? bytes : "";
  return (struct wire){start, start + length, NULL};
}

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
    return wire_fail(wire, "it ends inside a number");
  memcpy(ret_value, wire->at, 8); // x86-64 and aarch64 are little-endian, as the format is
  wire->at += 8;
  return true;
}

static inline bool wire_fixed32(struct wire *wire, uint64_t *ret_value)
{
  uint32_t value;
  if (wire->end - wire->at < 4)
    return wire_fail(wire, "it ends inside a number");
  memcpy(&value, wire->at, 4);
  wire->at += 4;
  *ret_value = value;
  return true;
}

extern const char wire_cut[]; // the problem of a field that is longer than what it lies in

// A length and that many bytes.
static inline bool wire_bytes(struct wire *wire, const char **ret_bytes, size_t *ret_length)
{
  uint64_t length;
  if (!wire_varint(wire, &length))
    return false;
  if (length > (uint64_t)(wire->end - wire->at))
    return wire_fail(wire, wire_cut);
  *ret_bytes = wire->at;
  *ret_length = (size_t)length;
  wire->at += length;
  return true;
}

// The value of an unknown field, also a group: all up to its end.
bool wire_skip(struct wire *wire, uint64_t key);

// ---- field by field --------------------------------------------------------------------------------------------------

struct wire_field {
  uint64_t number;
  enum wire_type type;
  uint64_t value;    // of a number; of WIRE_BYTES: their length, also where they are cut
  const char *start; // of the field, at its key
  const char *bytes; // WIRE_BYTES: text, a message, or numbers one after the other; where they are cut: what is there
  size_t length;
};

// False at the message's end, where it is damaged and at a group: then `problem` says how, and ret_field->start where.
bool wire_next(struct wire *wire, struct wire_field *ret_field);

// wire_next for loops over millions of small messages: numbers and bytes whose key is one byte cost no call. `start` is not set,
// `bytes` and `length` for WIRE_BYTES only.
static inline bool wire_next_quick(struct wire *wire, struct wire_field *ret_field)
{
  const char *start = wire->at;
  unsigned key = start < wire->end && wire->problem == NULL ? (unsigned char)*start : 0;
  if (key < WIRE_KEY(1, 0) || key >= 0x80 || ((key & 7) != WIRE_VARINT && (key & 7) != WIRE_BYTES))
    return wire_next(wire, ret_field);
  wire->at++;
  if (!wire_varint(wire, &ret_field->value))
    return false;
  ret_field->number = key >> 3;
  ret_field->type = (enum wire_type)(key & 7);
  if (ret_field->type == WIRE_VARINT)
    return true;
  if (ret_field->value > (uint64_t)(wire->end - wire->at)) {
    wire->at = start;
    return wire_next(wire, ret_field);
  }
  ret_field->bytes = wire->at;
  ret_field->length = (size_t)ret_field->value;
  wire->at += ret_field->length;
  return true;
}

static inline struct wire wire_inside(const struct wire_field *field)
{
  return wire_over(field->bytes, field->length);
}

static inline bool wire_is(const struct wire_field *field, uint64_t number, enum wire_type type)
{
  return field->number == number && field->type == type;
}

// How many fields of `number` with bytes the rest of a message has.
static inline size_t wire_count(struct wire message, uint64_t number)
{
  struct wire_field field;
  size_t count = 0;
  while (wire_next(&message, &field))
    count += wire_is(&field, number, WIRE_BYTES);
  return count;
}

// Reads on to the next field of `number` and `type`. False as wire_next.
static inline bool wire_find(struct wire *wire, uint64_t number, enum wire_type type, struct wire_field *ret_field)
{
  while (wire_next(wire, ret_field))
    if (wire_is(ret_field, number, type))
      return true;
  return false;
}

#endif
