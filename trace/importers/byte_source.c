// SPDX-License-Identifier: Apache-2.0
// Layers of decompression over a file descriptor; see byte_source.h. Reads with read(), never by mapping: files that
// another program cuts short meanwhile end early, they do not kill. Each layer pulls from the one below it.
#include "importers/byte_source.h"

#include "base/input_file.h"
#include "base/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#define LAYER_BYTES ((size_t)256 << 10)
#define LAYERS_MOST 2 // of compression

enum layer_kind { LAYER_FILE, LAYER_PLAIN, LAYER_GZIP, LAYER_ZSTD };

struct byte_layer {
  enum layer_kind kind;
  int fd;                   // LAYER_FILE
  const char *path;         // for errors
  struct byte_layer *below; // owned; NULL for LAYER_FILE
  char *buffer;             // LAYER_BYTES of what lies below, used in [at, length)
  size_t at, length;
  uint64_t buffer_offset; // of buffer[0] in the bytes below
  uint64_t limit_bytes;   // of the bytes below
  bool below_ended;
  bool in_member; // between the first and the last byte of a gzip member or zstd frame
  z_stream gzip;
  ZSTD_DStream *zstd;
};

static enum status layer_read(struct byte_layer *layer, char *to, size_t room, size_t *ret_got, struct error *err);

static void layer_free(struct byte_layer *layer)
{
  while (layer != NULL) {
    struct byte_layer *below = layer->below;
    if (layer->kind == LAYER_GZIP)
      inflateEnd(&layer->gzip);
    ZSTD_freeDStream(layer->zstd);
    free(layer->buffer);
    free(layer);
    layer = below;
  }
}

static const char *layer_name(const struct byte_layer *layer)
{
  return layer->kind == LAYER_GZIP ? "gzip" : "zstd";
}

static enum status broken(const struct byte_layer *layer, const char *why, struct error *err)
{
  char where[sizeof err->where];
  snprintf(where, sizeof where, "%s, compressed byte %" PRIu64, layer->path, layer->buffer_offset + layer->at);
  return error_set(err, STATUS_INPUT, "cannot import", where, "copying or recording the file again", "%s: %s",
                   layer_name(layer), why);
}

// A read that a signal ended: whoever catches signals without going on (SA_RESTART) wants it to end.
static enum status file_failed(const char *path, struct error *err)
{
  if (errno == EINTR)
    return error_set(err, STATUS_SYSTEM, "cannot import", path, "it again", "it was interrupted");
  return error_set_errno(err, STATUS_INPUT, "cannot import", path, NULL);
}

// Compression that gives nothing out, or little, could go on for ever: members that are empty, zeros after them, and all
// that within another layer that makes gigabytes of it. No program writes more than it was given, but for heads and ends.
static enum status too_much(const struct byte_layer *layer, struct error *err)
{
  char advice[64];
  snprintf(advice, sizeof advice, "--limit-bytes %" PRIu64,
           layer->limit_bytes > UINT64_MAX / 2 ? UINT64_MAX : layer->limit_bytes * 2);
  return error_set(err, STATUS_INPUT, "cannot import", layer->path, advice,
                   "its compressed form alone is more than %" PRIu64 " bytes, the limit for what is in it",
                   layer->limit_bytes);
}

// Called with an empty buffer only.
static enum status layer_refill(struct byte_layer *layer, struct error *err)
{
  layer->buffer_offset += layer->length;
  layer->at = layer->length = 0;
  XSP_TRY(layer_read(layer->below, layer->buffer, LAYER_BYTES, &layer->length, err));
  layer->below_ended = layer->length < LAYER_BYTES;
  uint64_t slack = LAYER_BYTES + layer->limit_bytes / 64;
  if (layer->kind != LAYER_PLAIN && layer->buffer_offset > layer->limit_bytes &&
      layer->buffer_offset - layer->limit_bytes > slack)
    return too_much(layer, err);
  return STATUS_OK;
}

static enum status file_read(struct byte_layer *layer, char *to, size_t room, size_t *ret_got, struct error *err)
{
  size_t got = 0;
  while (got < room) {
    ssize_t part = read(layer->fd, to + got, room - got);
    if (part == 0)
      break;
    if (part < 0)
      return file_failed(layer->path, err);
    got += (size_t)part;
  }
  *ret_got = got;
  return STATUS_OK;
}

static enum status plain_read(struct byte_layer *layer, char *to, size_t room, size_t *ret_got, struct error *err)
{
  size_t got = layer->length - layer->at < room ? layer->length - layer->at : room;
  memcpy(to, layer->buffer + layer->at, got);
  layer->at += got;
  *ret_got = got;
  if (got == room || layer->below_ended)
    return STATUS_OK;
  XSP_TRY(layer_read(layer->below, to + got, room - got, ret_got, err));
  layer->below_ended = *ret_got < room - got;
  *ret_got += got;
  return STATUS_OK;
}

// One step of inflate; zeros between and after members are padding, as for gzip(1).
static enum status gzip_step(struct byte_layer *layer, char *to, size_t room, size_t *ret_got, struct error *err)
{
  z_stream *gzip = &layer->gzip;
  *ret_got = 0;
  if (!layer->in_member) {
    while (layer->at < layer->length && layer->buffer[layer->at] == 0)
      layer->at++;
    if (layer->at == layer->length)
      return STATUS_OK;
    if (inflateReset(gzip) != Z_OK)
      return broken(layer, "cannot begin a member", err);
    layer->in_member = true;
  }
  gzip->next_in = (Bytef *)layer->buffer + layer->at;
  gzip->avail_in = (uInt)(layer->length - layer->at);
  gzip->next_out = (Bytef *)to;
  gzip->avail_out = room < UINT32_MAX ? (uInt)room : UINT32_MAX;
  uInt offered = gzip->avail_out;
  int code = inflate(gzip, Z_NO_FLUSH);
  layer->at = layer->length - gzip->avail_in;
  *ret_got = offered - gzip->avail_out;
  if (code == Z_MEM_ERROR)
    memory_exhausted();
  if (code == Z_STREAM_END)
    layer->in_member = false;
  else if (code != Z_OK && code != Z_BUF_ERROR)
    return broken(layer, gzip->msg != NULL ? gzip->msg : "broken data", err);
  return STATUS_OK;
}

static enum status zstd_step(struct byte_layer *layer, char *to, size_t room, size_t *ret_got, struct error *err)
{
  ZSTD_inBuffer in = {.src = layer->buffer, .size = layer->length, .pos = layer->at};
  ZSTD_outBuffer out = {.dst = to, .size = room};
  size_t code = ZSTD_decompressStream(layer->zstd, &out, &in);
  bool took = in.pos > layer->at;
  layer->at = in.pos;
  *ret_got = out.pos;
  if (ZSTD_isError(code))
    return broken(layer, ZSTD_getErrorName(code), err);
  if (took || out.pos > 0)
    layer->in_member = code != 0;
  return STATUS_OK;
}

static enum status decompress(struct byte_layer *layer, char *to, size_t room, size_t *ret_got, struct error *err)
{
  size_t got = 0;
  while (got < room) {
    size_t part = 0;
    if (layer->at == layer->length && !layer->below_ended)
      XSP_TRY(layer_refill(layer, err));
    bool drained = layer->at == layer->length && layer->below_ended;
    if (drained && !layer->in_member)
      break;
    XSP_TRY((layer->kind == LAYER_GZIP ? gzip_step : zstd_step)(layer, to + got, room - got, &part, err));
    got += part;
    if (drained && part == 0 && layer->in_member)
      return broken(layer, "the data is cut short", err);
  }
  *ret_got = got;
  return STATUS_OK;
}

static enum status layer_read(struct byte_layer *layer, char *to, size_t room, size_t *ret_got, struct error *err)
{
  *ret_got = 0;
  switch (layer->kind) {
  case LAYER_FILE:
    return file_read(layer, to, room, ret_got, err);
  case LAYER_PLAIN:
    return plain_read(layer, to, room, ret_got, err);
  case LAYER_GZIP:
  case LAYER_ZSTD:
    return decompress(layer, to, room, ret_got, err);
  }
  return STATUS_OK;
}

static enum layer_kind recognize(const char *head, size_t length)
{
  const unsigned char *byte = (const unsigned char *)head;
  if (length >= 2 && byte[0] == 0x1f && byte[1] == 0x8b)
    return LAYER_GZIP;
  if (length >= 4 && memcmp(byte, "\x28\xb5\x2f\xfd", 4) == 0)
    return LAYER_ZSTD;
  if (length >= 4 && (byte[0] & 0xf0) == 0x50 && memcmp(byte + 1, "\x2a\x4d\x18", 3) == 0) // a skippable frame
    return LAYER_ZSTD;
  return LAYER_PLAIN;
}

// A layer of the kind that the first bytes of source->top ask for, on top of it.
static enum status add_layer(struct byte_source *source, struct error *err)
{
  struct byte_layer *layer = memory_new(1, sizeof *layer);
  layer->kind = LAYER_PLAIN;
  layer->path = source->path;
  layer->limit_bytes = source->limit_bytes;
  layer->below = source->top;
  source->top = layer; // owned from here on, also where what follows fails
  layer->buffer = memory_new(1, LAYER_BYTES);
  XSP_TRY(layer_refill(layer, err));
  enum layer_kind kind = recognize(layer->buffer, layer->length);
  if (kind == LAYER_GZIP && inflateInit2(&layer->gzip, 15 + 16) != Z_OK)
    memory_exhausted();
  if (kind == LAYER_ZSTD && (layer->zstd = ZSTD_createDStream()) == NULL)
    memory_exhausted();
  layer->kind = kind;
  return STATUS_OK;
}

static enum status add_layers(struct byte_source *source, struct error *err)
{
  struct byte_layer *file = memory_new(1, sizeof *file);
  *file = (struct byte_layer){.kind = LAYER_FILE, .fd = source->fd, .path = source->path};
  source->top = file;
  for (int layers = 0; layers <= LAYERS_MOST; layers++) {
    XSP_TRY(add_layer(source, err));
    if (source->top->kind == LAYER_PLAIN)
      return STATUS_OK;
    source->is_compressed = true;
  }
  return error_set(err, STATUS_INPUT, "cannot import", source->path, "decompressing it first",
                   "it is compressed more than %d times over", LAYERS_MOST);
}

enum status byte_source_open(const char *path, uint64_t limit_bytes, struct byte_source *ret_source, struct error *err)
{
  struct stat facts;
  *ret_source = (struct byte_source){.path = path, .limit_bytes = limit_bytes, .fd = -1};
  XSP_TRY(input_file_open(path, INPUT_FILE_OR_PIPE, "cannot import", &ret_source->fd, &facts, err));
  ret_source->is_regular = S_ISREG(facts.st_mode);
  ret_source->size = ret_source->is_regular ? (uint64_t)facts.st_size : 0;
  enum status status = add_layers(ret_source, err);
  if (status != STATUS_OK)
    byte_source_close(ret_source);
  return status;
}

enum status byte_source_read(struct byte_source *source, char *to, size_t room, size_t *ret_got, struct error *err)
{
  return layer_read(source->top, to, room, ret_got, err);
}

uint64_t byte_source_pass_over(struct byte_source *source, uint64_t bytes)
{
  struct byte_layer *plain = source->top;
  uint64_t buffered = plain->length - plain->at;
  if (!source->is_regular || source->is_compressed || bytes <= buffered)
    return 0;
  off_t at = lseek(source->fd, 0, SEEK_CUR);
  if (at < 0 || (uint64_t)at > source->size || bytes - buffered > source->size - (uint64_t)at ||
      lseek(source->fd, (off_t)(bytes - buffered), SEEK_CUR) < 0)
    return 0;
  plain->at = plain->length;
  return bytes;
}

void byte_source_close(struct byte_source *source)
{
  layer_free(source->top);
  if (source->fd >= 0)
    close(source->fd);
  *source = (struct byte_source){.fd = -1};
}
