// SPDX-License-Identifier: Apache-2.0
// Overviews: neighbours of a row that are too close to be drawn apart become one rectangle, which has the number and
// the time of its spans. Sums over rectangles are exactly those over spans. Rectangles can be merged again. Called by
// run.c. Pure.
#include "base/saturate.h"
#include "report/page/page.h"

#include <string.h>

// Rectangles of a row, one after the other: spans first … first + count. "Span" also means a rectangle of earlier merging.
struct group {
  size_t first, count;
};
static bool next_group(const struct page_spans *spans, const struct page_row *row, int64_t below_ns,
                       struct group *group)
{
  size_t end = row->first + row->count, i = group->first + group->count;
  if (i >= end)
    return false;
  *group = (struct group){i, 1};
  if (spans->duration_ns[i] >= below_ns)
    return true;
  uint64_t start_ns = (uint64_t)spans->start_ns[i];
  for (i++; i < end && spans->duration_ns[i] < below_ns; i++, group->count++)
    if ((uint64_t)spans->start_ns[i] - start_ns >= (uint64_t)below_ns)
      break;
  return true;
}

static size_t count_groups(const struct page_spans *spans, const struct page_rows *rows, int64_t below_ns, size_t most)
{
  size_t count = 0;
  for (size_t i = 0; i < rows->row_count && count <= most; i++) {
    struct group group = {rows->rows[i].first, 0};
    while (next_group(spans, &rows->rows[i], below_ns, &group))
      count++;
  }
  return count;
}

bool page_merge_resolution(const struct page_spans *spans, const struct page_rows *rows, size_t room,
                           int64_t *ret_below_ns, size_t *ret_count)
{
  if (rows->row_count > room || rows->row_count == 0)
    return false;
  int64_t fits = 64, less = 32;
  while (count_groups(spans, rows, fits, room) > room) {
    if (fits > INT64_MAX / 2)
      return false;
    less = fits;
    fits *= 2;
  }
  for (int step = 0; step < 5; step++) {
    int64_t middle = less + (fits - less) / 2;
    if (count_groups(spans, rows, middle, room) > room)
      less = middle;
    else
      fits = middle;
  }
  *ret_below_ns = fits;
  *ret_count = count_groups(spans, rows, fits, room);
  return true;
}

struct merge {
  const struct page_spans *from;
  struct page_spans *to;
  struct page_names *names;
  uint32_t *rectangle; // by place in `from`
  int64_t *time_ns;    // by name, of the current group; all 0 between groups
  uint32_t *others;    // by name: the number of "NAME and others" + 1, 0: none yet
};

static int64_t busy_ns_of(const struct page_spans *spans, size_t i)
{
  return spans->busy_ns != NULL ? spans->busy_ns[i] : spans->duration_ns[i];
}

// Level, kind and name are those of the name with the most time.
static void name_group(struct merge *merge, const struct group *group, size_t at)
{
  const struct page_spans *from = merge->from;
  size_t chosen = group->first;
  bool has_others = false;
  for (size_t i = group->first; i < group->first + group->count; i++)
    merge->time_ns[from->name[i]] = saturate_add(merge->time_ns[from->name[i]], busy_ns_of(from, i));
  for (size_t i = group->first; i < group->first + group->count; i++) {
    has_others = has_others || from->name[i] != from->name[group->first];
    if (merge->time_ns[from->name[i]] > merge->time_ns[from->name[chosen]])
      chosen = i;
  }
  for (size_t i = group->first; i < group->first + group->count; i++)
    merge->time_ns[from->name[i]] = 0;
  uint32_t name = from->name[chosen];
  merge->to->attributes[at] = from->attributes[chosen];
  merge->to->name[at] = name;
  if (has_others && merge->others[name] == 0)
    merge->others[name] = page_names_and_others(merge->names, name) + 1;
  if (has_others)
    merge->to->name[at] = merge->others[name] - 1;
}

static void put_group(struct merge *merge, const struct group *group, size_t at)
{
  const struct page_spans *from = merge->from;
  struct page_spans *to = merge->to;
  size_t last = group->first + group->count - 1;
  to->start_ns[at] = from->start_ns[group->first];
  to->duration_ns[at] =
      saturate_subtract(saturate_add(from->start_ns[last], from->duration_ns[last]), to->start_ns[at]);
  to->id[at] = group->count == 1 ? from->id[last] : 0;
  if (group->count == 1)
    to->duration_ns[at] = from->duration_ns[last];
  for (size_t i = group->first; i <= last; i++) {
    to->merged[at] += from->merged != NULL ? from->merged[i] : 1;
    to->busy_ns[at] = saturate_add(to->busy_ns[at], busy_ns_of(from, i));
    merge->rectangle[i] = (uint32_t)at;
  }
  name_group(merge, group, at);
}

// The rectangle that all spans of a group refer to; none where they differ.
static void put_reference(const struct merge *merge, const uint32_t *from, uint32_t *to)
{
  size_t before = SIZE_MAX;
  for (size_t i = 0; i < merge->from->count; i++) {
    size_t at = merge->rectangle[i];
    uint32_t target = from[i] == PAGE_NOWHERE ? PAGE_NOWHERE : merge->rectangle[from[i]];
    if (at != before)
      to[at] = target;
    else if (to[at] != target)
      to[at] = PAGE_NOWHERE;
    before = at;
  }
}

void page_merge(const struct page_spans *spans, const struct page_rows *rows, int64_t below_ns, size_t count,
                struct page_names *names, struct arena *arena, struct page_spans *ret_spans, struct page_rows *ret_rows)
{
  size_t name_count = interner_count(&names->texts), at = 0;
  *ret_rows = (struct page_rows){.row_count = rows->row_count, .span_count = count};
  ret_rows->rows = arena_alloc_array(arena, rows->row_count, sizeof *ret_rows->rows);
  struct merge merge = {
      .from = spans,
      .to = ret_spans,
      .names = names,
      .rectangle = arena_alloc_array(arena, spans->count, sizeof(uint32_t)),
      .time_ns = arena_alloc_array(arena, name_count, sizeof(int64_t)),
      .others = arena_alloc_array(arena, name_count, sizeof(uint32_t)),
  };
  page_spans_alloc(arena, count, true, ret_spans);
  for (size_t i = 0; i < rows->row_count; i++) {
    struct group group = {rows->rows[i].first, 0};
    ret_rows->rows[i] = (struct page_row){rows->rows[i].lane, rows->rows[i].depth, at, 0};
    while (next_group(spans, &rows->rows[i], below_ns, &group))
      put_group(&merge, &group, at++);
    ret_rows->rows[i].count = at - ret_rows->rows[i].first;
  }
  put_reference(&merge, spans->parent, ret_spans->parent);
  put_reference(&merge, spans->launch, ret_spans->launch);
}
