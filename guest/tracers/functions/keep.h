// SPDX-License-Identifier: Apache-2.0
// Calls out of code that must not touch vector registers. One copy in each half.
#ifndef XSP_TRACERS_FUNCTIONS_KEEP_H
#define XSP_TRACERS_FUNCTIONS_KEEP_H

#include <stdint.h>
#include <xsp/span.h>

extern uint32_t functions_kept_bytes __attribute__((visibility("hidden"))); // of vector state; 0: what SSE has
extern uint32_t functions_kept_mask __attribute__((visibility("hidden")));

// Asks the processor what state there is. Before the first functions_keep.
void functions_keep_prepare(void) __attribute__((visibility("hidden")));
// fn(a, b), with all vector, mask and x87 registers as they were.
struct xsp_span functions_keep(const void *a, uint64_t b, struct xsp_span (*fn)(const void *, uint64_t))
    __attribute__((visibility("hidden")));

#endif
