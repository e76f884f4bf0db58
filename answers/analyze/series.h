// SPDX-License-Identifier: Apache-2.0
// Where a series of values in order of time changed: binary segmentation (docs/compare.md, "A history"). Pure: plain arrays in, figures
// out; any thread. Values are of one unit, and so are figures.
#ifndef XSP_ANALYZE_SERIES_H
#define XSP_ANALYZE_SERIES_H

#include "analyze/intervals.h"

struct series_point {
  double value;                 // the caller's; the rest is filled
  bool is_change;               // the first value of a segment other than the first
  double difference, low, high; // of a change: to the segment before, with its 95 % interval; else NaN
  double segment;               // mean of its segment
};
struct series_limits {    // in per cent of the value before
  double least_pct;       // smaller differences are no changes
  double same_within_pct; // the same, where the interval is within this
};
// The last segment against the one before it; without a change the last value against all others.
struct series_verdict {
  enum verdict verdict;
  const char *reason;                       // of a verdict that is not decided, or not comparable; NULL
  size_t change;                            // place of the first value of the last segment; without a change `count`
  double a, b;                              // means of the segment before and of the last one
  double difference_pct, low_pct, high_pct; // of a
};
// A series has at least two points; with fewer than four nothing is a change.
void series_find_changes(struct series_point *points, size_t count, const struct series_limits *limits);
struct series_verdict series_judge(const struct series_point *points, size_t count, const struct series_limits *limits);

#endif
