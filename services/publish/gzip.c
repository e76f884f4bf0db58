// SPDX-License-Identifier: Apache-2.0
// gzip by zlib, one call each way. Called by publish.c.
#include "publish/gzip.h"

#include "base/memory.h"

#include <limits.h>
#include <zlib.h>

#define GZIP_WINDOW (MAX_WBITS + 16)
#define MEMORY_LEVEL 8

bool gzip_pack(struct slice text, struct buf *out)
{
  z_stream stream = {.next_in = (Bytef *)text.data, .avail_in = (uInt)text.length};
  if (text.length > UINT_MAX / 2)
    return false;
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, GZIP_WINDOW, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
    memory_exhausted();
  size_t room = deflateBound(&stream, text.length);
  bool is_done = buf_reserve(out, room);
  if (is_done) {
    stream.next_out = (Bytef *)out->data + out->length;
    stream.avail_out = (uInt)room;
    is_done = deflate(&stream, Z_FINISH) == Z_STREAM_END;
    out->length += room - stream.avail_out;
  }
  deflateEnd(&stream);
  return is_done;
}

bool gzip_unpack(struct slice packed, size_t raw_length, struct buf *out)
{
  z_stream stream = {.next_in = (Bytef *)packed.data, .avail_in = (uInt)packed.length};
  if (packed.length > UINT_MAX || raw_length > UINT_MAX || !buf_reserve(out, raw_length))
    return false;
  if (inflateInit2(&stream, GZIP_WINDOW) != Z_OK)
    memory_exhausted();
  stream.next_out = (Bytef *)out->data + out->length;
  stream.avail_out = (uInt)raw_length;
  bool is_done = inflate(&stream, Z_FINISH) == Z_STREAM_END && stream.avail_out == 0;
  out->length += raw_length - stream.avail_out;
  inflateEnd(&stream);
  return is_done;
}
