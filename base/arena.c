// SPDX-License-Identifier: Apache-2.0
// Arena over malloc'd blocks of growing size; under ASan the unused tail of a block is poisoned.
#include "base/arena.h"

#include "base/memory.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

#define ALIGNMENT 16u
#define FIRST_BLOCK_BYTES 4096u
#define LARGEST_BLOCK_BYTES (1u << 20)
#define HUGE_BLOCK_BYTES (2u << 20)

struct arena_block {
  struct arena_block *next;
  size_t size; // payload bytes
  size_t used;
  size_t reserved_; // keeps the payload aligned to 16
};

// Columns of millions of rows: a page fault for every 4 KiB would cost more than filling them. Advice only.
static void ask_for_huge_pages(void *memory, size_t size)
{
  const uintptr_t page = (uintptr_t)1 << 21;
  uintptr_t start = ((uintptr_t)memory + page - 1) & ~(page - 1);
  uintptr_t end = ((uintptr_t)memory + size) & ~(page - 1);
  if (size >= HUGE_BLOCK_BYTES && end > start)
    (void)madvise((void *)start, end - start, MADV_HUGEPAGE);
}

void *arena_alloc(struct arena *arena, size_t size)
{
  if (size > SIZE_MAX / 2)
    memory_exhausted();
  size_t rounded = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  struct arena_block *block = arena->head;
  if (block == NULL || block->size - block->used < rounded) {
    size_t wanted = block == NULL ? FIRST_BLOCK_BYTES : block->size * 2;
    if (wanted > LARGEST_BLOCK_BYTES)
      wanted = LARGEST_BLOCK_BYTES;
    if (wanted < rounded)
      wanted = rounded;
    block = memory_new(1, sizeof *block + wanted);
    ask_for_huge_pages(block, sizeof *block + wanted);
    block->size = wanted;
    block->next = arena->head;
    arena->head = block;
    ASAN_POISON_MEMORY_REGION(block + 1, wanted);
  }
  char *memory = (char *)(block + 1) + block->used;
  block->used += rounded;
  arena->used_bytes += rounded;
  ASAN_UNPOISON_MEMORY_REGION(memory, size);
  return memory;
}

void *arena_alloc_array(struct arena *arena, size_t count, size_t size)
{
  size_t total = 0;
  if (__builtin_mul_overflow(count, size, &total))
    memory_exhausted();
  return arena_alloc(arena, total);
}

char *arena_copy(struct arena *arena, const char *text, size_t length)
{
  char *copy = arena_alloc(arena, length + 1);
  if (length > 0)
    memcpy(copy, text, length);
  return copy;
}

char *arena_format(struct arena *arena, const char *format, ...)
{
  va_list args;
  va_list again;
  va_start(args, format);
  va_copy(again, args);
  int length = vsnprintf(NULL, 0, format, args);
  va_end(args);
  char *text = arena_alloc(arena, length < 0 ? 1 : (size_t)length + 1);
  if (length > 0)
    vsnprintf(text, (size_t)length + 1, format, again);
  va_end(again);
  return text;
}

void arena_done(struct arena *arena)
{
  struct arena_block *block = arena->head;
  while (block != NULL) {
    struct arena_block *next = block->next;
    ASAN_UNPOISON_MEMORY_REGION(block + 1, block->size);
    free(block);
    block = next;
  }
  *arena = (struct arena){0};
}
