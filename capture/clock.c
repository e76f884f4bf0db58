// SPDX-License-Identifier: Apache-2.0
// The session's tick clock and its calibration triples. Called from everywhere; signal-safe; only clock_gettime below it.
#include "capture/capture.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CALIBRATION_TRIES 5
#define CALIBRATION_INTERVAL_NS UINT64_C(100000000)

static int64_t read_ns(clockid_t clock)
{
  struct timespec now = {0, 0};
  clock_gettime(clock, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

uint64_t clock_monotonic_ns(void)
{
  return (uint64_t)read_ns(CLOCK_MONOTONIC);
}

enum session_tick_clock clock_choose(void)
{
  const char *wish = secure_getenv("XSP_CLOCK");
  if (!arch_ticks_invariant() || (wish != NULL && strcmp(wish, "monotonic") == 0))
    return SESSION_TICKS_MONOTONIC;
  return SESSION_TICKS_TSC;
}

uint64_t clock_ticks(void)
{
  uint32_t ticks = __atomic_load_n(&capture.ticks, __ATOMIC_RELAXED);
  if (__builtin_expect(ticks == 0, 0)) { // no session yet: what a session of ours would take
    ticks = clock_choose();
    uint32_t undecided = 0;
    if (!__atomic_compare_exchange_n(&capture.ticks, &undecided, ticks, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
      ticks = undecided;
  }
  return ticks == SESSION_TICKS_TSC ? arch_ticks() : clock_monotonic_ns();
}

// Takes the closest of a few readings: an interrupt between the four clock reads would be an error of microseconds.
static struct session_calibration take_triple(void)
{
  struct session_calibration best = {0, 0, 0, 0};
  uint64_t best_width = UINT64_MAX;
  for (int i = 0; i < CALIBRATION_TRIES; i++) {
    uint64_t before = clock_ticks();
    int64_t realtime_ns = read_ns(CLOCK_REALTIME);
    int64_t monotonic_ns = read_ns(CLOCK_MONOTONIC);
    uint64_t width = clock_ticks() - before;
    if (width < best_width) {
      best_width = width;
      best = (struct session_calibration){before + width / 2, realtime_ns, monotonic_ns, 0};
    }
  }
  return best;
}

void clock_calibrate(void)
{
  struct session_head *session = capture.session;
  struct session_calibration triple = take_triple();
  uint64_t sequence = __atomic_add_fetch(&session->calibration_count, 1, __ATOMIC_RELAXED);
  size_t slot = sequence == 1 ? 0 : 1 + (size_t)((sequence - 2) % (SESSION_CALIBRATIONS - 1));
  struct session_calibration *place = &session->calibration[slot];
  // Partner: the collector reads `sequence` before and after (acquire); 0 says that the rest is being written.
  __atomic_store_n(&place->sequence, 0, __ATOMIC_RELEASE);
  __atomic_store_n(&place->ticks, triple.ticks, __ATOMIC_RELEASE);
  __atomic_store_n(&place->realtime_ns, triple.realtime_ns, __ATOMIC_RELEASE);
  __atomic_store_n(&place->monotonic_ns, triple.monotonic_ns, __ATOMIC_RELEASE);
  __atomic_store_n(&place->sequence, sequence, __ATOMIC_RELEASE);
  __atomic_store_n(&capture.calibrated_ns, (uint64_t)triple.monotonic_ns, __ATOMIC_RELAXED);
}

void clock_calibrate_if_due(void)
{
  if (clock_monotonic_ns() - __atomic_load_n(&capture.calibrated_ns, __ATOMIC_RELAXED) >= CALIBRATION_INTERVAL_NS)
    clock_calibrate();
}

uint64_t xsp_clock_ticks(void)
{
  return clock_ticks();
}
