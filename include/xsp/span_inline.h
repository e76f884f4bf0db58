// SPDX-License-Identifier: Apache-2.0
// The inline fast path of <xsp/span.h>, version 1. Do not include directly. Its layouts are frozen: libxsp keeps
// serving programs that were compiled with it (xsp_thread_v1, and the slow paths ending in _v1).
//
// Nothing here loops, calls or locks. A signal handler may run between any two instructions and start and finish its
// own spans. The process may be killed between any two instructions without losing a span whose finish has returned.
#ifndef XSP_SPAN_H
#error "include <xsp/span.h>"
#endif
#ifndef XSP_SPAN_INLINE_H
#define XSP_SPAN_INLINE_H

#if defined(__x86_64__)
#include <xsp/inline_x86_64.h>
#else
#include <xsp/inline_aarch64.h>
#endif

#define XSP_OPEN_SPANS_V1 64u
#define XSP_RECORD_SPAN_V1 UINT64_C(1)

struct xsp_open_v1 {
  uint64_t start;   // 0: not in use
  uint64_t site_id; // site | id << 32
};
struct xsp_ring_v1 { // the owning thread and its signal handlers write; the collector reads, and writes `limit`
  uint64_t head;
  uint64_t limit;
  uint64_t depth_id; // open spans | id of the next span << 32
  uint64_t dropped;
  uint64_t mask; // positions to slots
  uint64_t reserved[3];
  struct xsp_open_v1 open[XSP_OPEN_SPANS_V1]; // at and above depth every start is 0
};
struct xsp_record_v1 {
  uint64_t start;
  uint64_t duration;
  uint64_t site_id;
  uint64_t type_commit; // type | kind and clock << 8 | track << 16 | (position + 1) << 32
};
#define XSP_RECORDS_OFFSET_V1 3968 // from the ring to its records: one pointer, read once, leads to all of a ring
struct xsp_thread_v1 {
  struct xsp_ring_v1 *ring; // NULL: everything goes through the slow path (no session yet, no ring, slow clock)
  uint64_t reserved[3];
};
XSP_API extern __thread struct xsp_thread_v1 xsp_thread_v1 __attribute__((tls_model("initial-exec")));

XSP_API struct xsp_span xsp_span_start_slow_v1(struct xsp_site *site);
// `now`: the end, 0 where the fast path read no clock.
XSP_API void xsp_span_finish_slow_v1(struct xsp_span span, uint64_t now);

static inline struct xsp_span xsp_span_start(struct xsp_site *site)
{
  struct xsp_span span = {0, 0, 0};
  if (site == NULL || (*__atomic_load_n(&site->levels, __ATOMIC_RELAXED) & site->mask) == 0)
    return span;
  struct xsp_ring_v1 *ring = xsp_thread_v1.ring;
  uint32_t id = __atomic_load_n(&site->id, __ATOMIC_RELAXED);
  if (__builtin_expect(ring == NULL || id == 0, 0))
    return xsp_span_start_slow_v1(site);
  // Depth first: from here on a handler's spans go above this one and restore the stack.
  uint64_t depth_id = xsp_inline_add_v1(&ring->depth_id, (UINT64_C(1) << 32) | 1);
  uint32_t depth = (uint32_t)depth_id;
  span.site = id;
  span.id = (uint32_t)(depth_id >> 32);
  if (__builtin_expect(depth >= XSP_OPEN_SPANS_V1, 0)) { // too deep to be listed as open
    span.start = xsp_inline_ticks_v1();
    return span;
  }
  struct xsp_open_v1 *open = &ring->open[depth];
  __atomic_store_n(&open->site_id, (depth_id >> 32 << 32) | id, __ATOMIC_RELAXED);
  span.start = xsp_inline_ticks_v1();
  __atomic_store_n(&open->start, span.start, __ATOMIC_RELEASE); // last: makes the entry valid
  return span;
}

static inline void xsp_span_finish(struct xsp_span *span)
{
  if (span->start == 0)
    return;
  struct xsp_ring_v1 *ring = xsp_thread_v1.ring;
  if (__builtin_expect(ring == NULL, 0)) {
    xsp_span_finish_slow_v1(*span, 0);
    return;
  }
  uint64_t now = xsp_inline_ticks_v1();
  uint64_t site_id = span->site | (uint64_t)span->id << 32;
  uint32_t top = (uint32_t)ring->depth_id - 1;
  if (__builtin_expect(top >= XSP_OPEN_SPANS_V1 || ring->open[top].start != span->start ||
                           ring->open[top].site_id != site_id ||
                           ring->head >= __atomic_load_n(&ring->limit, __ATOMIC_RELAXED),
                       0)) {
    xsp_span_finish_slow_v1(*span, now);
    return;
  }
  uint64_t position = xsp_inline_add_v1(&ring->head, 1); // may pass `limit` by what nested handlers took
  struct xsp_record_v1 *record =
      (struct xsp_record_v1 *)(void *)((char *)ring + XSP_RECORDS_OFFSET_V1) + (position & ring->mask);
  record->start = span->start;
  record->duration = now - span->start;
  record->site_id = site_id;
  __atomic_store_n(&record->type_commit, XSP_RECORD_SPAN_V1 | (position + 1) << 32, __ATOMIC_RELEASE);
  // The span is open until here: if killed in between, it is in both places and the reader takes the record.
  __atomic_store_n(&ring->open[top].start, 0, __ATOMIC_RELEASE);
  (void)xsp_inline_add_v1(&ring->depth_id, ~UINT64_C(0));
}

#endif
