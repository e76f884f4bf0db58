// SPDX-License-Identifier: Apache-2.0
// Many small allocations with one end and a limit, for code that runs in traced processes: every call may return NULL, and
// the caller then drops and counts. One thread at a time; never within a prediction.
#ifndef XSP_FRAMEWORKS_COMMON_POOL_H
#define XSP_FRAMEWORKS_COMMON_POOL_H

#include <stddef.h>

struct pool_block;
struct pool { // starts as {.maximum_bytes = …}
  struct pool_block *blocks;
  size_t used_bytes, maximum_bytes;
};

void *framework_pool_alloc(struct pool *pool, size_t count, size_t item_bytes); // zeroed, aligned to 16
char *framework_pool_text(struct pool *pool, const char *text, size_t length);  // a copy with a terminating zero
// Room for `more` items after `count` ones: `items` itself, or a copy twice as long. `items` may be NULL.
void *framework_pool_grow(struct pool *pool, void *items, size_t count, size_t *capacity, size_t more,
                          size_t item_bytes);
void framework_pool_done(struct pool *pool); // frees everything; the pool is empty again

#endif
