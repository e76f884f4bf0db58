// SPDX-License-Identifier: Apache-2.0
// Unions of intervals with running sums. Called by rows.c and device_time.c.
#include "analyze/layers/busy.h"

#include "base/saturate.h"
#include "base/sorted.h"

#include <stdbool.h>
#include <stdlib.h>

SORTED_BY(compare_starts, struct busy_interval, RISING(start_ns))

// What lies in nothing is in the file by its start, thread by thread.
static void sort(struct busy_interval *intervals, size_t count)
{
  bool rises = true;
  for (size_t i = 1; i < count && rises; i++)
    rises = intervals[i - 1].start_ns <= intervals[i].start_ns;
  if (!rises)
    qsort(intervals, count, sizeof *intervals, compare_starts);
}

void busy_sort(struct busy *busy)
{
  sort(busy->items, busy->count);
}

struct busy busy_of(struct busy_interval *intervals, size_t count)
{
  struct busy busy = {intervals, 0};
  size_t kept = 0;
  for (size_t i = 0; i < count; i++) {
    kept = busy_leave_nested(intervals, kept, &intervals[i]);
    intervals[kept++] = intervals[i];
  }
  count = kept;
  sort(intervals, count);
  for (size_t i = 0; i < count; i++) {
    struct busy_interval *last = busy.count == 0 ? NULL : &intervals[busy.count - 1];
    if (intervals[i].end_ns <= intervals[i].start_ns)
      continue;
    if (last == NULL || intervals[i].start_ns > last->end_ns)
      intervals[busy.count++] = intervals[i];
    else if (intervals[i].end_ns > last->end_ns)
      last->end_ns = intervals[i].end_ns;
  }
  int64_t before_ns = 0;
  for (size_t i = 0; i < busy.count; i++) {
    intervals[i].before_ns = before_ns;
    before_ns = saturate_add(before_ns, saturate_subtract(intervals[i].end_ns, intervals[i].start_ns));
  }
  return busy;
}

// Covered before an instant.
static int64_t covered_until_ns(const struct busy *busy, int64_t time_ns)
{
  size_t at =
      busy->count == 0 ? 0 : sorted_lower_bound_i64(time_ns, &busy->items->start_ns, busy->count, sizeof *busy->items);
  if (at == 0)
    return 0;
  const struct busy_interval *last = &busy->items[at - 1]; // the last one that starts before
  int64_t end_ns = last->end_ns < time_ns ? last->end_ns : time_ns;
  return saturate_add(last->before_ns, saturate_subtract(end_ns, last->start_ns));
}

int64_t busy_within_ns(const struct busy *busy, int64_t from_ns, int64_t to_ns)
{
  return to_ns <= from_ns ? 0 : covered_until_ns(busy, to_ns) - covered_until_ns(busy, from_ns);
}
