// SPDX-License-Identifier: Apache-2.0
// Changes in a series: the split with the largest t is a change where its interval says so, then both parts are split. Called by
// history.c and, through answers/analyze/analyze.h, by the room history.
#include "analyze/series.h"

#include <math.h>

#define CONFIDENCE 0.95
#define LEAST_POINTS 4 // of a part that is split: two segments, and two degrees of freedom

static double mean_of(const struct series_point *points, size_t count)
{
  double sum = 0;
  for (size_t i = 0; i < count; i++)
    sum += points[i].value;
  return sum / (double)count;
}

static double squares_of(const struct series_point *points, size_t count)
{
  double mean = mean_of(points, count), sum = 0;
  for (size_t i = 0; i < count; i++)
    sum += (points[i].value - mean) * (points[i].value - mean);
  return sum;
}

struct split {
  size_t at;
  struct estimate difference; // of the part after it and the one before it, with one variance for both
};

static struct split split_at(const struct series_point *points, size_t count, size_t at)
{
  double variance = (squares_of(points, at) + squares_of(points + at, count - at)) / (double)(count - 2);
  double difference = mean_of(points + at, count - at) - mean_of(points, at);
  double shares = 1 / (double)at + 1 / (double)(count - at);
  return (struct split){at, {difference, variance * shares, (double)(count - 2)}};
}

static double size_of(const struct split *split) // t
{
  double difference = fabs(split->difference.mean);
  return difference > 0 ? difference / sqrt(split->difference.squared_error) : 0;
}

// For all splits of so many points together: each has its share of the doubt.
static double reach_of(const struct split *split, size_t count)
{
  return estimate_reach(split->difference, 1 - (1 - CONFIDENCE) / (double)(count - 1));
}

static void split_series(struct series_point *points, size_t count, const struct series_limits *limits)
{
  if (count < LEAST_POINTS)
    return;
  struct split best = split_at(points, count, 1);
  for (size_t at = 2; at < count; at++) {
    struct split split = split_at(points, count, at);
    best = size_of(&split) > size_of(&best) ? split : best;
  }
  double least = mean_of(points, best.at) * limits->least_pct / 100;
  if (!(fabs(best.difference.mean) - reach_of(&best, count) > least))
    return;
  points[best.at].is_change = true;
  split_series(points, best.at, limits);
  split_series(points + best.at, count - best.at, limits);
}

// Differences of neighbouring segments, by the interval of their two means.
static void measure_segments(struct series_point *points, size_t count)
{
  for (size_t before = 0, first = 0; first < count;) {
    size_t end = first + 1;
    while (end < count && !points[end].is_change)
      end++;
    for (size_t i = first; i < end; i++)
      points[i].segment = mean_of(points + first, end - first);
    if (first > 0) {
      struct split split = split_at(points + before, end - before, first - before);
      double reach = end - before > 2 ? estimate_reach(split.difference, CONFIDENCE) : NAN;
      points[first].difference = split.difference.mean;
      points[first].low = split.difference.mean - reach;
      points[first].high = split.difference.mean + reach;
    }
    before = first;
    first = end;
  }
}

void series_find_changes(struct series_point *points, size_t count, const struct series_limits *limits)
{
  for (size_t i = 0; i < count; i++)
    points[i] = (struct series_point){.value = points[i].value, .difference = NAN, .low = NAN, .high = NAN};
  split_series(points, count, limits);
  measure_segments(points, count);
}

// Without a change: the same where a change at the last value could not have been large.
static struct series_verdict judge_last(const struct series_point *points, size_t count,
                                        const struct series_limits *limits)
{
  struct split last = split_at(points, count, count - 1);
  double before = mean_of(points, count - 1), reach = NAN;
  if (count >= LEAST_POINTS)
    reach = reach_of(&last, count);
  bool is_same = fabs(last.difference.mean) + reach < before * fmax(limits->same_within_pct, limits->least_pct) / 100;
  return (struct series_verdict){.verdict = is_same ? VERDICT_SAME : VERDICT_NOT_DECIDED,
                                 .reason = is_same        ? NULL
                                           : isnan(reach) ? "too few files"
                                                          : "noise",
                                 .change = count,
                                 .a = before,
                                 .b = points[count - 1].value,
                                 .difference_pct = last.difference.mean / before * 100,
                                 .low_pct = (last.difference.mean - reach) / before * 100,
                                 .high_pct = (last.difference.mean + reach) / before * 100};
}

static struct series_verdict judge_change(const struct series_point *points, size_t change)
{
  const struct series_point *point = &points[change];
  double before = point->segment - point->difference;
  return (struct series_verdict){.verdict = point->difference > 0 ? VERDICT_SLOWER : VERDICT_FASTER,
                                 .change = change,
                                 .a = before,
                                 .b = point->segment,
                                 .difference_pct = point->difference / before * 100,
                                 .low_pct = point->low / before * 100,
                                 .high_pct = point->high / before * 100};
}

struct series_verdict series_judge(const struct series_point *points, size_t count, const struct series_limits *limits)
{
  size_t change = count;
  while (change > 0 && !points[change - 1].is_change)
    change--;
  struct series_verdict verdict = change == 0 ? judge_last(points, count, limits) : judge_change(points, change - 1);
  if (verdict.a > 0)
    return verdict;
  verdict.verdict = VERDICT_NOT_COMPARABLE; // percentages are of it
  verdict.reason = "a's time is 0";
  verdict.difference_pct = verdict.low_pct = verdict.high_pct = NAN;
  return verdict;
}
