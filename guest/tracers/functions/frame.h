// SPDX-License-Identifier: Apache-2.0
// The frame that a traced call has between its caller and its function, and who works on it: the trampoline (assembler),
// enter.c (C without vector registers), functions.c (the rest).
#ifndef XSP_TRACERS_FUNCTIONS_FRAME_H
#define XSP_TRACERS_FUNCTIONS_FRAME_H

#define FUNCTIONS_FRAME_SPAN 96 // the span lies this far below the frame pointer
#define FUNCTIONS_PAGE 4096     // reading on within one never faults
// Where the trampoline keeps what the traced call was made with, from the span on.
#define FUNCTIONS_FRAME_STACK 112 // arguments on the caller's stack
#if defined(__x86_64__)
#define FUNCTIONS_FRAME_ENTRY 88
#define FUNCTIONS_FRAME_RESULT 80                  // rax, after the call
#define FUNCTIONS_FRAME_ARGUMENT(n) (72 - 8 * (n)) // rdi, rsi, rdx, rcx, r8, r9
#define FUNCTIONS_REGISTERS 6
#elif defined(__aarch64__)
#define FUNCTIONS_FRAME_ENTRY 16
#define FUNCTIONS_FRAME_RESULT 32                  // x0, after the call
#define FUNCTIONS_FRAME_ARGUMENT(n) (32 + 8 * (n)) // x0 to x7
#define FUNCTIONS_REGISTERS 8
#endif
#define FUNCTIONS_VECTORS 8 // xmm0 to xmm7, d0 to d7

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
const struct function_rule *functions_rule(const struct functions_entry *entry) __attribute__((visibility("hidden")));

// ---- arguments.c: any registers; called through functions_keep
struct functions_call {
  const struct functions_entry *entry;
  const struct xsp_span *span;       // in the trampoline's frame
  double vectors[FUNCTIONS_VECTORS]; // low halves of the registers that pass or return floating point
};
// Tags the call's span with its arguments, or, where `has_returned`, with its result; reports both to clients of
// <xsp/monitor.h>.
struct xsp_span functions_describe(const void *call, uint64_t has_returned) __attribute__((visibility("hidden")));
#endif

#endif
