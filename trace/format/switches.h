// SPDX-License-Identifier: Apache-2.0
// When levels were switched on and off in a session: for tracers whose events become spans later, which are kept or left by
// when they began. Written by capture and collect, read by capture. Without locks; any thread or process.
#ifndef XSP_FORMAT_SWITCHES_H
#define XSP_FORMAT_SWITCHES_H

#include "format/session.h"

#include <stdbool.h>

// Notes that `tracer` (SESSION_TRACERS: all) has these levels from `realtime_ns` on.
static inline void switches_note(struct session_switches *switches, uint32_t tracer, uint32_t levels,
                                 int64_t realtime_ns)
{
  uint64_t sequence = __atomic_add_fetch(&switches->count, 1, __ATOMIC_RELAXED);
  struct session_switch *place = &switches->switched[(sequence - 1) % SESSION_SWITCHES];
  __atomic_store_n(&place->sequence, 0, __ATOMIC_RELAXED);
  __atomic_thread_fence(__ATOMIC_RELEASE);
  __atomic_store_n(&place->realtime_ns, realtime_ns, __ATOMIC_RELAXED);
  __atomic_store_n(&place->tracer, tracer, __ATOMIC_RELAXED);
  __atomic_store_n(&place->levels, levels, __ATOMIC_RELAXED);
  __atomic_store_n(&place->sequence, sequence, __ATOMIC_RELEASE);
}

// The levels that `tracer` had at `realtime_ns`; before the first switch `at_first`. Of a moment before the switches that are
// still there: those of the first one there.
static inline uint32_t switches_levels_at(const struct session_switches *switches, uint32_t tracer, int64_t realtime_ns,
                                          uint32_t at_first)
{
  uint64_t count = __atomic_load_n(&switches->count, __ATOMIC_ACQUIRE);
  uint64_t first = count > SESSION_SWITCHES ? count - SESSION_SWITCHES : 0;
  uint32_t levels = at_first;
  for (uint64_t sequence = count; sequence > first; sequence--) {
    const struct session_switch *place = &switches->switched[(sequence - 1) % SESSION_SWITCHES];
    if (__atomic_load_n(&place->sequence, __ATOMIC_ACQUIRE) != sequence) // half written, or gone
      continue;
    struct session_switch copy = {.realtime_ns = __atomic_load_n(&place->realtime_ns, __ATOMIC_RELAXED),
                                  .tracer = __atomic_load_n(&place->tracer, __ATOMIC_RELAXED),
                                  .levels = __atomic_load_n(&place->levels, __ATOMIC_RELAXED)};
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (__atomic_load_n(&place->sequence, __ATOMIC_RELAXED) != sequence ||
        (copy.tracer != tracer && copy.tracer != SESSION_TRACERS))
      continue;
    if (copy.realtime_ns <= realtime_ns)
      return copy.levels;
    levels = first > 0 ? copy.levels : at_first;
  }
  return levels;
}

#endif
