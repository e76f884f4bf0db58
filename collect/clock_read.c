// SPDX-License-Identifier: Apache-2.0
// Clock readings for a session. Called by session.c; one short busy moment, no state.
#include "collect/clock_read.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>

static int is_invariant(void)
{
  unsigned eax, ebx, ecx, edx;
  return __get_cpuid(0x80000007u, &eax, &ebx, &ecx, &edx) && (edx & (1u << 8));
}

static uint64_t read_counter(void)
{
  return __rdtsc();
}
#elif defined(__aarch64__)
static int is_invariant(void)
{
  return 1;
}

static uint64_t read_counter(void)
{
  uint64_t ticks;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
}
#else
static int is_invariant(void)
{
  return 0;
}

static uint64_t read_counter(void)
{
  return 0;
}
#endif

#define TRIES 9

static int64_t read_ns(clockid_t clock)
{
  struct timespec now = {0, 0};
  clock_gettime(clock, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

enum session_tick_clock clock_read_choose(void)
{
  const char *wish = getenv("XSP_CLOCK");
  if (!is_invariant() || (wish != NULL && strcmp(wish, "monotonic") == 0))
    return SESSION_TICKS_MONOTONIC;
  return SESSION_TICKS_TSC;
}

int clock_read_possible(enum session_tick_clock tick_clock)
{
  return tick_clock == SESSION_TICKS_MONOTONIC || (tick_clock == SESSION_TICKS_TSC && is_invariant());
}

static uint64_t read_ticks(enum session_tick_clock tick_clock)
{
  return tick_clock == SESSION_TICKS_TSC ? read_counter() : (uint64_t)read_ns(CLOCK_MONOTONIC);
}

struct session_calibration clock_read(enum session_tick_clock tick_clock)
{
  // The reading of the least width: an interrupt in between would shift the clocks against each other by its length.
  struct session_calibration best = {0, 0, 0, 0};
  uint64_t best_width = UINT64_MAX;
  for (int i = 0; i < TRIES; i++) {
    uint64_t before = read_ticks(tick_clock);
    int64_t realtime_ns = read_ns(CLOCK_REALTIME);
    int64_t monotonic_ns = read_ns(CLOCK_MONOTONIC);
    uint64_t width = read_ticks(tick_clock) - before;
    if (width < best_width) {
      best_width = width;
      best = (struct session_calibration){before + width / 2, realtime_ns, monotonic_ns, 0};
    }
  }
  return best;
}
