// SPDX-License-Identifier: Apache-2.0
// The piecewise linear map from ticks to wall time. Called by drain.c for every time in a record; readings come from
// the session file, which other processes write, so each is checked for sense. Does no I/O.
#include "collect/clock_map.h"

#include "base/memory.h"
#include "base/saturate.h"
#include "base/sorted.h"

#include <stdlib.h>
#include <string.h>

void clock_map_start(struct clock_map *map, enum session_tick_clock tick_clock)
{
  memset(map, 0, sizeof *map);
  map->unit_ticks = tick_clock == SESSION_TICKS_MONOTONIC;
}

void clock_map_done(struct clock_map *map)
{
  free(map->knots);
  memset(map, 0, sizeof *map);
}

// Halves the number of knots in the older half. Times of spans that began there and still run may move by the reading
// error of a knot (tens of nanoseconds); every later time stays.
static void thin(struct clock_map *map)
{
  size_t half = map->count / 2, kept = 1;
  for (size_t i = 2; i < half; i += 2) {
    struct clock_knot knot = map->knots[i];
    const struct clock_knot *before = &map->knots[kept - 1];
    knot.ns_per_tick = (double)(knot.monotonic_ns - before->monotonic_ns) / (double)(knot.ticks - before->ticks);
    map->knots[kept++] = knot;
  }
  struct clock_knot *joint = &map->knots[half];
  const struct clock_knot *before = &map->knots[kept - 1];
  joint->ns_per_tick = (double)(joint->monotonic_ns - before->monotonic_ns) / (double)(joint->ticks - before->ticks);
  memmove(map->knots + kept, joint, (map->count - half) * sizeof *map->knots);
  map->count = kept + (map->count - half);
  map->knots[0].ns_per_tick = map->knots[1].ns_per_tick;
}

static void make_room(struct clock_map *map)
{
  if (map->count >= CLOCK_KNOTS_MAXIMUM)
    thin(map);
  if (map->count < map->capacity)
    return;
  map->capacity = map->capacity ? map->capacity * 2 : 64;
  map->knots = memory_resize(map->knots, map->capacity, sizeof *map->knots);
}

bool clock_map_add(struct clock_map *map, const struct session_calibration *reading)
{
  // Far from the ends of int64, so that no sum below can overflow: 2^61 ns are 73 years around 1970.
  const int64_t most = INT64_C(1) << 61;
  if (reading->realtime_ns < -most || reading->realtime_ns > most || reading->monotonic_ns < 0 ||
      reading->monotonic_ns > most || (map->unit_ticks && reading->ticks > (uint64_t)most)) {
    map->rejected++;
    return false;
  }
  struct clock_knot knot = {.ticks = reading->ticks,
                            .monotonic_ns = reading->monotonic_ns,
                            .realtime_ns = reading->realtime_ns,
                            .offset_ns = reading->realtime_ns - reading->monotonic_ns,
                            .ns_per_tick = map->unit_ticks ? 1.0 : 0.0};
  if (map->count > 0) {
    const struct clock_knot *last = &map->knots[map->count - 1];
    if (knot.ticks <= last->ticks)
      return false; // another process read its clocks before our last reading: the map is fixed there already
    if (!map->unit_ticks) {
      knot.ns_per_tick = (double)(knot.monotonic_ns - last->monotonic_ns) / (double)(knot.ticks - last->ticks);
      if (!(knot.ns_per_tick >= CLOCK_NS_PER_TICK_LEAST && knot.ns_per_tick <= CLOCK_NS_PER_TICK_MOST)) {
        map->rejected++;
        return false;
      }
    }
    int64_t step = knot.offset_ns - last->offset_ns;
    if (llabs(step) < CLOCK_STEP_LEAST_NS)
      knot.offset_ns = last->offset_ns;
    else if (llabs(step) > llabs(map->step_ns))
      map->step_ns = step;
  }
  make_room(map);
  map->knots[map->count++] = knot;
  if (map->count == 2)
    map->knots[0].ns_per_tick = knot.ns_per_tick;
  return true;
}

bool clock_map_usable(const struct clock_map *map)
{
  return map->count >= 2 || (map->count == 1 && map->unit_ticks);
}

uint64_t clock_map_horizon(const struct clock_map *map)
{
  return map->count ? map->knots[map->count - 1].ticks : 0;
}

int64_t clock_map_monotonic(const struct clock_map *map, int64_t monotonic_ns)
{
  return saturate_add(monotonic_ns, map->count ? map->knots[0].offset_ns : 0);
}

int64_t clock_map_ticks(const struct clock_map *map, uint64_t ticks)
{
  if (map->unit_ticks)
    return clock_map_monotonic(map, ticks > INT64_MAX ? INT64_MAX : (int64_t)ticks);
  if (map->count == 0)
    return 0;
  // The segment that ends at or after `ticks`; times drained are recent, so look at the last one first.
  size_t last = map->count - 1, at = last;
  if (last > 0 && ticks < map->knots[last - 1].ticks)
    at = PARTITION_POINT(i, 0, last, map->knots[i].ticks < ticks);
  const struct clock_knot *end = &map->knots[at];
  double distance = ticks >= end->ticks ? (double)(ticks - end->ticks) : -(double)(end->ticks - ticks);
  double ns = distance * end->ns_per_tick;
  if (!(ns > -9.2e18 && ns < 9.2e18))
    return ns > 0 ? INT64_MAX : INT64_MIN;
  int64_t whole = (int64_t)ns;
  if ((double)whole > ns)
    whole--; // rounded down, on both sides of the knot
  return clock_map_monotonic(map, saturate_add(end->monotonic_ns, whole));
}

int64_t clock_map_realtime(const struct clock_map *map, int64_t realtime_ns)
{
  if (map->count == 0 || map->step_ns == 0)
    return realtime_ns;
  // The offset in force: that of the knot whose reading of the wall clock is nearest, the later of equals.
  const struct clock_knot *nearest = &map->knots[0];
  uint64_t least = UINT64_MAX;
  for (size_t i = 0; i < map->count; i++) {
    int64_t knot_ns = map->knots[i].realtime_ns;
    uint64_t distance =
        realtime_ns > knot_ns ? (uint64_t)realtime_ns - (uint64_t)knot_ns : (uint64_t)knot_ns - (uint64_t)realtime_ns;
    if (distance <= least) {
      least = distance;
      nearest = &map->knots[i];
    }
  }
  return saturate_add(realtime_ns, map->knots[0].offset_ns - nearest->offset_ns);
}
