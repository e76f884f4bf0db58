// SPDX-License-Identifier: Apache-2.0
// Samples: where the calling thread was when a tracer looked at it. One record of its ring, within the innermost span that
// is open on the thread. Called by tracers, in signal handlers too.
#include "capture/capture.h"

#include <errno.h>
#include <xsp/span_inline.h>
#include <xsp/tracer.h>

_Static_assert((int)XSP_SAMPLE_CPU == (int)SAMPLE_CPU && (int)XSP_SAMPLE_SLEEP == (int)SAMPLE_SLEEP, "one list");
_Static_assert((int)XSP_SAMPLE_LOCK == (int)SAMPLE_LOCK && (int)XSP_SAMPLE_IO == (int)SAMPLE_IO, "one list");
_Static_assert((int)XSP_SAMPLE_CHILD == (int)SAMPLE_CHILD, "one list");

// The upper half of a record's site_id: the innermost open span that is listed; 0: none. An entry that the interrupted code
// is writing or moving has no start yet: the span around it holds.
static uint64_t innermost_id(const struct xsp_ring_v1 *ring)
{
  uint32_t depth = (uint32_t)__atomic_load_n(&ring->depth_id, __ATOMIC_RELAXED);
  for (uint32_t i = depth < RING_OPEN_SPANS ? depth : RING_OPEN_SPANS; i-- > 0;)
    if (__atomic_load_n(&ring->open[i].start, __ATOMIC_ACQUIRE) != 0)
      return __atomic_load_n(&ring->open[i].site_id, __ATOMIC_RELAXED) >> 32 << 32;
  return 0;
}

static bool write_sample(uint32_t what, uint32_t call_path, uint64_t duration_ns)
{
  if (!capture_attached())
    session_attach_if_asked();
  if (!capture_attached() || what < SAMPLE_CPU || what > SAMPLE_CHILD)
    return false;
  const struct xsp_ring_v1 *ring = ring_acquire() ? ring_own_producer() : NULL;
  if (ring == NULL)
    session_count_lost(1);
  else if (ring_room(1)) {
    ring_put(clock_ticks(), duration_ns, innermost_id(ring) | call_path, RECORD_SAMPLE | what << 8);
    return true;
  }
  return false;
}

int xsp_sample(enum xsp_sample_kind kind, uint32_t call_path, uint64_t duration_ns)
{
  int saved_errno = errno;
  bool is_written = write_sample(kind, call_path, duration_ns);
  errno = saved_errno;
  return is_written;
}
