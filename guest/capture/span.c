// SPDX-License-Identifier: Apache-2.0
// Start and finish without the inline path's assumptions: first span of a thread or site, no invariant counter, spans
// that finish out of order, full rings; and finished intervals. Called by <xsp/span_inline.h> and by programs that link
// the plain functions.
#include "capture/capture.h"

#include <errno.h>
#include <string.h>
#include <xsp/span_inline.h>

struct xsp_span xsp_span_start_call(struct xsp_site *site)
{
  return xsp_span_start(site);
}

void xsp_span_finish_call(struct xsp_span *span)
{
  xsp_span_finish(span);
}

// Or what is lost is counted.
static bool has_ring(void)
{
  if (__builtin_expect(capture_thread.ring != NULL, 1) || ring_acquire())
    return true;
  session_count_lost(1);
  return false;
}

// The thread has a ring and may write spans of `site`, or what is lost is counted.
static bool ready(struct xsp_site *site)
{
  return site_usable(site) && has_ring();
}

// The steps and their order are those of the inline path; only the clock may be another.
struct xsp_span xsp_span_start_slow_v1(struct xsp_site *site)
{
  struct xsp_span span = {0, 0, 0};
  int saved_errno = errno;
  struct xsp_ring_v1 *ring = ready(site) ? ring_own_producer() : NULL;
  if (ring != NULL) {
    uint64_t depth_id = xsp_inline_add_v1(&ring->depth_id, (UINT64_C(1) << 32) | 1);
    uint32_t depth = (uint32_t)depth_id;
    span.site = __atomic_load_n(&site->id, __ATOMIC_RELAXED);
    span.id = (uint32_t)(depth_id >> 32);
    if (depth < XSP_OPEN_SPANS_V1) {
      __atomic_store_n(&ring->open[depth].site_id, (depth_id >> 32 << 32) | span.site, __ATOMIC_RELAXED);
      counting_start(depth, span.id);
      span.start = clock_ticks();
      __atomic_store_n(&ring->open[depth].start, span.start, __ATOMIC_RELEASE);
    } else {
      span.start = clock_ticks();
    }
  }
  errno = saved_errno;
  return span;
}

void xsp_span_finish_slow_v1(struct xsp_span span, uint64_t now)
{
  if (span.start == 0)
    return;
  int saved_errno = errno;
  uint64_t site_id = span.site | (uint64_t)span.id << 32;
  if (now == 0)
    now = clock_ticks();
  int place = ring_find_open(span.start, site_id);
  if (place < 0) {
    session_count_misused();
  } else {
    counting_finish(span.id);
    if (ring_room(1))
      ring_put(span.start, now - span.start, site_id, RECORD_SPAN);
    ring_remove_open(place);
  }
  errno = saved_errno;
}

// ---- finished intervals
static bool track_fits(const struct xsp_interval *interval)
{
  bool foreign = false;
  if (interval->track != 0) {
    struct process_head *process = session_process();
    if (process == NULL || interval->track > PROCESS_TRACKS)
      return false;
    uint32_t id = __atomic_load_n(&process->track[interval->track - 1], __ATOMIC_ACQUIRE);
    const struct catalog_track *track = catalog_entry(id, CATALOG_TRACK);
    if (track == NULL)
      return false;
    foreign = track->clock != 0;
  }
  return (interval->clock == XSP_CLOCK_FOREIGN) == foreign; // never mixed on one track
}

static bool makes_sense(const struct xsp_interval *interval)
{
  return interval->size >= XSP_INTERVAL_SIZE_V1 && interval->end >= interval->start &&
         interval->kind <= XSP_KIND_EXECUTION && interval->clock <= XSP_CLOCK_FOREIGN && track_fits(interval);
}

struct xsp_span xsp_span_emit(struct xsp_site *site, const struct xsp_interval *interval)
{
  struct xsp_span span = {0, 0, 0};
  int saved_errno = errno;
  bool is_earlier = interval->size >= sizeof *interval && (interval->flags & XSP_INTERVAL_EARLIER) != 0;
  bool is_ready = is_earlier ? site_known(site) && site_has_id(site) && has_ring() : ready(site);
  struct xsp_ring_v1 *ring = is_ready ? ring_own_producer() : NULL;
  if (ring == NULL) {
    errno = saved_errno;
    return span;
  }
  uint32_t path = interval->size >= sizeof *interval ? interval->call_path : 0;
  uint32_t records = 1u + (interval->parent.id != 0) + (interval->correlation_id != 0) + (path != 0);
  if (!makes_sense(interval)) {
    session_count_misused();
  } else if (ring_room(records)) { // all or nothing: a span without its parent would be a wrong span
    uint64_t id = xsp_inline_add_v1(&ring->depth_id, UINT64_C(1) << 32) >> 32;
    span.site = __atomic_load_n(&site->id, __ATOMIC_RELAXED);
    uint64_t site_id = span.site | id << 32;
    if (interval->parent.id != 0)
      ring_put((uint64_t)interval->parent.ring << 32 | interval->parent.id, 0, id << 32, RECORD_PARENT);
    if (interval->correlation_id != 0)
      ring_put(interval->correlation_id, 0, id << 32, RECORD_CORRELATION | (uint32_t)interval->kind << 8);
    if (path != 0)
      ring_put(path, 0, id << 32, RECORD_PATH);
    uint32_t kind_clock = interval->kind | (uint32_t)interval->clock << 4;
    ring_put(interval->start, interval->end - interval->start, site_id,
             RECORD_SPAN | kind_clock << 8 | (uint32_t)interval->track << 16);
    span.start = UINT64_MAX; // no open span starts then: a finish by mistake finds nothing
    span.id = (uint32_t)id;
    capture_thread.emitted_site = span.site;
    capture_thread.emitted_id = span.id;
  }
  errno = saved_errno;
  return span;
}
