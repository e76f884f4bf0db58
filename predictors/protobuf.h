// SPDX-License-Identifier: Apache-2.0
// Protobuf's wire format, field by field, over bytes of anybody: never reads beyond them, never recurses, allocates nothing.
#ifndef XSP_PREDICTORS_PROTOBUF_H
#define XSP_PREDICTORS_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PROTOBUF_VARINT = 0, PROTOBUF_64 = 1, PROTOBUF_BYTES = 2, PROTOBUF_32 = 5 };

struct protobuf { // one message
  const uint8_t *at, *end;
  const char *problem; // NULL: none so far
};
struct protobuf_field {
  uint64_t number;
  unsigned wire;
  uint64_t value;       // varint, 64 or 32 bits
  const uint8_t *bytes; // PROTOBUF_BYTES: text or a message
  size_t length;
};

// False at the message's end, and where it is damaged: then `problem` says how.
bool protobuf_next(struct protobuf *message, struct protobuf_field *ret_field);

static inline struct protobuf protobuf_over(const void *bytes, size_t length)
{
  const uint8_t *start = length > 0 ? bytes : (const uint8_t *)"";
  return (struct protobuf){start, start + length, NULL};
}

static inline struct protobuf protobuf_inside(const struct protobuf_field *field)
{
  return protobuf_over(field->bytes, field->length);
}

static inline bool protobuf_is(const struct protobuf_field *field, uint64_t number, unsigned wire)
{
  return field->number == number && field->wire == wire;
}

#endif
