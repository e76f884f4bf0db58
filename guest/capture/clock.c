// SPDX-License-Identifier: Apache-2.0
// The process's tick clock and its calibrations of the session. Called from everywhere; signal-safe.
#include "capture/capture.h"

#include "base/clock.h"
#include "format/session_clock.h"

#include <stdlib.h>

#define CALIBRATION_INTERVAL_NS UINT64_C(100000000)

uint64_t clock_ticks(void)
{
  uint32_t ticks = __atomic_load_n(&capture.ticks, __ATOMIC_RELAXED);
  if (__builtin_expect(ticks == 0, 0)) { // no session yet: what a session of ours would take
    ticks = session_clock_choose(secure_getenv("XSP_CLOCK"));
    uint32_t undecided = 0;
    if (!__atomic_compare_exchange_n(&capture.ticks, &undecided, ticks, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
      ticks = undecided;
  }
  return session_clock_ticks(ticks);
}

void clock_calibrate(void)
{
  struct session_calibration reading = session_clock_read(capture.session->tick_clock);
  session_clock_write(capture.session, &reading);
  __atomic_store_n(&capture.calibrated_ns, (uint64_t)reading.monotonic_ns, __ATOMIC_RELAXED);
}

void clock_calibrate_if_due(void)
{
  uint64_t since_ns = clock_now_ns(CLOCK_MONOTONIC) - __atomic_load_n(&capture.calibrated_ns, __ATOMIC_RELAXED);
  if (since_ns >= CALIBRATION_INTERVAL_NS)
    clock_calibrate();
}

uint64_t xsp_clock_ticks(void)
{
  return clock_ticks();
}
