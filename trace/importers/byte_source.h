// SPDX-License-Identifier: Apache-2.0
// A file's bytes in order, decompressed on the way: layers over a file descriptor, each known by its first bytes.
//
//      file ─▶ gzip or zstd ─▶ gzip or zstd ─▶ caller          (either, both or none of the two)
//
// Private to input.c. One thread at a time. Memory is bounded: 256 KiB a layer plus the decompressor's own window; so is
// time: no layer of compression takes in more than what it may give out, and a little.
#ifndef XSP_IMPORTERS_BYTE_SOURCE_H
#define XSP_IMPORTERS_BYTE_SOURCE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct byte_layer;

struct byte_source {
  struct byte_layer *top; // owned
  const char *path;       // borrowed
  uint64_t limit_bytes;   // of what comes out at the end
  int fd;                 // owned
  bool is_compressed;
  bool is_regular; // a regular file: has a size, can be opened again
  uint64_t size;   // of a regular file as it lies there
};

// STATUS_INPUT: missing, unreadable, a folder, or broken where its first bytes are decompressed. STATUS_SYSTEM: a signal
// came while nothing did.
enum status byte_source_open(const char *path, uint64_t limit_bytes, struct byte_source *ret_source,
                             struct error *err) MUST_CHECK;
// Fills `to` up to `room` bytes; fewer only at the end of the file. STATUS_INPUT: broken or truncated compression.
enum status byte_source_read(struct byte_source *source, char *to, size_t room, size_t *ret_got,
                             struct error *err) MUST_CHECK;
// Passes over `bytes` without reading them, or over none: how many.
uint64_t byte_source_pass_over(struct byte_source *source, uint64_t bytes);
void byte_source_close(struct byte_source *source); // {0} with fd -1, and closed ones, are fine

// ---- read_ahead.c: a thread that reads a bounded number of bytes ahead, so that decompression runs next to parsing
struct read_ahead;
// The source belongs to the thread until read_ahead_stop has returned. NULL: no thread to be had.
struct read_ahead *read_ahead_start(struct byte_source *source);
// As byte_source_read: the same bytes, then the same error.
enum status read_ahead_read(struct read_ahead *ahead, char *to, size_t room, size_t *ret_got,
                            struct error *err) MUST_CHECK;
void read_ahead_stop(struct read_ahead *ahead); // waits for the thread; NULL is fine

#endif
