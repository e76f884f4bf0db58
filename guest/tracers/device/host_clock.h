// SPDX-License-Identifier: Apache-2.0
// The session's ticks against clocks of the host: what a device's clock is compared with. Any thread; nothing waits but
// host_clock_rate, once, for at most 2 ms.
#ifndef XSP_TRACERS_DEVICE_HOST_CLOCK_H
#define XSP_TRACERS_DEVICE_HOST_CLOCK_H

#include "tracers/device/device_clock.h"

#include <time.h>

// How wrong host_clock_rate is as the rate of another clock, relative: a clock that is steered (NTP) runs at most 500 ppm off,
// and no quartz is worse than 100 ppm. And how wrong at least what was measured for long.
#define RATE_ERROR_FIRST 6e-4
#define RATE_ERROR_LEAST 5e-6

void host_clock_start(void);  // once, early: the rate is measured from here
double host_clock_rate(void); // ticks a nanosecond of CLOCK_MONOTONIC_RAW
// The closest of a few readings of `clock`, in ns, between two of the ticks.
struct clock_observation host_clock_read(clockid_t clock);

#endif
