// SPDX-License-Identifier: Apache-2.0
// Estimates a clock's offset from bounds (clocks.h). Called by join.c for two machines at a time.
//
// A line offset + drift * t must pass between the bounds of all pairs. For one drift the offsets that do so are an interval:
// from the highest lower bound to the lowest upper one. Its width is concave in the drift, so a ternary search finds the widest.
// Where no line fits, the instant that most pairs' bounds share (Marzullo) decides which pairs are believed.
#include "importers/otlp/clocks.h"

#include "base/memory.h"
#include "base/saturate.h"
#include "base/sorted.h"

#include <math.h>
#include <stdlib.h>

#define SEARCH_STEPS 80

struct bounds { // on the offset at the reference time; empty where least > most
  double least, most;
};
struct lines {
  const struct clock_pair *pairs;
  size_t count;
  int64_t time_ns, base_ns; // the pairs are relative to these
};

// Times may be anybody's: at most 2^62 ns either way.
static int64_t whole_ns(double ns)
{
  return llround(fmax(-0x1p62, fmin(ns, 0x1p62)));
}

static double time_of(const struct lines *lines, const struct clock_pair *pair)
{
  return (double)saturate_subtract(pair->time_ns, lines->time_ns);
}

static struct bounds bounds_at(const struct lines *lines, double drift)
{
  struct bounds bounds = {-INFINITY, INFINITY};
  for (size_t i = 0; i < lines->count; i++) {
    double moved = drift * time_of(lines, &lines->pairs[i]);
    bounds.least = fmax(bounds.least, (double)saturate_subtract(lines->pairs[i].least_ns, lines->base_ns) - moved);
    bounds.most = fmin(bounds.most, (double)saturate_subtract(lines->pairs[i].most_ns, lines->base_ns) - moved);
  }
  return bounds;
}

// What a search makes largest: the width (`side` 0), or the offset at `time` of the highest (1) or lowest (-1) line.
static double goal(const struct lines *lines, double drift, int side, double time)
{
  struct bounds bounds = bounds_at(lines, drift);
  if (side == 0)
    return bounds.most - bounds.least;
  return side > 0 ? bounds.most + drift * time : -(bounds.least + drift * time);
}

// The drift in [from, to] with the largest goal, which is concave.
static double search(const struct lines *lines, double from, double to, int side, double time)
{
  for (int i = 0; i < SEARCH_STEPS; i++) {
    double low = from + (to - from) / 3, high = to - (to - from) / 3;
    if (goal(lines, low, side, time) < goal(lines, high, side, time))
      from = low;
    else
      to = high;
  }
  return (from + to) / 2;
}

// The drift farthest from `inside`, towards `limit`, for which a line fits.
static double edge(const struct lines *lines, double inside, double limit)
{
  if (goal(lines, limit, 0, 0) >= 0)
    return limit;
  for (int i = 0; i < SEARCH_STEPS; i++) {
    double middle = (inside + limit) / 2;
    if (goal(lines, middle, 0, 0) >= 0)
      inside = middle;
    else
      limit = middle;
  }
  return inside;
}

// How far a line that fits can be from the estimate: convex in time, hence largest at the first or the last pair.
static double uncertainty_of(const struct lines *lines, double offset, double drift, double first, double last)
{
  double least = edge(lines, drift, -CLOCK_DRIFT_MOST), most = edge(lines, drift, CLOCK_DRIFT_MOST), far = 0;
  const double times[] = {first, last};
  for (int i = 0; i < 2; i++)
    for (int side = -1; side <= 1; side += 2) {
      double extreme = side * goal(lines, search(lines, least, most, side, times[i]), side, times[i]);
      far = fmax(far, fabs(extreme - (offset + drift * times[i])));
    }
  return far;
}

static bool fit(struct lines *lines, struct clock_offset *offset)
{
  double first = INFINITY, last = -INFINITY, drift = 0;
  if (goal(lines, 0, 0, 0) < 0)
    drift = search(lines, -CLOCK_DRIFT_MOST, CLOCK_DRIFT_MOST, 0, 0);
  struct bounds bounds = bounds_at(lines, drift);
  if (bounds.least > bounds.most)
    return false;
  for (size_t i = 0; i < lines->count; i++) {
    first = fmin(first, time_of(lines, &lines->pairs[i]));
    last = fmax(last, time_of(lines, &lines->pairs[i]));
  }
  double none = -(double)lines->base_ns; // no offset at all: believed where it is possible
  double middle = drift == 0 && bounds.least <= none && none <= bounds.most ? none : (bounds.least + bounds.most) / 2;
  offset->offset_ns = saturate_add(lines->base_ns, whole_ns(middle));
  offset->time_ns = lines->time_ns;
  offset->drift = drift;
  offset->uncertainty_ns = whole_ns(ceil(uncertainty_of(lines, middle, drift, first, last)));
  offset->agreeing = lines->count;
  return offset->is_known = true;
}

// ---- pairs that contradict each other --------------------------------------------------------------------------------
struct end {
  int64_t at_ns;
  int step; // 1: a pair's bounds begin; -1: they end
};

SORTED_BY(by_place, struct end, RISING(at_ns) ?: FALLING(step)) // touching is agreeing

// Moves the pairs that most others agree with to the front, and returns their number.
static size_t agree(struct clock_pair *pairs, size_t count)
{
  struct end *ends = memory_new(2 * count, sizeof *ends);
  size_t open = 0, most = 0, kept = 0;
  int64_t where = 0;
  for (size_t i = 0; i < count; i++) {
    ends[2 * i] = (struct end){pairs[i].least_ns, 1};
    ends[2 * i + 1] = (struct end){pairs[i].most_ns, -1};
  }
  qsort(ends, 2 * count, sizeof *ends, by_place);
  for (size_t i = 0; i < 2 * count; i++) {
    open += (size_t)ends[i].step;
    if (ends[i].step > 0 && open > most) {
      most = open;
      where = ends[i].at_ns;
    }
  }
  free(ends);
  for (size_t i = 0; i < count; i++)
    if (pairs[i].least_ns <= where && where <= pairs[i].most_ns) {
      struct clock_pair pair = pairs[kept];
      pairs[kept++] = pairs[i];
      pairs[i] = pair;
    }
  return kept;
}

// A call that seems to last longer where it was called than at the caller says nothing.
static size_t possible(struct clock_pair *pairs, size_t count)
{
  size_t kept = 0;
  for (size_t i = 0; i < count; i++)
    if (pairs[i].least_ns <= pairs[i].most_ns)
      pairs[kept++] = pairs[i];
  return kept;
}

void import_clock_estimate(struct clock_pair *pairs, size_t count, struct clock_offset *ret_offset)
{
  *ret_offset = (struct clock_offset){.count = count};
  size_t usable = possible(pairs, count);
  if (usable == 0)
    return;
  struct lines lines = {pairs, usable, pairs[0].time_ns, pairs[0].least_ns};
  if (fit(&lines, ret_offset))
    return;
  lines.count = agree(pairs, usable);
  if (lines.count * 2 > count)
    (void)fit(&lines, ret_offset);
}

int64_t import_clock_ahead(const struct clock_offset *offset, int64_t time_ns)
{
  return saturate_add(offset->offset_ns, whole_ns(offset->drift * (double)saturate_subtract(time_ns, offset->time_ns)));
}
