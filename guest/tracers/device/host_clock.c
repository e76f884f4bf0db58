// SPDX-License-Identifier: Apache-2.0
// Readings of the host's clocks. Called when a tracer starts and when it meets a device.
#include "tracers/device/host_clock.h"

#include "base/clock.h"

#include <xsp/span.h>

struct reading {
  uint64_t ticks, raw_ns;
};
static struct reading first;

// Of a few readings the closest: an interrupt in between would be an error of microseconds.
struct clock_observation host_clock_read(clockid_t clock)
{
  struct clock_observation best = {0, 0, 0, UINT64_MAX};
  for (int i = 0; i < 5; i++) {
    uint64_t before = xsp_clock_ticks();
    uint64_t ns = clock_now_ns(clock);
    uint64_t after = xsp_clock_ticks();
    if (after - before < best.ticks_high - best.ticks_low)
      best = (struct clock_observation){ns, before, ns, after};
  }
  return best;
}

static struct reading read_both(void)
{
  struct clock_observation seen = host_clock_read(CLOCK_MONOTONIC_RAW);
  return (struct reading){seen.ticks_low + (seen.ticks_high - seen.ticks_low) / 2, seen.device_low};
}

void host_clock_start(void)
{
  first = read_both();
}

// Right to some 100 ns over the time since start, which loading a driver makes long enough.
double host_clock_rate(void)
{
  struct reading now = read_both();
  const struct timespec pause = {0, 1000000};
  while (now.raw_ns - first.raw_ns < 2000000) {
    nanosleep(&pause, NULL);
    now = read_both();
  }
  return (double)(now.ticks - first.ticks) / (double)(now.raw_ns - first.raw_ns);
}
