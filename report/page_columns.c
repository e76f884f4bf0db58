// SPDX-License-Identifier: Apache-2.0
// Order and encoding of the page's columns. Memory: some 40 bytes a span while a run is encoded.
#include "report/page_columns.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define GZIP_WINDOW (15 + 16) // zlib: a gzip head and tail
#define NOWHERE UINT32_MAX

const char *const page_column_names[PAGE_COLUMNS] = {
    [PAGE_GAP] = "gap",       [PAGE_DURATION] = "duration",     [PAGE_NAME] = "name",
    [PAGE_PARENT] = "parent", [PAGE_ATTRIBUTES] = "attributes", [PAGE_LINK] = "link",
};

static enum status out_of_memory(struct error *err)
{
  return error_set(err, STATUS_MEMORY, "cannot make the page", NULL, "--max-spans with a smaller number",
                   "out of memory");
}

// ---- names
void page_names_done(struct page_names *names)
{
  free(names->place);
  free(names->strings);
  *names = (struct page_names){0};
}

static bool grow(uint32_t **array, size_t *capacity, size_t wanted)
{
  size_t grown = *capacity * 2 > wanted ? *capacity * 2 : wanted + 256;
  uint32_t *bigger = realloc(*array, grown * sizeof *bigger);
  if (bigger == NULL)
    return false;
  memset(bigger + *capacity, 0, (grown - *capacity) * sizeof *bigger);
  *array = bigger;
  *capacity = grown;
  return true;
}

static bool name_place(struct page_names *names, uint32_t string, uint32_t *ret_place)
{
  if (string >= names->capacity && !grow(&names->place, &names->capacity, string))
    return false;
  if (names->place[string] == 0) {
    size_t room = names->room;
    if (names->count == room) {
      if (!grow(&names->strings, &room, room))
        return false;
      names->room = (uint32_t)room;
    }
    names->strings[names->count++] = string;
    names->place[string] = names->count;
  }
  *ret_place = names->place[string] - 1;
  return true;
}

// ---- order
struct depths {
  uint32_t now;
  uint32_t *of_row; // depth in its lane, by row of the store
  uint32_t deepest;
};

static enum status on_begin(void *context, const struct timeline_lane *lane, uint32_t row, struct error *err)
{
  struct depths *depths = context;
  depths->of_row[row] = depths->now++;
  if (depths->of_row[row] > depths->deepest)
    depths->deepest = depths->of_row[row];
  return STATUS_OK;
}

static enum status on_end(void *context, const struct timeline_lane *lane, uint32_t row, struct error *err)
{
  struct depths *depths = context;
  depths->now--;
  return STATUS_OK;
}

// Rows of one lane: a counting sort by depth keeps the order of starts.
static enum status lay_lane(const struct timeline_run *run, size_t lane_index, const struct depths *depths,
                            size_t *counts, struct page_rows *rows, struct error *err)
{
  const struct timeline_lane *lane = &run->lanes[lane_index];
  memset(counts, 0, (depths->deepest + 2) * sizeof *counts);
  for (size_t i = 0; i < lane->count; i++)
    counts[depths->of_row[run->order[lane->first + i]] + 1]++;
  for (uint32_t depth = 0; depth <= depths->deepest; depth++) {
    if (counts[depth + 1] > 0)
      rows->rows[rows->row_count++] =
          (struct page_row){lane_index, depth, rows->span_count + counts[depth], counts[depth + 1]};
    counts[depth + 1] += counts[depth];
  }
  for (size_t i = 0; i < lane->count; i++) {
    uint32_t row = run->order[lane->first + i];
    size_t place = rows->span_count + counts[depths->of_row[row]]++;
    rows->place[row] = (uint32_t)place;
    rows->source[place] = row;
    if (run->spans.start_ns[row] < rows->first_ns)
      rows->first_ns = run->spans.start_ns[row];
  }
  rows->span_count += lane->count;
  return STATUS_OK;
}

enum status page_rows_lay(const struct timeline_run *run, struct arena *arena, struct page_rows *ret_rows,
                          struct error *err)
{
  size_t count = run->spans.count;
  *ret_rows = (struct page_rows){.first_ns = INT64_MAX};
  struct depths depths = {.of_row = arena_alloc_array(arena, count + 1, sizeof(uint32_t))};
  ret_rows->place = arena_alloc_array(arena, count + 1, sizeof *ret_rows->place);
  ret_rows->source = arena_alloc_array(arena, count + 1, sizeof *ret_rows->source);
  if (depths.of_row == NULL || ret_rows->place == NULL || ret_rows->source == NULL)
    return out_of_memory(err);
  memset(ret_rows->place, 0xff, (count + 1) * sizeof *ret_rows->place);
  size_t row_room = 0;
  const struct timeline_sink sink = {&depths, on_begin, on_end};
  for (size_t lane = 0; lane < run->lane_count; lane++) {
    uint32_t before = depths.deepest;
    depths.now = depths.deepest = 0;
    XSP_TRY(timeline_walk(run, &run->lanes[lane], &sink, err));
    row_room += depths.deepest + 1;
    depths.deepest = depths.deepest > before ? depths.deepest : before;
  }
  size_t *counts = arena_alloc_array(arena, (size_t)depths.deepest + 2, sizeof *counts);
  ret_rows->rows = arena_alloc_array(arena, row_room + 1, sizeof *ret_rows->rows);
  if (counts == NULL || ret_rows->rows == NULL)
    return out_of_memory(err);
  for (size_t lane = 0; lane < run->lane_count; lane++)
    XSP_TRY(lay_lane(run, lane, &depths, counts, ret_rows, err));
  if (ret_rows->first_ns == INT64_MAX)
    ret_rows->first_ns = 0;
  return STATUS_OK;
}

// ---- values
static uint64_t zigzag(int64_t value)
{
  return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

static enum status fill_times(const struct timeline_run *run, const struct page_rows *rows, bool is_gap,
                              uint64_t *values)
{
  for (size_t row = 0; row < rows->row_count; row++) {
    int64_t before = rows->first_ns;
    for (size_t i = rows->rows[row].first; i < rows->rows[row].first + rows->rows[row].count; i++) {
      uint32_t source = rows->source[i];
      values[i] = is_gap ? zigzag(run->spans.start_ns[source] - before) : (uint64_t)run->spans.duration_ns[source];
      before = timeline_end(run, source);
    }
  }
  return STATUS_OK;
}

static enum status fill_parents(const struct timeline_run *run, const struct page_rows *rows, struct arena *arena,
                                uint64_t *values, struct error *err)
{
  uint32_t *by_id = timeline_order_by_id(run, arena);
  if (by_id == NULL)
    return out_of_memory(err);
  int64_t before = 0;
  for (size_t i = 0; i < rows->span_count; i++) {
    uint32_t row = timeline_row_of(run, by_id, run->derived.parent_id[rows->source[i]]);
    bool is_shown = row != TIMELINE_NO_ROW && rows->place[row] != NOWHERE;
    int64_t parent = is_shown ? (int64_t)rows->place[row] : -1;
    values[i] = zigzag(parent - before);
    before = parent;
  }
  return STATUS_OK;
}

static void fill_links(const struct timeline_run *run, const struct page_rows *rows, uint64_t *values)
{
  memset(values, 0, rows->span_count * sizeof *values);
  for (size_t i = 0; i < run->launch_count; i++) {
    size_t first = 0, count = 0;
    uint32_t launch = run->launch_order[i];
    timeline_executions(run, launch, &first, &count);
    for (size_t j = first; j < first + count; j++) {
      uint32_t execution = run->execution_order[j];
      if (rows->place[execution] != NOWHERE && rows->place[launch] != NOWHERE)
        values[rows->place[execution]] = rows->place[launch] + UINT64_C(1);
    }
  }
  int64_t before = 0;
  for (size_t i = 0; i < rows->span_count; i++) {
    if (values[i] == 0)
      continue;
    int64_t link = (int64_t)values[i];
    values[i] = zigzag(link - before) + 1; // 0 stays: none
    before = link;
  }
}

static enum status fill(const struct timeline_run *run, const struct page_rows *rows, enum page_column column,
                        struct page_names *names, struct arena *arena, uint64_t *values, struct error *err)
{
  switch (column) {
  case PAGE_GAP:
  case PAGE_DURATION:
    return fill_times(run, rows, column == PAGE_GAP, values);
  case PAGE_NAME:
    for (size_t i = 0; i < rows->span_count; i++) {
      uint32_t place = 0;
      if (!name_place(names, run->spans.name[rows->source[i]], &place))
        return out_of_memory(err);
      values[i] = place;
    }
    return STATUS_OK;
  case PAGE_PARENT:
    return fill_parents(run, rows, arena, values, err);
  case PAGE_ATTRIBUTES:
    for (size_t i = 0; i < rows->span_count; i++) {
      uint32_t source = rows->source[i];
      values[i] = (uint64_t)(run->spans.level[source] | run->spans.kind[source] << 3 | run->derived.basis[source] << 5);
    }
    return STATUS_OK;
  default:
    fill_links(run, rows, values);
    return STATUS_OK;
  }
}

// ---- planes, gzip, base64
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

static bool put_base64(struct buf *out, const uint8_t *bytes, size_t length)
{
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  if (!buf_reserve(out, (length + 2) / 3 * 4))
    return false;
  char *to = out->data + out->length;
  for (size_t i = 0; i < length; i += 3) {
    unsigned three = (unsigned)bytes[i] << 16 | (i + 1 < length ? (unsigned)bytes[i + 1] << 8 : 0) |
                     (i + 2 < length ? bytes[i + 2] : 0u);
    *to++ = digits[three >> 18];
    *to++ = digits[three >> 12 & 63];
    *to++ = i + 1 < length ? digits[three >> 6 & 63] : '=';
    *to++ = i + 2 < length ? digits[three & 63] : '=';
  }
  out->length = (size_t)(to - out->data);
  *to = '\0';
  return true;
}

enum status page_put_packed(const void *bytes, size_t length, struct buf *out, struct error *err)
{
  z_stream stream = {0};
  if (deflateInit2(&stream, 6, Z_DEFLATED, GZIP_WINDOW, 9, Z_DEFAULT_STRATEGY) != Z_OK)
    return out_of_memory(err);
  size_t bound = deflateBound(&stream, length);
  uint8_t *packed = malloc(bound);
  bool is_done = packed != NULL && length <= UINT32_MAX && bound <= UINT32_MAX;
  if (is_done) {
    stream.next_in = (Bytef *)(uintptr_t)bytes;
    stream.avail_in = (uInt)length;
    stream.next_out = packed;
    stream.avail_out = (uInt)bound;
    is_done = deflate(&stream, Z_FINISH) == Z_STREAM_END && put_base64(out, packed, stream.total_out);
  }
  deflateEnd(&stream);
  free(packed);
  return is_done ? STATUS_OK : out_of_memory(err);
}

enum status page_column_encode(const struct timeline_run *run, const struct page_rows *rows, enum page_column column,
                               struct page_names *names, struct arena *arena, struct buf *out,
                               struct page_encoded *ret_encoded, struct error *err)
{
  size_t count = rows->span_count;
  uint64_t *values = malloc((count + 1) * sizeof *values);
  if (values == NULL)
    return out_of_memory(err);
  enum status status = fill(run, rows, column, names, arena, values, err);
  unsigned width = status == STATUS_OK ? width_of(values, count) : 1;
  uint8_t *planes = status == STATUS_OK ? malloc(count * width + 1) : NULL;
  if (planes != NULL) {
    for (unsigned plane = 0; plane < width; plane++)
      for (size_t i = 0; i < count; i++)
        planes[plane * count + i] = (uint8_t)(values[i] >> (8 * plane));
    *ret_encoded = (struct page_encoded){width, count * width};
    status = page_put_packed(planes, count * width, out, err);
  } else if (status == STATUS_OK) {
    status = out_of_memory(err);
  }
  free(planes);
  free(values);
  return status;
}
