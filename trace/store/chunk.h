// SPDX-License-Identifier: Apache-2.0
// One column of one chunk as bytes: up to STORE_CHUNK_ROWS integers, delta-coded, split into byte planes, each plane
// constant, raw or zstd. Bytes: docs/format.md. Pure: no file, no SQL. A codec serves one thread at a time.
#ifndef XSP_STORE_CHUNK_H
#define XSP_STORE_CHUNK_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHUNK_ROWS_MAXIMUM 65536u

enum chunk_type { CHUNK_INT64 = 1, CHUNK_UINT32, CHUNK_UINT8 };
size_t chunk_type_size(enum chunk_type type);

struct chunk_codec; // scratch memory (about 2 MiB) and zstd contexts
struct chunk_codec *chunk_codec_create(void);
void chunk_codec_free(struct chunk_codec *codec); // NULL is fine

struct chunk_blob {
  const uint8_t *data; // borrowed from the codec until its next use
  size_t size;
  int64_t minimum, maximum;
};
// `count` values of `type` (1 … CHUNK_ROWS_MAXIMUM).
void chunk_encode(struct chunk_codec *codec, enum chunk_type type, const void *values, uint32_t count,
                  struct chunk_blob *ret_blob);
// Decodes exactly `count` values. NULL, or why the blob is broken (static text). Reads nothing outside `data`, writes
// nothing outside `ret_values`, allocates nothing.
const char *chunk_decode(struct chunk_codec *codec, enum chunk_type type, const uint8_t *data, size_t size,
                         uint32_t count, void *ret_values) MUST_CHECK;

// Whether the blob holds only zeros, without decoding it. A broken blob does not.
bool chunk_is_zero(struct chunk_codec *codec, enum chunk_type type, const uint8_t *data, size_t size, uint32_t count);
// Whether the blob holds first, first + 1, first + 2 …, without decoding it. A broken blob does not.
bool chunk_is_counting(struct chunk_codec *codec, const uint8_t *data, size_t size, uint32_t count, int64_t *ret_first);
// Adds `offset` to every value of an int64 blob that is known to be sound. The caller sees to it that none overflows.
void chunk_shift(uint8_t *data, size_t size, int64_t offset);
// Writes the checksum into a blob whose bytes were changed: for tests and fuzzing, which must get past it.
void chunk_seal(uint8_t *data, size_t size);

#endif
