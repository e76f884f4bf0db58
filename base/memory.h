// SPDX-License-Identifier: Apache-2.0
// Allocation that never returns NULL, for xsp, xsp-runner and libxsp_read. Exhausted memory ends the process, unless
// memory_set_escape has a way out.
//
// Never in a traced process: capture/ and tracers/ check each allocation themselves. Sizes that come from a file or the
// wire are bounded before they get here. Blocks are freed with free(). All functions may be called from any thread.
#ifndef XSP_BASE_MEMORY_H
#define XSP_BASE_MEMORY_H

#include "base/scoped.h"

#include <stddef.h>

void *memory_new(size_t count, size_t size_bytes) __attribute__((returns_nonnull)); // zeroed
// `block` may be NULL. The part by which it grows is not zeroed.
void *memory_resize(void *block, size_t count, size_t size_bytes) __attribute__((returns_nonnull));
char *memory_text(const char *text) __attribute__((returns_nonnull));                   // a copy
char *memory_text_of(const char *text, size_t length) __attribute__((returns_nonnull)); // adds a terminating zero

// `cleanup` runs once, before the process ends, on the thread whose allocation failed: it removes half-made files. Only
// async-signal-safe work; it may not allocate. There is one cleanup per process; NULL removes it.
void memory_on_exhausted(void (*cleanup)(void));
// For a library in somebody's process: `escape` runs first, on the thread whose allocation failed. It may leave by longjmp to
// where the library was entered; what that thread held then stays allocated. Where it returns, the process ends. NULL: none.
void memory_set_escape(void (*escape)(void));
// Runs the cleanup, writes one line to stderr and ends the process with STATUS_MEMORY's exit status. For allocations
// that a library made.
_Noreturn void memory_exhausted(void);

#endif
