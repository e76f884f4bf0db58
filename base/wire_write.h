// SPDX-License-Identifier: Apache-2.0
// Writes protobuf messages into a buf: fields, and messages in messages. Inside this room only.
// A field fails where fewer than 20 bytes (of the longest key and number) are left to the buf's maximum, however short it is.
#ifndef XSP_BASE_WIRE_WRITE_H
#define XSP_BASE_WIRE_WRITE_H

#include "base/buf.h"

#include <stdint.h>

void protobuf_varint(struct buf *out, unsigned field, uint64_t value);
void protobuf_fixed64(struct buf *out, unsigned field, uint64_t value);
void protobuf_double(struct buf *out, unsigned field, double value);
void protobuf_bytes(struct buf *out, unsigned field, const void *bytes, size_t length);
// A message inside: what is put between begin and end is its content. Made for small messages: content of 128 bytes or
// more is moved once to make room for its length.
size_t protobuf_begin(struct buf *out, unsigned field); // returns the place that end needs
void protobuf_end(struct buf *out, size_t place);

#endif
