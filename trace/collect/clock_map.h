// SPDX-License-Identifier: Apache-2.0
// From a session's ticks to nanoseconds since the Unix epoch. Pure; one thread at a time.
//
// The map is piecewise linear between knots (clock readings) and is appended to only: what was converted once is
// converted to the same value later, so that spans drained at different times still nest. All wall times use the offset
// CLOCK_REALTIME - CLOCK_MONOTONIC of the first knot: a step of the system's clock moves no span and stretches none.
#ifndef XSP_COLLECT_CLOCK_MAP_H
#define XSP_COLLECT_CLOCK_MAP_H

#include "format/session.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// 320 KiB. Beyond it older knots are thinned out; with a drain each second the last hour is kept in full.
#define CLOCK_KNOTS_MAXIMUM 8192u
#define CLOCK_STEP_LEAST_NS 10000      // smaller changes of the offset are reading noise
#define CLOCK_NS_PER_TICK_LEAST 0.01   // 100 GHz: no such clock
#define CLOCK_NS_PER_TICK_MOST 10000.0 // 100 kHz

struct clock_knot {
  uint64_t ticks;
  int64_t monotonic_ns;
  int64_t realtime_ns;
  int64_t offset_ns;  // REALTIME - MONOTONIC here, kept equal to the knot before where it differs by noise only
  double ns_per_tick; // of the segment that ends here; of the first knot: of the segment that begins here; 0: unknown
};
struct clock_map {
  struct clock_knot *knots; // owned, ascending in ticks and in monotonic_ns
  size_t count, capacity;
  int64_t step_ns;   // the largest change of the offset between two knots, with its sign; 0: none
  uint64_t rejected; // readings that made no sense
  bool unit_ticks;   // ticks are nanoseconds of CLOCK_MONOTONIC: one knot is enough
};

void clock_map_start(struct clock_map *map, enum session_tick_clock tick_clock);
// False: not taken, because it is not later than the last knot, or absurd (counted).
bool clock_map_add(struct clock_map *map, const struct session_calibration *reading);
bool clock_map_usable(const struct clock_map *map);      // at least two knots, or one and unit ticks
uint64_t clock_map_horizon(const struct clock_map *map); // ticks up to which the map will not change any more
// Unix nanoseconds. Outside the knots the nearest segment goes on. Saturates at the ends of int64.
int64_t clock_map_ticks(const struct clock_map *map, uint64_t ticks);
int64_t clock_map_monotonic(const struct clock_map *map, int64_t monotonic_ns);
int64_t clock_map_realtime(const struct clock_map *map, int64_t realtime_ns); // takes out steps of the clock
void clock_map_done(struct clock_map *map);

#endif
