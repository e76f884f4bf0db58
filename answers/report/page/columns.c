// SPDX-License-Identifier: Apache-2.0
// Encodes the page's columns. Called by run.c and window.c; takes 16 bytes per span for the call.
#include "base/base64.h"
#include "report/page/spans.h"

#include <zlib.h>

#define GZIP_WINDOW (15 + 16) // zlib: a gzip head and tail

const char *const page_column_names[PAGE_COLUMNS] = {
    [PAGE_GAP] = "gap",       [PAGE_DURATION] = "duration",     [PAGE_NAME] = "name",
    [PAGE_PARENT] = "parent", [PAGE_ATTRIBUTES] = "attributes", [PAGE_LINK] = "link",
    [PAGE_ID] = "id",         [PAGE_CONTEXT] = "context",       [PAGE_MERGED] = "merged",
    [PAGE_IDLE] = "idle",
};

// ---- values; differences wrap around where times are further apart than an int64 holds
static uint64_t zigzag(uint64_t difference)
{
  return difference << 1 ^ (uint64_t)((int64_t)difference >> 63);
}

static void fill_gaps(const struct page_spans *spans, const struct page_rows *rows, int64_t first_ns, uint64_t *values)
{
  for (size_t row = 0; row < rows->row_count; row++) {
    uint64_t before = (uint64_t)first_ns;
    for (size_t i = rows->rows[row].first; i < rows->rows[row].first + rows->rows[row].count; i++) {
      values[i] = zigzag((uint64_t)spans->start_ns[i] - before);
      before = (uint64_t)spans->start_ns[i] + (uint64_t)spans->duration_ns[i];
    }
  }
}

static void fill_links(const struct page_spans *spans, uint64_t *values)
{
  uint64_t before = 0;
  for (size_t i = 0; i < spans->count; i++) {
    if (spans->launch[i] == PAGE_NOWHERE) {
      values[i] = 0; // none
      continue;
    }
    values[i] = zigzag(spans->launch[i] + UINT64_C(1) - before) + 1;
    before = spans->launch[i] + UINT64_C(1);
  }
}

static void fill_differences(const struct page_spans *spans, enum page_column column, uint64_t *values)
{
  uint64_t before = 0;
  for (size_t i = 0; i < spans->count; i++) {
    uint64_t value = column == PAGE_ID                  ? (uint64_t)spans->id[i]
                     : spans->parent[i] == PAGE_NOWHERE ? UINT64_MAX // -1
                                                        : spans->parent[i];
    values[i] = zigzag(value - before);
    before = value;
  }
}

static uint64_t value_of(const struct page_spans *spans, enum page_column column, size_t i)
{
  switch (column) {
  case PAGE_DURATION:
    return (uint64_t)spans->duration_ns[i];
  case PAGE_NAME:
    return spans->name[i];
  case PAGE_CONTEXT:
    return spans->context[i];
  case PAGE_MERGED:
    return spans->merged[i];
  case PAGE_IDLE:
    return zigzag((uint64_t)spans->duration_ns[i] - (uint64_t)spans->busy_ns[i]);
  default:
    return spans->attributes[i];
  }
}

static void fill(const struct page_spans *spans, const struct page_rows *rows, int64_t first_ns,
                 enum page_column column, uint64_t *values)
{
  if (column == PAGE_GAP)
    fill_gaps(spans, rows, first_ns, values);
  else if (column == PAGE_LINK)
    fill_links(spans, values);
  else if (column == PAGE_PARENT || column == PAGE_ID)
    fill_differences(spans, column, values);
  else
    for (size_t i = 0; i < spans->count; i++)
      values[i] = value_of(spans, column, i);
}

// ---- planes, gzip
static unsigned width_of(const uint64_t *values, size_t count)
{
  uint64_t all = 0;
  for (size_t i = 0; i < count; i++)
    all |= values[i];
  unsigned width = 1;
  while (width < 8 && all >> (8 * width) != 0)
    width++;
  return width;
}

void page_put_packed(const void *bytes, size_t length, enum page_pack pack, bool as_text, struct buf *out)
{
  z_stream stream = {0};
  if (deflateInit2(&stream, pack, Z_DEFLATED, GZIP_WINDOW, 9, Z_DEFAULT_STRATEGY) != Z_OK)
    memory_exhausted();
  size_t bound = deflateBound(&stream, length);
  out->failed |= bound > UINT32_MAX;
  if (bound <= UINT32_MAX) { // and so is `length`
    uint8_t *packed SCOPED(scoped_free) = memory_new(bound, 1);
    stream.next_in = (Bytef *)(uintptr_t)bytes;
    stream.avail_in = (uInt)length;
    stream.next_out = packed;
    stream.avail_out = (uInt)bound;
    (void)deflate(&stream, Z_FINISH); // ends: there is room
    if (as_text)
      base64_put(out, packed, stream.total_out);
    else
      buf_put(out, packed, stream.total_out);
  }
  deflateEnd(&stream);
}

bool page_column_is_there(const struct page_spans *spans, enum page_column column)
{
  bool is_of_merged = column == PAGE_MERGED || column == PAGE_IDLE;
  return is_of_merged ? spans->merged != NULL : column != PAGE_CONTEXT || spans->context != NULL;
}

unsigned page_column_planes(const struct page_spans *spans, const struct page_rows *rows, int64_t first_ns,
                            enum page_column column, uint8_t **ret_planes)
{
  size_t count = spans->count;
  uint64_t *values SCOPED(scoped_free) = memory_new(count, sizeof *values);
  fill(spans, rows, first_ns, column, values);
  unsigned width = width_of(values, count);
  uint8_t *planes = memory_new(count, width);
  for (unsigned plane = 0; plane < width; plane++)
    for (size_t i = 0; i < count; i++)
      planes[plane * count + i] = (uint8_t)(values[i] >> (8 * plane));
  *ret_planes = planes;
  return width;
}
