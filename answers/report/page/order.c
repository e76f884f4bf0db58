// SPDX-License-Identifier: Apache-2.0
// The page's order of a run's spans: by track, lane, nesting depth, start; and which spans a range of time keeps.
// Called by run.c and choose.c. Pure.
#include "report/page/spans.h"

#include <string.h>

struct depths {
  uint32_t now;
  uint32_t *of_row; // depth in its lane, by row of the store
  uint32_t deepest;
};

static void on_begin(void *context, const struct timeline_lane *lane, uint32_t row)
{
  struct depths *depths = context;
  depths->of_row[row] = depths->now++;
  if (depths->of_row[row] > depths->deepest)
    depths->deepest = depths->of_row[row];
}

static void on_end(void *context, const struct timeline_lane *lane, uint32_t row)
{
  struct depths *depths = context;
  depths->now--;
}

// Rows of one lane, by a counting sort on depth, which preserves the order of starts.
static void lay_lane(const struct timeline_run *run, const bool *kept, size_t lane_index, const struct depths *depths,
                     size_t *counts, struct page_rows *rows)
{
  const struct timeline_lane *lane = &run->lanes[lane_index];
  uint32_t deepest = 0; // of this lane: others may be much deeper
  for (size_t i = 0; i < lane->count; i++)
    deepest =
        depths->of_row[run->order[lane->first + i]] > deepest ? depths->of_row[run->order[lane->first + i]] : deepest;
  memset(counts, 0, (deepest + 2) * sizeof *counts);
  for (size_t i = 0; i < lane->count; i++)
    if (kept == NULL || kept[run->order[lane->first + i]])
      counts[depths->of_row[run->order[lane->first + i]] + 1]++;
  for (uint32_t depth = 0; depth <= deepest; depth++) {
    if (counts[depth + 1] > 0)
      rows->rows[rows->row_count++] =
          (struct page_row){lane_index, depth, rows->span_count + counts[depth], counts[depth + 1]};
    counts[depth + 1] += counts[depth];
  }
  size_t placed = counts[deepest + 1];
  for (size_t i = 0; i < lane->count; i++) {
    uint32_t row = run->order[lane->first + i];
    if (kept != NULL && !kept[row])
      continue;
    size_t place = rows->span_count + counts[depths->of_row[row]]++;
    rows->place[row] = (uint32_t)place;
    rows->source[place] = row;
  }
  rows->span_count += placed;
}

void page_rows_lay(const struct timeline_run *run, const bool *kept, struct arena *arena, struct page_rows *ret_rows)
{
  size_t count = run->spans.count, row_room = 0;
  struct depths depths = {.of_row = arena_alloc_array(arena, count, sizeof(uint32_t))};
  *ret_rows = (struct page_rows){
      .place = arena_alloc_array(arena, count, sizeof(uint32_t)),
      .source = arena_alloc_array(arena, count, sizeof(uint32_t)),
  };
  memset(ret_rows->place, 0xff, count * sizeof *ret_rows->place);
  const struct timeline_sink sink = {&depths, on_begin, on_end};
  for (size_t lane = 0; lane < run->lane_count; lane++) {
    uint32_t before = depths.deepest;
    depths.now = depths.deepest = 0;
    timeline_walk(run, &run->lanes[lane], &sink);
    row_room += depths.deepest + 1;
    depths.deepest = depths.deepest > before ? depths.deepest : before;
  }
  size_t *counts = arena_alloc_array(arena, (size_t)depths.deepest + 2, sizeof *counts);
  ret_rows->rows = arena_alloc_array(arena, row_room, sizeof *ret_rows->rows);
  for (size_t lane = 0; lane < run->lane_count; lane++)
    lay_lane(run, kept, lane, &depths, counts, ret_rows);
}

// ---- a range of time
static bool overlaps(const struct timeline_run *run, uint32_t row, int64_t first_ns, const struct page_range *range)
{
  uint64_t from_ns =
      (uint64_t)run->spans.start_ns[row] - (uint64_t)first_ns; // of other clocks: meaningless, and not shown
  uint64_t to_ns = from_ns + (uint64_t)run->spans.duration_ns[row];
  bool is_open = timeline_is_open(run, row);
  return from_ns <= (uint64_t)range->to_ns && (is_open || to_ns >= (uint64_t)range->from_ns);
}

bool *page_range_keep(const struct timeline_run *run, int64_t first_ns, const struct page_range *range,
                      struct arena *arena, size_t *ret_count)
{
  size_t count = run->spans.count;
  uint32_t *by_id = timeline_order_by_id(run, arena);
  bool *kept = arena_alloc_array(arena, count, sizeof *kept);
  *ret_count = 0;
  for (uint32_t row = 0; row < count; row++) {
    if (!overlaps(run, row, first_ns, range))
      continue;
    // Climbs to a span that is kept: its ancestors are kept already.
    for (uint32_t at = row; at != TIMELINE_NO_ROW && !kept[at];
         at = timeline_row_of(run, by_id, run->derived.parent_id[at])) {
      kept[at] = true;
      ++*ret_count;
    }
  }
  return kept;
}
