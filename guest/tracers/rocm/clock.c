// SPDX-License-Identifier: Apache-2.0
// rocprofiler-sdk has CLOCK_BOOTTIME, as HSA's system clock: it differs from CLOCK_MONOTONIC by a constant until the machine is
// suspended. The clock is asked for its time instead of relied on.
#include "tracers/rocm/clock.h"

#include "base/clock.h"

#define TRIES 16
#define STEP_NS 1000000 // a difference that changed by less was measured badly, not changed

static int64_t difference_ns; // atomic: rocprofiler's minus CLOCK_MONOTONIC
static int64_t realtime_ns;   // atomic: CLOCK_REALTIME minus CLOCK_MONOTONIC

void rocm_clock_compare(const struct rocm *rocm)
{
  int64_t best = 0;
  uint64_t shortest = UINT64_MAX;
  for (int i = 0; i < TRIES; i++) {
    uint64_t theirs = 0, before = clock_now_ns(CLOCK_MONOTONIC);
    if (rocm->get_timestamp(&theirs) != ROCM_OK)
      return;
    uint64_t spent = clock_now_ns(CLOCK_MONOTONIC) - before;
    if (spent < shortest) {
      shortest = spent;
      best = (int64_t)(theirs - before - spent / 2);
    }
  }
  int64_t known = __atomic_load_n(&difference_ns, __ATOMIC_RELAXED);
  if (best - known > STEP_NS || known - best > STEP_NS)
    __atomic_store_n(&difference_ns, best, __ATOMIC_RELAXED);
  __atomic_store_n(&realtime_ns, (int64_t)(clock_now_ns(CLOCK_REALTIME) - clock_now_ns(CLOCK_MONOTONIC)),
                   __ATOMIC_RELAXED);
}

uint64_t rocm_clock_monotonic_ns(uint64_t rocm_ns)
{
  return rocm_ns == 0 ? 0 : rocm_ns - (uint64_t)__atomic_load_n(&difference_ns, __ATOMIC_RELAXED);
}

uint64_t rocm_clock_realtime_ns(uint64_t rocm_ns)
{
  return rocm_clock_monotonic_ns(rocm_ns) + (uint64_t)__atomic_load_n(&realtime_ns, __ATOMIC_RELAXED);
}
