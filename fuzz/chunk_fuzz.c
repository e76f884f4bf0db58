// SPDX-License-Identifier: Apache-2.0
// Column chunks: byte 0 chooses the type and whether the checksum is corrected first, bytes 1-2 the row count; the rest
// is a blob to decode. A decoded chunk must survive encoding again. The same bytes as values must round-trip.
#include "store/chunk.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct chunk_codec *codec;

static void require(int truth)
{
  if (!truth)
    abort();
}

static void check_round_trip(enum chunk_type type, const void *values, uint32_t count)
{
  size_t bytes = count * chunk_type_size(type);
  void *back = malloc(bytes);
  struct chunk_blob blob;
  chunk_encode(codec, type, values, count, &blob);
  uint8_t *copy = malloc(blob.size);
  memcpy(copy, blob.data, blob.size);
  require(chunk_decode(codec, type, copy, blob.size, count, back) == NULL);
  require(memcmp(back, values, bytes) == 0);
  free(copy);
  free(back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  if (size < 3)
    return 0;
  if (codec == NULL)
    codec = chunk_codec_create();
  enum chunk_type type = CHUNK_INT64 + data[0] % 3;
  uint32_t count = (data[1] | (uint32_t)data[2] << 8) + 1;
  size_t blob_size = size - 3;
  uint8_t *blob = malloc(blob_size + 1); // of its own, so that reading past its end shows
  memcpy(blob, data + 3, blob_size);
  if (data[0] & 0x80)
    chunk_seal(blob, blob_size);
  void *values = malloc(count * chunk_type_size(type));
  int64_t first;
  bool is_counting = type == CHUNK_INT64 && chunk_is_counting(codec, blob, blob_size, count, &first);
  bool is_good = chunk_decode(codec, type, blob, blob_size, count, values) == NULL;
  require(is_good || !is_counting);
  if (is_good)
    check_round_trip(type, values, count);
  for (uint32_t i = 0; is_counting && i < count; i++)
    require((uint64_t)((int64_t *)values)[i] == (uint64_t)first + i);
  size_t rows = blob_size / chunk_type_size(type);
  if (rows > 0)
    check_round_trip(type, blob, rows < CHUNK_ROWS_MAXIMUM ? (uint32_t)rows : CHUNK_ROWS_MAXIMUM);
  free(values);
  free(blob);
  return 0;
}
