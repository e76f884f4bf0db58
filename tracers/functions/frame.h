// SPDX-License-Identifier: Apache-2.0
// The frame that a traced call has between its caller and its function, and who works on it: the trampoline (assembler),
// enter.c (C without vector registers), functions.c (the rest).
#ifndef XSP_TRACERS_FUNCTIONS_FRAME_H
#define XSP_TRACERS_FUNCTIONS_FRAME_H

#define FUNCTIONS_FRAME_SPAN 96 // the span lies this far below the frame pointer
#define FUNCTIONS_PAGE 4096     // reading on within one never faults

#ifndef __ASSEMBLER__
#include "tracers/functions/table.h"

// ---- trampoline_*.S
extern char functions_trampoline[] __attribute__((visibility("hidden"))); // what stubs jump to
extern char functions_after_call[] __attribute__((visibility("hidden"))); // where the function returns to

// ---- enter.c: called by the trampoline, with arguments or results of the traced function in vector registers
void functions_enter(struct functions_entry *entry, struct xsp_span *ret_span) __attribute__((visibility("hidden")));
void functions_leave(struct xsp_span *span) __attribute__((visibility("hidden")));
// How many of the `bytes` above `from` may be read; called where they are not all in one page.
uint64_t functions_window(uintptr_t from, uint64_t bytes) __attribute__((visibility("hidden")));
// The calling thread records nothing in between.
void functions_pause(void) __attribute__((visibility("hidden")));
void functions_resume(void) __attribute__((visibility("hidden")));

// ---- functions.c: any registers; called through functions_keep
struct xsp_span functions_first_call(const void *entry, uint64_t unused) __attribute__((visibility("hidden")));
struct xsp_span functions_start_slow(const void *site, uint64_t unused) __attribute__((visibility("hidden")));
struct xsp_span functions_finish_slow(const void *span, uint64_t now) __attribute__((visibility("hidden")));
#endif

#endif
