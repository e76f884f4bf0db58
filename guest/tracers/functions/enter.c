// SPDX-License-Identifier: Apache-2.0
// The way of every traced call. Compiled without vector registers and without sanitizers, because the traced function's
// arguments and results are in those registers: what is called from here is inline or goes through functions_keep.

// The inline path's way out, led through functions_keep. Before any header that declares it.
#define xsp_span_start_slow_v1 functions_start_out
#define xsp_span_finish_slow_v1 functions_finish_out
#include "tracers/functions/frame.h"
#include "tracers/functions/keep.h"
#include "tracers/functions/system.h"

#include <xsp/monitor.h>

// Where on the stack a start or finish on the slow path is going on in this thread; 0: nowhere. What it calls, if traced
// too, is not recorded: its own finish might be on the slow path again, without end. An address and not a flag: after a
// jump out of a handler out of the slow path, calls from higher up are recorded again.
static __thread uintptr_t busy __attribute__((tls_model("initial-exec")));
// A run of pages found readable, most often the thread's stack.
static __thread uintptr_t readable_low __attribute__((tls_model("initial-exec")));
static __thread uintptr_t readable_high __attribute__((tls_model("initial-exec")));

static inline bool is_busy(void)
{
  return __builtin_expect(busy != 0, 0) && (uintptr_t)__builtin_frame_address(0) < busy;
}

// Around a fork: between it and the child's fresh rings, a span would be written into the parent's.
void functions_pause(void)
{
  busy = UINTPTR_MAX;
}

void functions_resume(void)
{
  busy = 0;
}

static struct xsp_span go_out(const void *a, uint64_t b, struct xsp_span (*fn)(const void *, uint64_t))
{
  uintptr_t before = is_busy() ? busy : 0;
  busy = (uintptr_t)__builtin_frame_address(0);
  struct xsp_span span = functions_keep(a, b, fn);
  busy = before;
  return span;
}

struct xsp_span functions_start_out(struct xsp_site *site)
{
  return go_out(site, 0, functions_start_slow);
}

void functions_finish_out(struct xsp_span span, uint64_t now)
{
  go_out(&span, now, functions_finish_slow);
}

// Storing the registers does not change them.
static inline void store_vectors(double *to)
{
#if defined(__x86_64__)
  __asm__ volatile("movsd %%xmm0, (%0)\n\tmovsd %%xmm1, 8(%0)\n\tmovsd %%xmm2, 16(%0)\n\tmovsd %%xmm3, 24(%0)\n\t"
                   "movsd %%xmm4, 32(%0)\n\tmovsd %%xmm5, 40(%0)\n\tmovsd %%xmm6, 48(%0)\n\tmovsd %%xmm7, 56(%0)"
                   :
                   : "r"(to)
                   : "memory");
#else
  __asm__ volatile("stp d0, d1, [%0]\n\tstp d2, d3, [%0, #16]\n\tstp d4, d5, [%0, #32]\n\tstp d6, d7, [%0, #48]"
                   :
                   : "r"(to)
                   : "memory");
#endif
}

static inline bool is_described(const struct functions_entry *entry)
{
  return __builtin_expect(entry->has_signature || (xsp_monitor_domains_v1 & (1u << XSP_DOMAIN_GPU)) != 0, 0);
}

// Not inline: its frame is large, and most calls need none.
static __attribute__((noinline)) void describe(const struct functions_entry *entry, const struct xsp_span *span,
                                               bool has_returned)
{
  struct functions_call call; // not cleared: that could become a call of memset
  call.entry = entry;
  call.span = span;
  store_vectors(call.vectors);
  go_out(&call, has_returned, functions_describe);
}

void functions_enter(struct functions_entry *entry, struct xsp_span *ret_span)
{
  if (is_busy())
    return; // the trampoline has made the span one that is not recorded
  struct xsp_site *site = __atomic_load_n(&entry->site, __ATOMIC_ACQUIRE);
  if (__builtin_expect(site == NULL, 0)) {
    go_out(entry, 0, functions_first_call);
    site = __atomic_load_n(&entry->site, __ATOMIC_ACQUIRE);
  }
  *ret_span = xsp_span_start(site);
  if (is_described(entry))
    describe(entry, ret_span, false);
}

void functions_leave(struct xsp_span *span)
{
  const struct functions_entry *entry = *(struct functions_entry **)((char *)span + FUNCTIONS_FRAME_ENTRY);
  if (is_described(entry) && !is_busy())
    describe(entry, span, true);
  xsp_span_finish(span);
}

// Arguments lie without a gap above the return address: where the next page is not there, they end before it.
uint64_t functions_window(uintptr_t from, uint64_t bytes)
{
  uintptr_t end = from + bytes, page = (from | (FUNCTIONS_PAGE - 1)) + 1;
  if (from >= readable_low && end <= readable_high)
    return bytes;
  for (uintptr_t at = page; at < end; at += FUNCTIONS_PAGE) {
    if (!system_is_readable((const void *)at))
      return at - from;
    uintptr_t low = at - FUNCTIONS_PAGE, high = at + FUNCTIONS_PAGE;
    if (low <= readable_high && high >= readable_low) { // they touch: one run
      readable_low = low < readable_low ? low : readable_low;
      readable_high = high > readable_high ? high : readable_high;
    } else {
      readable_low = low;
      readable_high = high;
    }
  }
  return bytes;
}
