// SPDX-License-Identifier: Apache-2.0
// Bump allocation in blocks; see pool.h. Never ends the process, unlike base/arena.h.
#include "frameworks/common/pool.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES ((size_t)32 << 10)
#define ALIGNMENT 16u

struct pool_block {
  struct pool_block *next;
  size_t used, size; // of `data`
  _Alignas(ALIGNMENT) char data[];
};

static struct pool_block *add_block(struct pool *pool, size_t size)
{
  struct pool_block *block = calloc(1, sizeof *block + size);
  if (block == NULL)
    return NULL;
  block->size = size;
  if (pool->blocks != NULL && size > BLOCK_BYTES) { // the newest block keeps its room for small ones
    block->next = pool->blocks->next;
    pool->blocks->next = block;
  } else {
    block->next = pool->blocks;
    pool->blocks = block;
  }
  return block;
}

void *framework_pool_alloc(struct pool *pool, size_t count, size_t item_bytes)
{
  size_t bytes = 0;
  if (__builtin_mul_overflow(count, item_bytes, &bytes) || bytes > pool->maximum_bytes - pool->used_bytes)
    return NULL;
  bytes = bytes == 0 ? ALIGNMENT : (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  if (bytes > pool->maximum_bytes - pool->used_bytes)
    return NULL;
  struct pool_block *block = pool->blocks;
  if (block == NULL || bytes > block->size - block->used)
    block = add_block(pool, bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES);
  if (block == NULL)
    return NULL;
  void *found = block->data + block->used;
  block->used += bytes;
  pool->used_bytes += bytes;
  return found;
}

char *framework_pool_text(struct pool *pool, const char *text, size_t length)
{
  char *copy = length < SIZE_MAX ? framework_pool_alloc(pool, length + 1, 1) : NULL;
  if (copy != NULL && length > 0)
    memcpy(copy, text, length);
  return copy;
}

void *framework_pool_grow(struct pool *pool, void *items, size_t count, size_t *capacity, size_t more,
                          size_t item_bytes)
{
  if (items != NULL && more <= *capacity - count)
    return items;
  if (more > SIZE_MAX / 4 || *capacity > SIZE_MAX / 4)
    return NULL;
  size_t wanted = *capacity * 2 < 64 ? 64 : *capacity * 2;
  wanted = wanted < count + more ? count + more : wanted;
  void *grown = framework_pool_alloc(pool, wanted, item_bytes);
  if (grown == NULL)
    return NULL;
  if (count > 0)
    memcpy(grown, items, count * item_bytes);
  *capacity = wanted;
  return grown;
}

void framework_pool_done(struct pool *pool)
{
  while (pool->blocks != NULL) {
    struct pool_block *block = pool->blocks;
    pool->blocks = block->next;
    free(block);
  }
  pool->used_bytes = 0;
}
