// SPDX-License-Identifier: Apache-2.0
// Spans on a track must not overlap, commands on a queue may (out-of-order queues, several engines). A queue therefore
// has lanes: an execution goes to the first lane where its time is free, when its times are known. Times are ticks.
#ifndef XSP_TRACERS_DEVICE_LANES_H
#define XSP_TRACERS_DEVICE_LANES_H

#include <stdbool.h>
#include <stdint.h>

#define LANES_MOST 64u
#define LANE_RECENT 32u // intervals that a lane remembers: completions are reported out of order by a few at most

struct lane_interval {
  uint64_t start, end;
};
struct device_lane {
  uint32_t is_busy;                         // atomic: somebody looks at what follows
  uint32_t count;                           // of recent
  uint64_t floor;                           // everything before it is taken
  uint32_t track;                           // atomic; the owner's, 0: none yet
  struct lane_interval recent[LANE_RECENT]; // by time, disjoint
};
struct device_lanes {
  struct device_lane *lane[LANES_MOST]; // atomic; made as needed, never freed
};

// Takes [start, end] in a lane and returns it. NULL where no lane is free (or memory for one more): the caller publishes
// no track. Never waits: a lane that another thread looks at counts as taken after a few tries.
struct device_lane *device_lanes_take(struct device_lanes *lanes, uint64_t start, uint64_t end, uint32_t *ret_number);
// For tests and for lanes of one thread: false where the interval is taken.
bool device_lane_take(struct device_lane *lane, uint64_t start, uint64_t end);

#endif
