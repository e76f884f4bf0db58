// SPDX-License-Identifier: Apache-2.0
// Protobuf's wire format, writing side. Used by the export to Perfetto. Pure.
#include "base/wire_write.h"

#include <string.h>

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2 };

static void put_varint(struct buf *out, uint64_t value)
{
  unsigned char bytes[10];
  size_t count = 0;
  while (value >= 0x80) {
    bytes[count++] = (unsigned char)(value | 0x80);
    value >>= 7;
  }
  bytes[count++] = (unsigned char)value;
  buf_put(out, bytes, count);
}

static void put_key(struct buf *out, unsigned field, enum wire_type type)
{
  put_varint(out, (uint64_t)field << 3 | (uint64_t)type);
}

void protobuf_varint(struct buf *out, unsigned field, uint64_t value)
{
  put_key(out, field, WIRE_VARINT);
  put_varint(out, value);
}

void protobuf_fixed64(struct buf *out, unsigned field, uint64_t value)
{
  unsigned char bytes[8];
  for (size_t i = 0; i < sizeof bytes; i++)
    bytes[i] = (unsigned char)(value >> 8 * i);
  put_key(out, field, WIRE_FIXED64);
  buf_put(out, bytes, sizeof bytes);
}

void protobuf_double(struct buf *out, unsigned field, double value)
{
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  protobuf_fixed64(out, field, bits);
}

void protobuf_bytes(struct buf *out, unsigned field, const void *bytes, size_t length)
{
  put_key(out, field, WIRE_BYTES);
  put_varint(out, length);
  buf_put(out, bytes, length);
}

size_t protobuf_begin(struct buf *out, unsigned field)
{
  put_key(out, field, WIRE_BYTES);
  size_t place = out->length;
  buf_put(out, "", 1);
  return place;
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
