// SPDX-License-Identifier: Apache-2.0
// Spans of a range of time, from a file of parts: from the finest level of which the range has few enough. Called by a server
// through report.h, from any thread. Reads; memory is bounded by the answer.
#include "base/json_write.h"
#include "base/sorted.h"
#include "report/page/parts.h"

// ---- a range of time: of each row the spans that overlap it, as rowsInside of answers/web/src/find.ts has them --------------------
struct within {
  size_t first, count; // places of the level
  size_t before;       // spans of earlier rows that are within
};

static int64_t end_of(const struct page_spans *spans, size_t i)
{
  int64_t end_ns;
  bool overflows = __builtin_add_overflow(spans->start_ns[i], spans->duration_ns[i], &end_ns);
  return overflows ? INT64_MAX : end_ns;
}

// First place of [low, high) that ends after the time or starts at it or later.
static size_t first_from(const struct page_spans *spans, size_t low, size_t high, int64_t time_ns)
{
  return PARTITION_POINT(i, low, high, end_of(spans, i) <= time_ns && spans->start_ns[i] < time_ns);
}

static size_t first_starting_at(const struct page_spans *spans, size_t low, size_t high, int64_t time_ns)
{
  return PARTITION_POINT(i, low, high, spans->start_ns[i] < time_ns);
}

static int64_t as_stored(const struct parts_level *level, int64_t time_ns)
{
  int64_t stored_ns;
  bool overflows = __builtin_add_overflow(level->first_ns, time_ns, &stored_ns);
  return !overflows ? stored_ns : time_ns > 0 ? INT64_MAX : INT64_MIN;
}

static size_t find_within(const struct parts_level *level, int64_t from_ns, int64_t to_ns, struct within *ret_within)
{
  size_t count = 0;
  for (size_t i = 0; i < level->rows.row_count; i++) {
    const struct page_row *row = &level->rows.rows[i];
    size_t first = first_from(&level->spans, row->first, row->first + row->count, as_stored(level, from_ns));
    size_t end = first_starting_at(&level->spans, first, row->first + row->count, as_stored(level, to_ns));
    ret_within[i] = (struct within){first, end - first, count};
    count += end - first;
  }
  return count;
}

// ---- the answer's spans ------------------------------------------------------------------------------------------------
// The place among those within; PAGE_NOWHERE: it is not there.
static uint32_t place_within(const struct parts_level *level, const struct within *within, uint32_t place)
{
  size_t at =
      PARTITION_POINT(i, 0, level->rows.row_count, level->rows.rows[i].first + level->rows.rows[i].count <= place);
  bool is_there =
      at < level->rows.row_count && place >= within[at].first && place - within[at].first < within[at].count;
  return is_there ? (uint32_t)(within[at].before + (place - within[at].first)) : PAGE_NOWHERE;
}

static void copy_row(const struct page_spans *from, const struct within *within, struct page_spans *to)
{
#define COPY(column)                                                                                                   \
  memcpy(to->column + within->before, from->column + within->first, within->count * sizeof *from->column)
  COPY(start_ns);
  COPY(duration_ns);
  COPY(id);
  COPY(name);
  COPY(parent);
  COPY(launch);
  COPY(attributes);
  if (from->merged != NULL) {
    COPY(merged);
    COPY(busy_ns);
  }
#undef COPY
}

static void copy_spans(const struct parts_level *level, const struct within *within, size_t count, struct arena *arena,
                       struct page_spans *ret_spans, struct page_rows *ret_rows)
{
  const struct page_spans *from = &level->spans;
  uint32_t *contexts = from->context != NULL ? arena_alloc_array(arena, count, sizeof *contexts) : NULL;
  page_spans_alloc(arena, count, from->merged != NULL, ret_spans);
  *ret_rows = (struct page_rows){.row_count = level->rows.row_count, .span_count = count};
  ret_rows->rows = arena_alloc_array(arena, ret_rows->row_count, sizeof *ret_rows->rows);
  for (size_t i = 0; i < ret_rows->row_count; i++) {
    const struct page_row *row = &level->rows.rows[i];
    ret_rows->rows[i] = (struct page_row){row->lane, row->depth, within[i].before, within[i].count};
    copy_row(from, &within[i], ret_spans);
    if (contexts != NULL)
      memcpy(contexts + within[i].before, from->context + within[i].first, within[i].count * sizeof *contexts);
  }
  ret_spans->context = contexts;
  for (size_t i = 0; i < count; i++) {
    ret_spans->parent[i] = place_within(level, within, ret_spans->parent[i]);
    ret_spans->launch[i] = place_within(level, within, ret_spans->launch[i]);
  }
}

static void put_columns(struct json_writer *json, const struct page_spans *spans, const struct page_rows *rows,
                        int64_t first_ns)
{
  struct buf packed SCOPED(buf_done) = {0};
  unsigned widths[PAGE_COLUMNS] = {0};
  json_member_object(json, "parts");
  for (enum page_column column = 0; column < PAGE_COLUMNS; column++) {
    uint8_t *planes;
    if (!page_column_is_there(spans, column))
      continue;
    widths[column] = page_column_planes(spans, rows, first_ns, column, &planes);
    buf_clear(&packed);
    page_put_packed(planes, spans->count * widths[column], PAGE_PACK_QUICK, true, &packed);
    json_member_string(json, page_column_names[column], packed.data);
    free(planes);
  }
  json_object_end(json);
  json_member_object(json, "columns");
  for (enum page_column column = 0; column < PAGE_COLUMNS; column++)
    if (widths[column] > 0)
      json_member_int(json, page_column_names[column], widths[column]);
  json_object_end(json);
}

static void put_window(const struct parts_level *level, const struct report_window *window, const struct within *within,
                       size_t count, struct buf *out)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct page_spans spans;
  struct page_rows rows;
  struct json_writer json;
  copy_spans(level, within, count, &arena, &spans, &rows);
  json_start(&json, out);
  json_object(&json);
  json_member_int(&json, "run", (int64_t)window->run);
  json_member_int(&json, "from_ns", window->from_ns);
  json_member_int(&json, "to_ns", window->to_ns);
  json_member_string(&json, "detail", level->below_ns > 0 ? "merged" : "spans");
  json_member_int_or_null(&json, "merged_below_ns", level->below_ns);
  json_member_int(&json, "spans", (int64_t)count);
  page_put_rows(&json, &rows);
  put_columns(&json, &spans, &rows, level->first_ns);
  json_object_end(&json);
}

bool report_parts_window(const struct report_parts *parts, const struct report_window *window, struct buf *out)
{
  const struct parts_run *run = parts_run_of(parts, window->run);
  if (run == NULL || window->from_ns > window->to_ns)
    return false;
  const struct parts_level *level = run->levels;
  struct within *within SCOPED(scoped_free) = memory_new(level->rows.row_count, sizeof *within);
  size_t count = find_within(level, window->from_ns, window->to_ns, within);
  while (count > window->most && level + 1 < run->levels + run->level_count)
    count = find_within(++level, window->from_ns, window->to_ns, within);
  put_window(level, window, within, count, out);
  return true;
}

// ---- the next span of some names -----------------------------------------------------------------------------------------
#define NAMES_MOST (UINT32_C(1) << 26)

struct name_range {
  uint32_t first, last;
};
struct name_ranges {
  VECTOR(struct name_range) list;
};

// "3-7,9", which must rise. False: it is malformed.
static bool read_names(const char *text, struct name_ranges *ranges)
{
  for (const char *at = text; *at != 0;) {
    char *end;
    unsigned long first = strtoul(at, &end, 10), last = first;
    bool is_number = *at >= '0' && *at <= '9';
    if (is_number && *end == '-' && end[1] >= '0' && end[1] <= '9')
      last = strtoul(end + 1, &end, 10);
    bool rises = ranges->list.count == 0 || first > ranges->list.items[ranges->list.count - 1].last;
    if (!is_number || !rises || first > last || last >= NAMES_MOST || (*end != ',' && *end != 0))
      return false;
    *vector_add(&ranges->list) = (struct name_range){(uint32_t)first, (uint32_t)last};
    at = end + (*end == ',');
  }
  return ranges->list.count > 0;
}

// A bit for each of the first `count` names.
static uint64_t *bits_of(const struct name_ranges *ranges, uint32_t count)
{
  uint64_t *bits = memory_new(count / 64 + 1, sizeof *bits);
  for (size_t i = 0; i < ranges->list.count; i++)
    for (uint32_t name = ranges->list.items[i].first; name <= ranges->list.items[i].last && name < count; name++)
      bits[name / 64] |= UINT64_C(1) << name % 64;
  return bits;
}

struct finding {
  const struct page_spans *spans;
  int64_t at_ns; // as stored
  int64_t place;
  uint64_t count, before; // matches; those before the span that is found in the end
  size_t next, outermost; // SIZE_MAX: none
};

static bool is_later(const struct page_spans *spans, size_t a, size_t b)
{
  return spans->start_ns[a] > spans->start_ns[b] || (spans->start_ns[a] == spans->start_ns[b] && a > b);
}

static void consider(struct finding *finding, size_t i, bool backwards)
{
  const struct page_spans *spans = finding->spans;
  int64_t start_ns = spans->start_ns[i];
  bool is_after = start_ns > finding->at_ns || (start_ns == finding->at_ns && (int64_t)i > finding->place);
  bool is_here = start_ns == finding->at_ns && (int64_t)i == finding->place;
  finding->count++;
  if (finding->outermost == SIZE_MAX || is_later(spans, finding->outermost, i) != backwards)
    finding->outermost = i;
  if (!is_here && is_after != backwards &&
      (finding->next == SIZE_MAX || is_later(spans, finding->next, i) != backwards))
    finding->next = i;
}

static size_t row_of(const struct page_rows *rows, size_t place)
{
  size_t row = 0;
  while (rows->rows[row].first + rows->rows[row].count <= place)
    row++;
  return row;
}

static void put_found(const struct parts_level *level, const struct finding *finding, struct buf *out)
{
  struct json_writer json;
  size_t found = finding->next != SIZE_MAX ? finding->next : finding->outermost;
  json_start(&json, out);
  json_object(&json);
  json_member_int(&json, "count", (int64_t)finding->count);
  if (found != SIZE_MAX) {
    json_member_int(&json, "number", (int64_t)finding->before + 1);
    json_member_int(&json, "place", (int64_t)found);
    json_member_int(&json, "row", (int64_t)row_of(&level->rows, found));
    json_member_int(&json, "start", (int64_t)((uint64_t)level->spans.start_ns[found] - (uint64_t)level->first_ns));
    json_member_int(&json, "duration", level->spans.duration_ns[found]);
    json_member_int(&json, "id", level->spans.id[found]);
  }
  json_object_end(&json);
}

// A bit for each name that spans within have, and how many names that are: the query may name more.
static uint64_t *wanted_names(const struct parts_level *level, const struct within *within,
                              const struct name_ranges *ranges, uint32_t *ret_count)
{
  uint32_t largest = 0;
  for (size_t row = 0; row < level->rows.row_count; row++)
    for (size_t i = within[row].first; i < within[row].first + within[row].count; i++)
      largest = level->spans.name[i] > largest ? level->spans.name[i] : largest;
  *ret_count = largest < NAMES_MOST ? largest + 1 : NAMES_MOST;
  return bits_of(ranges, *ret_count);
}

static void find_match(const struct parts_level *level, const struct report_find *find,
                       const struct name_ranges *ranges, struct buf *out)
{
  const uint32_t *name = level->spans.name;
  struct within *within SCOPED(scoped_free) = memory_new(level->rows.row_count, sizeof *within);
  struct finding finding = {.spans = &level->spans,
                            .at_ns = as_stored(level, find->at_ns),
                            .place = find->place,
                            .next = SIZE_MAX,
                            .outermost = SIZE_MAX};
  uint32_t names;
  (void)find_within(level, find->from_ns, find->to_ns, within);
  uint64_t *bits SCOPED(scoped_free) = wanted_names(level, within, ranges, &names);
#define FOR_EACH_MATCH(i)                                                                                              \
  for (size_t row = 0; row < level->rows.row_count; row++)                                                             \
    for (size_t i = within[row].first; i < within[row].first + within[row].count; i++)                                 \
      if (name[i] < names && bits[name[i] / 64] >> name[i] % 64 & 1)
  FOR_EACH_MATCH(i)
  consider(&finding, i, find->backwards);
  size_t found = finding.next != SIZE_MAX ? finding.next : finding.outermost;
  FOR_EACH_MATCH(i)
  finding.before += is_later(&level->spans, found, i);
#undef FOR_EACH_MATCH
  put_found(level, &finding, out);
}

bool report_parts_find(const struct report_parts *parts, const struct report_find *find, struct buf *out)
{
  const struct parts_run *run = parts_run_of(parts, find->run);
  struct name_ranges ranges = {0};
  bool is_fine = run != NULL && read_names(find->names, &ranges);
  if (is_fine)
    find_match(run->levels, find, &ranges, out);
  vector_done(&ranges.list);
  return is_fine;
}
