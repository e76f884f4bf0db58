// SPDX-License-Identifier: Apache-2.0
// A session's clocks. Called by capture from everywhere, and by trace/collect/session.c. Only clock_gettime below it.
#include "format/session_clock.h"

#include "base/clock.h"

#include <stddef.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <xsp/inline_x86_64.h>

// CPUID 0x80000007 EDX bit 8: the counter runs at one rate in all power states. Kernels without it fall back too.
static bool is_invariant(void)
{
  unsigned eax, ebx, ecx, edx;
  return __get_cpuid(0x80000007u, &eax, &ebx, &ecx, &edx) && (edx & (1u << 8));
}
#elif defined(__aarch64__)
#include <xsp/inline_aarch64.h>

static bool is_invariant(void) // by architecture
{
  return true;
}
#else
static bool is_invariant(void)
{
  return false;
}

static uint64_t xsp_inline_ticks_v1(void)
{
  return 0;
}
#endif

#define TRIES 9

bool session_clock_is_usable(enum session_tick_clock clock)
{
  return clock == SESSION_TICKS_MONOTONIC || (clock == SESSION_TICKS_TSC && is_invariant());
}

enum session_tick_clock session_clock_choose(const char *wish)
{
  bool is_counter = is_invariant() && (wish == NULL || strcmp(wish, "monotonic") != 0);
  return is_counter ? SESSION_TICKS_TSC : SESSION_TICKS_MONOTONIC;
}

uint64_t session_clock_ticks(enum session_tick_clock clock)
{
  return clock == SESSION_TICKS_TSC ? xsp_inline_ticks_v1() : clock_now_ns(CLOCK_MONOTONIC);
}

// The reading of the least width: an interrupt in between would shift the clocks against each other by its length.
struct session_calibration session_clock_read(enum session_tick_clock clock)
{
  struct session_calibration best = {0, 0, 0, 0};
  uint64_t best_width = UINT64_MAX;
  for (int i = 0; i < TRIES; i++) {
    uint64_t before = session_clock_ticks(clock);
    int64_t realtime_ns = (int64_t)clock_now_ns(CLOCK_REALTIME);
    int64_t monotonic_ns = (int64_t)clock_now_ns(CLOCK_MONOTONIC);
    uint64_t width = session_clock_ticks(clock) - before;
    if (width < best_width) {
      best_width = width;
      best = (struct session_calibration){before + width / 2, realtime_ns, monotonic_ns, 0};
    }
  }
  return best;
}

void session_clock_write(struct session_head *session, const struct session_calibration *reading)
{
  uint64_t sequence = __atomic_add_fetch(&session->calibration_count, 1, __ATOMIC_RELAXED);
  size_t slot = sequence == 1 ? 0 : 1 + (size_t)((sequence - 2) % (SESSION_CALIBRATIONS - 1));
  struct session_calibration *place = &session->calibration[slot];
  // Partner: the collector reads `sequence` before and after (acquire); 0 says that the rest is being written.
  __atomic_store_n(&place->sequence, 0, __ATOMIC_RELEASE);
  __atomic_store_n(&place->ticks, reading->ticks, __ATOMIC_RELEASE);
  __atomic_store_n(&place->realtime_ns, reading->realtime_ns, __ATOMIC_RELEASE);
  __atomic_store_n(&place->monotonic_ns, reading->monotonic_ns, __ATOMIC_RELEASE);
  __atomic_store_n(&place->sequence, sequence, __ATOMIC_RELEASE);
}
