// SPDX-License-Identifier: Apache-2.0
// The time that any of many intervals covers, and how much of it lies within another interval.
#ifndef XSP_ANALYZE_LAYERS_BUSY_H
#define XSP_ANALYZE_LAYERS_BUSY_H

#include <stddef.h>
#include <stdint.h>

struct busy_interval {
  int64_t start_ns, end_ns;
  int64_t before_ns; // filled in: covered by those before it
};
struct busy { // disjoint, rising; {0}: nothing is covered
  struct busy_interval *items;
  size_t count;
};

// How many of `count` remain where those that lie in `next`, which follows, are left out: spans in the order of their ends have
// the nested ones in front.
static inline size_t busy_leave_nested(const struct busy_interval *intervals, size_t count,
                                       const struct busy_interval *next)
{
  while (count > 0 && intervals[count - 1].start_ns >= next->start_ns && intervals[count - 1].end_ns <= next->end_ns)
    count--;
  return count;
}
// Sorts and merges `intervals` in place; they stay the caller's.
struct busy busy_of(struct busy_interval *intervals, size_t count);
void busy_sort(struct busy *busy); // one that was filled in otherwise; before_ns stays
int64_t busy_within_ns(const struct busy *busy, int64_t from_ns, int64_t to_ns); // of [from, to); O(log n)

#endif
