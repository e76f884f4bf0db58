// SPDX-License-Identifier: Apache-2.0
// Column codec: residuals, byte planes, zstd. The loops over values are in chunk_kernels. Called by the writer and by the
// column cache. Decoding trusts nothing: the checksum finds accidents, the bounds checks find malice. Must not allocate
// after chunk_codec_create.
//
//   values      v0 v1 v2 …                      (int64, widened)
//   residuals   v - minimum, or zigzag(v - previous), whichever needs fewer bits in a sample
//   planes      byte 0 of all residuals | byte 1 of all | … only as many as the largest residual needs
//
// Planes rather than varints: splitting vectorises, a plane that never changes costs nothing, and zstd sees bytes of one
// kind side by side.
#include "store/chunk.h"

#include "base/memory.h"
#include "store/chunk_private.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define VERSION 1u
#define HEAD_BYTES 24u
#define PLANE_BYTES 8u // per plane, after the head
#define ZSTD_LEVEL 1
#define SAMPLE 2048u

enum transform { TRANSFORM_PLAIN = 0, TRANSFORM_DELTA = 1 };
enum plane_mode { PLANE_CONSTANT = 0, PLANE_RAW = 1, PLANE_ZSTD = 2 };

// Little-endian on disk.
struct head {
  uint8_t version, type, transform, planes;
  uint32_t rows;
  uint64_t base;     // PLAIN: the minimum; DELTA: what precedes the first value
  uint64_t checksum; // of everything else: head with this field zero, plane table, data
};
struct plane {
  uint8_t mode, constant;
  uint16_t zero;
  uint32_t size; // stored bytes
};
_Static_assert(sizeof(struct head) == HEAD_BYTES && sizeof(struct plane) == PLANE_BYTES, "layout on disk");
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the file's integers are little-endian; this machine needs byte swaps here"
#endif

struct chunk_codec {
  const struct chunk_kernels *kernels;
  ZSTD_CCtx *compressor;
  ZSTD_DCtx *decompressor;
  size_t blob_size;
  uint8_t plane[CHUNK_PLANES_MAXIMUM][CHUNK_ROWS_MAXIMUM];
  uint8_t blob[]; // room for the largest chunk
};

size_t chunk_type_size(enum chunk_type type)
{
  return type == CHUNK_INT64 ? 8 : type == CHUNK_UINT32 ? 4 : 1;
}

struct chunk_codec *chunk_codec_create(void)
{
  size_t blob_size = HEAD_BYTES + CHUNK_PLANES_MAXIMUM * (PLANE_BYTES + ZSTD_compressBound(CHUNK_ROWS_MAXIMUM));
  struct chunk_codec *codec = memory_resize(NULL, 1, sizeof *codec + blob_size);
  codec->kernels = chunk_kernels_at(0);
  codec->blob_size = blob_size;
  codec->compressor = ZSTD_createCCtx();
  codec->decompressor = ZSTD_createDCtx();
  if (codec->compressor == NULL || codec->decompressor == NULL)
    memory_exhausted();
  return codec;
}

void chunk_codec_free(struct chunk_codec *codec)
{
  if (codec == NULL)
    return;
  ZSTD_freeCCtx(codec->compressor);
  ZSTD_freeDCtx(codec->decompressor);
  free(codec);
}

// Four lanes of multiply and xor over 8-byte words: finds any accident, runs at memory speed.
static uint64_t checksum(const uint8_t *data, size_t size)
{
  const uint64_t factor = UINT64_C(0x9e3779b97f4a7c15);
  uint64_t lane[4] = {size, size ^ factor, size + 1, ~(uint64_t)size};
  while (size >= 32) {
    uint64_t word[4];
    memcpy(word, data, 32);
    for (int i = 0; i < 4; i++) {
      lane[i] = (lane[i] ^ word[i]) * factor;
      lane[i] ^= lane[i] >> 29;
    }
    data += 32;
    size -= 32;
  }
  for (; size > 0; size--, data++) {
    lane[0] = (lane[0] ^ *data) * factor;
    lane[0] ^= lane[0] >> 29;
  }
  uint64_t sum = 0;
  for (int i = 0; i < 4; i++) {
    sum = (sum ^ lane[i]) * factor;
    sum ^= sum >> 32;
  }
  return sum;
}

// ---- encode ----------------------------------------------------------------------------------------------------------
static unsigned bit_length(uint64_t value)
{
  return value == 0 ? 0 : 64 - (unsigned)__builtin_clzll(value);
}

static uint64_t value_at(enum chunk_type type, const void *values, uint32_t i)
{
  return type == CHUNK_INT64    ? ((const uint64_t *)values)[i]
         : type == CHUNK_UINT32 ? ((const uint32_t *)values)[i]
                                : ((const uint8_t *)values)[i];
}

// Bits that either transform would need, over evenly spread pairs of neighbours.
static enum transform choose_transform(enum chunk_type type, const void *values, uint32_t count, uint64_t minimum)
{
  uint32_t step = count / SAMPLE + 1;
  uint64_t plain_bits = 0;
  uint64_t delta_bits = 0;
  for (uint32_t i = 1; i < count; i += step) {
    uint64_t value = value_at(type, values, i);
    plain_bits += bit_length(value - minimum);
    delta_bits += bit_length(chunk_zigzag(value - value_at(type, values, i - 1)));
  }
  return delta_bits < plain_bits ? TRANSFORM_DELTA : TRANSFORM_PLAIN;
}

// Whether compressing is hopeless: bytes evenly spread in a sample, and zstd finds nothing in the first part either.
static bool looks_random(struct chunk_codec *codec, const uint8_t *plane, uint32_t count, uint8_t *room,
                         size_t room_size)
{
  if (count < 4 * SAMPLE)
    return false;
  uint32_t counts[256] = {0};
  uint32_t step = count / SAMPLE;
  for (uint32_t i = 0; i < SAMPLE; i++)
    counts[plane[i * step]]++;
  uint64_t squares = 0;
  for (unsigned i = 0; i < 256; i++)
    squares += (uint64_t)counts[i] * counts[i];
  if (squares > SAMPLE + SAMPLE / 4 + (uint64_t)SAMPLE * SAMPLE / 256)
    return false;
  size_t size = ZSTD_compressCCtx(codec->compressor, room, room_size, plane, 4 * SAMPLE, ZSTD_LEVEL);
  return !ZSTD_isError(size) && size > 4 * SAMPLE - SAMPLE / 8;
}

// Appends one plane at `out`; returns its size.
static size_t put_plane(struct chunk_codec *codec, const uint8_t *plane, uint32_t count, uint8_t *out, size_t room,
                        struct plane *ret_entry)
{
  *ret_entry = (struct plane){0};
  if (memcmp(plane, plane + 1, count - 1) == 0) {
    ret_entry->mode = PLANE_CONSTANT;
    ret_entry->constant = plane[0];
    return 0;
  }
  size_t size = count;
  if (!looks_random(codec, plane, count, out, room)) {
    size = ZSTD_compressCCtx(codec->compressor, out, room, plane, count, ZSTD_LEVEL);
    if (ZSTD_isError(size)) // `room` is large enough, so zstd found no memory
      memory_exhausted();
  }
  ret_entry->mode = PLANE_ZSTD;
  if (size >= count) {
    ret_entry->mode = PLANE_RAW;
    size = count;
    memcpy(out, plane, count);
  }
  ret_entry->size = (uint32_t)size;
  return size;
}

// The head, and the planes that follow it.
struct layout {
  struct head head;
  const uint8_t *planes[CHUNK_PLANES_MAXIMUM];
};

// Columns of one value are common (category, tracer, flags) and bytes are planes already: both skip the general way.
static void lay_out(struct chunk_codec *codec, enum chunk_type type, const void *values, uint32_t count,
                    struct layout *layout, struct chunk_blob *blob)
{
  size_t width = chunk_type_size(type);
  layout->head = (struct head){VERSION, (uint8_t)type, TRANSFORM_PLAIN, 0, count, 0, 0};
  if (memcmp(values, (const char *)values + width, (count - 1) * width) == 0) {
    layout->head.base = value_at(type, values, 0);
    blob->minimum = blob->maximum = (int64_t)layout->head.base;
    return;
  }
  if (type == CHUNK_UINT8) {
    const uint8_t *bytes = values;
    uint8_t minimum = bytes[0], maximum = bytes[0];
    for (uint32_t i = 1; i < count; i++) {
      minimum = bytes[i] < minimum ? bytes[i] : minimum;
      maximum = bytes[i] > maximum ? bytes[i] : maximum;
    }
    blob->minimum = minimum;
    blob->maximum = maximum;
    layout->head.planes = 1;
    layout->planes[0] = bytes;
    return;
  }
  struct chunk_survey survey;
  codec->kernels->survey(type, values, count, &survey);
  blob->minimum = survey.minimum;
  blob->maximum = survey.maximum;
  uint64_t base = (uint64_t)survey.minimum;
  enum transform transform = choose_transform(type, values, count, base);
  uint64_t bits = (uint64_t)survey.maximum - base;
  if (transform == TRANSFORM_DELTA) { // as if the first step also preceded the first value
    base = 2 * value_at(type, values, 0) - value_at(type, values, 1);
    bits = survey.step_bits;
  }
  unsigned planes = (bit_length(bits) + 7) / 8;
  codec->kernels->split(type, values, count, transform == TRANSFORM_DELTA, base, planes, codec->plane[0]);
  layout->head.transform = (uint8_t)transform;
  layout->head.planes = (uint8_t)planes;
  layout->head.base = base;
  for (unsigned k = 0; k < planes; k++)
    layout->planes[k] = codec->plane[k];
}

void chunk_encode(struct chunk_codec *codec, enum chunk_type type, const void *values, uint32_t count,
                  struct chunk_blob *ret_blob)
{
  struct layout layout;
  struct plane table[CHUNK_PLANES_MAXIMUM];
  lay_out(codec, type, values, count, &layout, ret_blob);
  unsigned planes = layout.head.planes;
  uint8_t *out = codec->blob + HEAD_BYTES + planes * PLANE_BYTES;
  for (unsigned k = 0; k < planes; k++) {
    size_t room = codec->blob_size - (size_t)(out - codec->blob);
    out += put_plane(codec, layout.planes[k], count, out, room, &table[k]);
  }
  memcpy(codec->blob + HEAD_BYTES, table, planes * PLANE_BYTES);
  memcpy(codec->blob, &layout.head, HEAD_BYTES);
  ret_blob->data = codec->blob;
  ret_blob->size = (size_t)(out - codec->blob);
  layout.head.checksum = checksum(codec->blob, ret_blob->size);
  memcpy(codec->blob, &layout.head, HEAD_BYTES);
}

// ---- decode ----------------------------------------------------------------------------------------------------------
static uint64_t checksum_without_field(const uint8_t *data, size_t size, struct chunk_codec *codec)
{
  memcpy(codec->blob, data, size);
  memset(codec->blob + offsetof(struct head, checksum), 0, sizeof(uint64_t));
  return checksum(codec->blob, size);
}

static const char *read_head(struct chunk_codec *codec, enum chunk_type type, const uint8_t *data, size_t size,
                             uint32_t count, struct head *ret_head, struct plane *ret_table)
{
  if (size < HEAD_BYTES || size > codec->blob_size)
    return "its size is impossible";
  memcpy(ret_head, data, HEAD_BYTES);
  if (ret_head->version != VERSION)
    return "its coding is of an unknown version";
  if (ret_head->type != type || ret_head->rows != count || count == 0 || count > CHUNK_ROWS_MAXIMUM)
    return "its type or row count does not match";
  if (ret_head->transform > TRANSFORM_DELTA || ret_head->planes > CHUNK_PLANES_MAXIMUM ||
      size < HEAD_BYTES + ret_head->planes * PLANE_BYTES)
    return "its head is broken";
  if (checksum_without_field(data, size, codec) != ret_head->checksum)
    return "its checksum does not match";
  memcpy(ret_table, data + HEAD_BYTES, ret_head->planes * PLANE_BYTES);
  return NULL;
}

static const char *read_plane(struct chunk_codec *codec, const struct plane *entry, const uint8_t *data, size_t size,
                              uint32_t count, uint8_t *plane)
{
  if (entry->size > size)
    return "a plane ends after the chunk";
  switch (entry->mode) {
  case PLANE_CONSTANT:
    if (entry->size != 0)
      return "a constant plane has data";
    return NULL; // chunk_decode adds it to all residuals
  case PLANE_RAW:
    if (entry->size != count)
      return "a plane has the wrong size";
    memcpy(plane, data, count);
    return NULL;
  case PLANE_ZSTD:
    if (ZSTD_decompressDCtx(codec->decompressor, plane, count, data, entry->size) != count)
      return "a plane does not decompress";
    return NULL;
  default:
    return "a plane has an unknown mode";
  }
}

const char *chunk_decode(struct chunk_codec *codec, enum chunk_type type, const uint8_t *data, size_t size,
                         uint32_t count, void *ret_values)
{
  struct head head;
  struct plane table[CHUNK_PLANES_MAXIMUM];
  const char *why = read_head(codec, type, data, size, count, &head, table);
  if (why != NULL)
    return why;
  const uint8_t *at = data + HEAD_BYTES + head.planes * PLANE_BYTES;
  const uint8_t *end = data + size;
  for (unsigned k = 0; k < head.planes; k++) {
    why = read_plane(codec, &table[k], at, (size_t)(end - at), count, codec->plane[k]);
    if (why != NULL)
      return why;
    at += table[k].size;
  }
  if (at != end)
    return "bytes follow its last plane";
  if (type == CHUNK_UINT8 && head.transform == TRANSFORM_PLAIN && head.base == 0 && head.planes == 1 &&
      table[0].mode != PLANE_CONSTANT) {
    memcpy(ret_values, codec->plane[0], count);
    return NULL;
  }
  uint64_t constant = 0;
  unsigned used = 0;
  for (unsigned k = 0; k < head.planes; k++) {
    if (table[k].mode == PLANE_CONSTANT)
      constant |= (uint64_t)table[k].constant << (8 * k);
    else
      used |= 1u << k;
  }
  bool fits = codec->kernels->merge(type, codec->plane[0], head.planes, used, constant,
                                    head.transform == TRANSFORM_DELTA, head.base, count, ret_values);
  return fits ? NULL : "a value is out of range";
}

bool chunk_is_zero(struct chunk_codec *codec, enum chunk_type type, const uint8_t *data, size_t size, uint32_t count)
{
  struct head head;
  struct plane table[CHUNK_PLANES_MAXIMUM];
  return size == HEAD_BYTES && read_head(codec, type, data, size, count, &head, table) == NULL && head.planes == 0 &&
         head.transform == TRANSFORM_PLAIN && head.base == 0;
}

bool chunk_is_counting(struct chunk_codec *codec, const uint8_t *data, size_t size, uint32_t count, int64_t *ret_first)
{
  struct head head;
  struct plane table[CHUNK_PLANES_MAXIMUM];
  if (read_head(codec, CHUNK_INT64, data, size, count, &head, table) != NULL)
    return false;
  if (head.transform != TRANSFORM_DELTA || head.planes != 1 || table[0].mode != PLANE_CONSTANT ||
      table[0].constant != (uint8_t)chunk_zigzag(1) || table[0].size != 0 || size != HEAD_BYTES + PLANE_BYTES)
    return false;
  *ret_first = (int64_t)(head.base + 1);
  return true;
}

// Residuals are differences to the base, or to what precedes the first value: either way the base alone moves.
void chunk_shift(uint8_t *data, size_t size, int64_t offset)
{
  uint64_t base;
  if (size < HEAD_BYTES)
    return;
  memcpy(&base, data + offsetof(struct head, base), sizeof base);
  base += (uint64_t)offset;
  memcpy(data + offsetof(struct head, base), &base, sizeof base);
  chunk_seal(data, size);
}

void chunk_seal(uint8_t *data, size_t size)
{
  if (size < HEAD_BYTES)
    return;
  memset(data + offsetof(struct head, checksum), 0, sizeof(uint64_t));
  uint64_t sum = checksum(data, size);
  memcpy(data + offsetof(struct head, checksum), &sum, sizeof sum);
}
