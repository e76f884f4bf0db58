// SPDX-License-Identifier: Apache-2.0
// The clock of one device: cycles of few bits, to the session's ticks. With levelzero_lock.
#ifndef XSP_TRACERS_LEVELZERO_CLOCK_H
#define XSP_TRACERS_LEVELZERO_CLOCK_H

#include "tracers/device/device_clock.h"
#include "tracers/levelzero/abi.h"

struct clock {
  uint64_t frequency;          // cycles a second
  uint64_t mask, kernel_mask;  // the bits that are valid
  uint64_t cycles, ticks;      // the last reading: all bits of it
  double rate;                 // ticks a nanosecond
  struct device_clock in_time; // of the cycles as nanoseconds
  double error_ns;             // the greatest of what was converted
};

// From the device's properties (1.2).
void levelzero_clock_start(struct clock *clock, double rate, const struct ze_device_properties *properties);
// The device showed `cycles`, whatever of them is valid, between the two. In the order of time.
void levelzero_clock_observe(struct clock *clock, uint64_t cycles, uint64_t ticks_before, uint64_t ticks_after);
// Of a command that was launched at `launched` (ticks) and began within one wrap of the kernel's clock since. False: it would
// have ended after `now`, so these are not its times.
bool levelzero_clock_convert(struct clock *clock, const struct ze_timestamps *times, uint64_t launched, uint64_t now,
                             uint64_t *ret_start, uint64_t *ret_end);

#endif
