// SPDX-License-Identifier: Apache-2.0
// Decompresses bodies that may be hostile: the output is bounded, and so is the memory that a zstd frame may ask for. Called by
// request.c and by a fuzz target.
#include "serve/body.h"

#include "base/memory.h"

#include <strings.h>
#include <zlib.h>
#include <zstd.h>

#define STEP_BYTES ((size_t)64 << 10)
#define WINDOW_LOG_MOST 23 // 8 MiB: what RFC 8878 asks of decoders, and level 19 uses

enum body_coding body_coding_of(const char *header)
{
  if (header == NULL || header[0] == 0 || strcasecmp(header, "identity") == 0)
    return BODY_PLAIN;
  if (strcasecmp(header, "gzip") == 0 || strcasecmp(header, "x-gzip") == 0)
    return BODY_GZIP;
  return strcasecmp(header, "zstd") == 0 ? BODY_ZSTD : BODY_UNKNOWN;
}

// Room for a step more: at most one byte beyond the limit, which shows that there is more.
static size_t make_room(struct buf *out, size_t limit)
{
  size_t room = limit + 1 - out->length < STEP_BYTES ? limit + 1 - out->length : STEP_BYTES;
  return buf_reserve(out, room) ? room : 0;
}

static enum body_result expand_gzip(struct slice from, size_t limit, struct buf *out)
{
  z_stream stream = {.next_in = (Bytef *)from.data, .avail_in = (uInt)from.length};
  if (inflateInit2(&stream, 15 + 16) != Z_OK) // gzip's header and nothing else
    memory_exhausted();
  enum body_result result = BODY_BROKEN;
  for (;;) {
    size_t room = make_room(out, limit);
    stream.next_out = (Bytef *)out->data + out->length;
    stream.avail_out = (uInt)room;
    int status = inflate(&stream, Z_NO_FLUSH);
    out->length += room - stream.avail_out;
    if (out->length > limit) {
      result = BODY_TOO_LARGE;
      break;
    }
    if (status == Z_STREAM_END && stream.avail_in == 0) {
      result = BODY_DONE;
      break;
    }
    if (status == Z_STREAM_END) // several members are one file
      status = inflateReset(&stream);
    if (status != Z_OK) // also Z_BUF_ERROR: it ends too early
      break;
  }
  inflateEnd(&stream);
  return result;
}

static enum body_result expand_zstd(struct slice from, size_t limit, struct buf *out)
{
  ZSTD_DCtx *context = ZSTD_createDCtx();
  if (context == NULL)
    memory_exhausted();
  ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, WINDOW_LOG_MOST);
  ZSTD_inBuffer input = {from.data, from.length, 0};
  enum body_result result = BODY_BROKEN;
  for (;;) {
    size_t room = make_room(out, limit), before = input.pos;
    ZSTD_outBuffer output = {out->data + out->length, room, 0};
    size_t left = ZSTD_decompressStream(context, &output, &input);
    out->length += output.pos;
    if (ZSTD_isError(left))
      break;
    if (out->length > limit) {
      result = BODY_TOO_LARGE;
      break;
    }
    if (left == 0 && input.pos == input.size) {
      result = BODY_DONE;
      break;
    }
    if (output.pos == 0 && input.pos == before) // it ends within a frame
      break;
  }
  ZSTD_freeDCtx(context);
  return result;
}

enum body_result body_expand(enum body_coding coding, struct slice from, size_t limit, struct buf *out)
{
  return coding == BODY_GZIP ? expand_gzip(from, limit, out) : expand_zstd(from, limit, out);
}
