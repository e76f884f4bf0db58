// SPDX-License-Identifier: Apache-2.0
// Protobuf's wire format, writing side. Used by the export to Perfetto. Pure.
#include "base/wire_write.h"

#include <string.h>

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2 };

#define VARINT_BYTES 10 // at most

static inline char *write_varint(char *to, uint64_t value)
{
  for (; value >= 0x80; value >>= 7)
    *to++ = (char)(value | 0x80);
  *to++ = (char)value;
  return to;
}

static inline char *write_key(char *to, unsigned field, enum wire_type type)
{
  return write_varint(to, (uint64_t)field << 3 | (uint64_t)type);
}

void protobuf_varint(struct buf *out, unsigned field, uint64_t value)
{
  char *to = buf_room(out, 2 * VARINT_BYTES);
  if (to != NULL)
    buf_filled(out, write_varint(write_key(to, field, WIRE_VARINT), value));
}

void protobuf_fixed64(struct buf *out, unsigned field, uint64_t value)
{
  char *to = buf_room(out, VARINT_BYTES + sizeof value);
  if (to == NULL)
    return;
  to = write_key(to, field, WIRE_FIXED64);
  for (size_t i = 0; i < sizeof value; i++)
    *to++ = (char)(value >> 8 * i);
  buf_filled(out, to);
}

void protobuf_double(struct buf *out, unsigned field, double value)
{
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  protobuf_fixed64(out, field, bits);
}

void protobuf_bytes(struct buf *out, unsigned field, const void *bytes, size_t length)
{
  char *to = buf_room(out, 2 * VARINT_BYTES);
  if (to == NULL)
    return;
  buf_filled(out, write_varint(write_key(to, field, WIRE_BYTES), length));
  buf_put(out, bytes, length);
}

size_t protobuf_begin(struct buf *out, unsigned field)
{
  char *to = buf_room(out, VARINT_BYTES + 1);
  if (to == NULL)
    return out->length;
  to = write_key(to, field, WIRE_BYTES);
  *to = 0;
  buf_filled(out, to + 1);
  return out->length - 1;
}

void protobuf_end(struct buf *out, size_t place)
{
  size_t length = out->failed ? 0 : out->length - place - 1;
  size_t more = 0; // bytes of the length beyond the one that begin left room for
  while (length >> 7 * (more + 1) != 0)
    more++;
  if (!buf_reserve(out, more))
    return;
  char *start = out->data + place;
  memmove(start + 1 + more, start + 1, length);
  for (size_t i = 0; i <= more; i++)
    start[i] = (char)((length >> 7 * i & 0x7f) | (i < more ? 0x80 : 0));
  out->length += more;
  out->data[out->length] = 0;
}
