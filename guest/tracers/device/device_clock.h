// SPDX-License-Identifier: Apache-2.0
// From a device's clock to the session's ticks. Each observation states: the device's clock showed device_low not before
// ticks_low and device_high not after ticks_high. (The device's time at which a command was queued is within the call
// that queued it.) The map is piecewise linear; it is bent where an observation proves it wrong, and from time to time
// to the middle of what all observations since the last time allow. Any thread; nothing waits.
#ifndef XSP_TRACERS_DEVICE_DEVICE_CLOCK_H
#define XSP_TRACERS_DEVICE_DEVICE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define CLOCK_KNOTS 256u

struct
    clock_knot {   // from `device` on: ticks = this.ticks + (device - this.device) * rate. Read and written atomically.
  uint64_t device; // ns
  uint64_t ticks;
  double rate;       // ticks per ns
  double half;       // right to +- this many ticks at `device`
  double rate_error; // and the rate to this much, relative
};

struct device_clock {
  struct clock_knot knot[CLOCK_KNOTS]; // a ring; the newest is knot[(count - 1) % CLOCK_KNOTS]
  uint64_t count;                      // atomic; 0: nothing is known yet
  double first_rate;                   // as given at the start
  // ---- the rest belongs to the thread that set is_busy
  uint32_t is_busy;            // atomic
  double rate, rate_error;     // relative
  double rate_error_least;     // it may change by so much between observations
  struct clock_knot anchor[2]; // what the rate is measured from, and what comes next
  double anchor_error[2];      // ticks
  double lower, upper;         // how many ticks the map is to be raised at least and at most, as of bound_device
  uint64_t bound_device;
  uint64_t window_device; // where the window began
  uint64_t window_ns;     // its length
  double step_ticks;      // the greatest correction that an observation forced
};

struct clock_observation {
  uint64_t device_low, ticks_low;
  uint64_t device_high, ticks_high;
};

// `rate`: ticks per ns as far as known, `rate_error` how wrong it may be (relative), and how wrong at least after it was
// measured for long: a clock that is steered changes its rate.
void device_clock_start(struct device_clock *clock, double rate, double rate_error, double rate_error_least);
void device_clock_observe(struct device_clock *clock, const struct clock_observation *observation);
// 0 where nothing is known yet. *ret_error_ns: how wrong it may be.
uint64_t device_clock_ticks(const struct device_clock *clock, uint64_t device_ns, double *ret_error_ns);
// The greatest correction so far: what was converted before it was wrong by up to as much.
double device_clock_step_ns(const struct device_clock *clock);

#endif
