// SPDX-License-Identifier: Apache-2.0
// A flatbuffer in memory that may be hostile: every offset is checked before it is followed. Used by what reads models of LiteRT, in
// traced programs, too, and by the importer of ETDump.
#ifndef XSP_BASE_FLATBUFFER_H
#define XSP_BASE_FLATBUFFER_H

#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct flatbuffer {
  const unsigned char *bytes;
  size_t size;
  bool is_broken; // sticky
};

static inline bool flatbuffer_has(struct flatbuffer *flat, size_t at, size_t length)
{
  bool is_in = at <= flat->size && length <= flat->size - at;
  flat->is_broken = flat->is_broken || !is_in;
  return is_in;
}

static inline uint32_t flatbuffer_word(struct flatbuffer *flat, size_t at)
{
  uint32_t word = 0;
  if (flatbuffer_has(flat, at, sizeof word))
    memcpy(&word, flat->bytes + at, sizeof word);
  return word;
}

static inline unsigned flatbuffer_half(struct flatbuffer *flat, size_t at)
{
  uint16_t half = 0;
  if (flatbuffer_has(flat, at, sizeof half))
    memcpy(&half, flat->bytes + at, sizeof half);
  return half;
}

// The place of a table's field; 0: it is not there.
static inline size_t flatbuffer_field(struct flatbuffer *flat, size_t table, unsigned number)
{
  int64_t layout = (int64_t)table - (int32_t)flatbuffer_word(flat, table);
  if (table == 0 || layout < 0 || flat->is_broken)
    return 0;
  unsigned slot = 4 + 2 * number;
  bool is_there = slot + 2 <= flatbuffer_half(flat, (size_t)layout);
  unsigned offset = is_there ? flatbuffer_half(flat, (size_t)layout + slot) : 0;
  return offset != 0 ? table + offset : 0;
}

static inline size_t flatbuffer_follow(struct flatbuffer *flat, size_t at)
{
  return at == 0 ? 0 : at + flatbuffer_word(flat, at);
}

struct flatbuffer_vector {
  size_t first, count;
};

static inline struct flatbuffer_vector flatbuffer_vector_of(struct flatbuffer *flat, size_t table, unsigned number,
                                                            size_t element_size)
{
  size_t at = flatbuffer_follow(flat, flatbuffer_field(flat, table, number));
  size_t count = at == 0 ? 0 : flatbuffer_word(flat, at);
  if (count > 0 && (count > flat->size / element_size || !flatbuffer_has(flat, at + 4, count * element_size))) {
    flat->is_broken = true;
    return (struct flatbuffer_vector){0, 0};
  }
  return (struct flatbuffer_vector){at + 4, count};
}

static inline size_t flatbuffer_table_in(struct flatbuffer *flat, struct flatbuffer_vector tables, size_t number)
{
  return number < tables.count ? flatbuffer_follow(flat, tables.first + 4 * number) : 0;
}

static inline int32_t flatbuffer_int32(struct flatbuffer *flat, size_t table, unsigned number)
{
  size_t at = flatbuffer_field(flat, table, number);
  return at == 0 ? 0 : (int32_t)flatbuffer_word(flat, at);
}

static inline int flatbuffer_int8(struct flatbuffer *flat, size_t table, unsigned number)
{
  size_t at = flatbuffer_field(flat, table, number);
  return at != 0 && flatbuffer_has(flat, at, 1) ? (int8_t)flat->bytes[at] : 0;
}

static inline int64_t flatbuffer_int64(struct flatbuffer *flat, size_t table, unsigned number)
{
  int64_t value = 0;
  size_t at = flatbuffer_field(flat, table, number);
  if (at != 0 && flatbuffer_has(flat, at, sizeof value))
    memcpy(&value, flat->bytes + at, sizeof value);
  return value;
}

static inline struct slice flatbuffer_text(struct flatbuffer *flat, size_t table, unsigned number)
{
  struct flatbuffer_vector text = flatbuffer_vector_of(flat, table, number, 1);
  return (struct slice){text.count > 0 ? (const char *)flat->bytes + text.first : "", text.count};
}

#endif
