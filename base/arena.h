// SPDX-License-Identifier: Apache-2.0
// An arena: many small allocations, one free. One thread at a time. Never in a traced process: exhausted memory ends the
// process (base/memory.h).
#ifndef XSP_BASE_ARENA_H
#define XSP_BASE_ARENA_H

#include "base/scoped.h"

#include <stddef.h>

struct arena_block;
struct arena {
  struct arena_block *head; // newest block first
  size_t used_bytes;        // handed out, for limits and reports
};

// Zeroed memory, aligned to 16; never NULL. `*arena` starts as {0}.
void *arena_alloc(struct arena *arena, size_t size_bytes);
void *arena_alloc_array(struct arena *arena, size_t count, size_t size_bytes);
char *arena_copy(struct arena *arena, const char *text, size_t length); // adds a terminating zero
char *arena_format(struct arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
void arena_done(struct arena *arena); // frees everything; the arena is {0} again

#endif
