// SPDX-License-Identifier: Apache-2.0
// The inline fast path of <xsp/span.h>, version 1. Do not include directly. Its layouts are frozen: libxsp keeps serving
// programs that were compiled with it (xsp_thread_v1, and the slow paths ending in _v1).
#ifndef XSP_SPAN_H
#error "include <xsp/span.h>"
#endif
#ifndef XSP_SPAN_INLINE_H
#define XSP_SPAN_INLINE_H

// DRAFT: see format/session.h for the bytes. To be completed with capture.
static inline struct xsp_span xsp_span_start(struct xsp_site *site) { return xsp_span_start_call(site); }
static inline void xsp_span_finish(struct xsp_span *span) { xsp_span_finish_call(span); }

#endif
