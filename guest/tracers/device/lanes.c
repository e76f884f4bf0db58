// SPDX-License-Identifier: Apache-2.0
// Which lane of a queue an execution goes to. Called on the driver's threads when a command has completed; takes no lock
// that it would wait for, and allocates once per lane.
#include "tracers/device/lanes.h"

#include <stdlib.h>
#include <string.h>

#define TRIES 64

bool device_lane_take(struct device_lane *lane, uint64_t start, uint64_t end)
{
  if (start < lane->floor || end < start)
    return false;
  uint32_t place = lane->count; // where it goes: after all that end before it starts
  while (place > 0 && lane->recent[place - 1].end > start)
    place--;
  if (place < lane->count && lane->recent[place].start < end)
    return false;
  if (lane->count == LANE_RECENT) {
    if (place == 0)
      return false; // older than all that is remembered, and what is forgotten may have been there
    lane->floor = lane->recent[0].end;
    memmove(lane->recent, lane->recent + 1, (LANE_RECENT - 1) * sizeof lane->recent[0]);
    lane->count--;
    place--;
  }
  memmove(lane->recent + place + 1, lane->recent + place, (lane->count - place) * sizeof lane->recent[0]);
  lane->recent[place] = (struct lane_interval){start, end};
  lane->count++;
  return true;
}

static struct device_lane *lane_at(struct device_lanes *lanes, uint32_t number)
{
  struct device_lane *lane = __atomic_load_n(&lanes->lane[number], __ATOMIC_ACQUIRE);
  if (lane != NULL)
    return lane;
  struct device_lane *fresh = calloc(1, sizeof *fresh);
  if (fresh == NULL ||
      __atomic_compare_exchange_n(&lanes->lane[number], &lane, fresh, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    return fresh;
  free(fresh);
  return lane;
}

// A holder keeps it for some ten instructions. One that was preempted, or that did not survive a fork, is not waited for.
static bool enter(struct device_lane *lane)
{
  for (int i = 0; i < TRIES; i++)
    if (__atomic_load_n(&lane->is_busy, __ATOMIC_RELAXED) == 0 &&
        __atomic_exchange_n(&lane->is_busy, 1, __ATOMIC_ACQUIRE) == 0)
      return true;
  return false;
}

struct device_lane *device_lanes_take(struct device_lanes *lanes, uint64_t start, uint64_t end, uint32_t *ret_number)
{
  for (uint32_t number = 0; number < LANES_MOST; number++) {
    struct device_lane *lane = lane_at(lanes, number);
    if (lane == NULL)
      return NULL;
    if (!enter(lane))
      continue;
    bool is_taken = device_lane_take(lane, start, end);
    __atomic_store_n(&lane->is_busy, 0, __ATOMIC_RELEASE);
    if (is_taken) {
      *ret_number = number;
      return lane;
    }
  }
  return NULL;
}
