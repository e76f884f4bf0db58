// SPDX-License-Identifier: Apache-2.0
// The pool of records of commands in flight. Blocks are mapped as needed and kept; the free list is a stack whose head
// carries a count, so that a record that was taken and given back meanwhile is noticed.
#include "tracers/opencl/pending.h"

#include <stddef.h>
#include <sys/mman.h>

#define BLOCK_RECORDS 1024u
#define BLOCKS_MOST 1024u // about a million commands in flight

static struct opencl_pending *blocks[BLOCKS_MOST]; // atomic
static uint64_t free_head;                         // atomic: count << 32 | index + 1; 0 in the low half: empty
static uint32_t block_count;                       // atomic: blocks begun

static struct opencl_pending *record_at(uint32_t index)
{
  struct opencl_pending *block = __atomic_load_n(&blocks[index / BLOCK_RECORDS], __ATOMIC_ACQUIRE);
  return &block[index % BLOCK_RECORDS];
}

static void push(struct opencl_pending *first, struct opencl_pending *last)
{
  uint64_t head = __atomic_load_n(&free_head, __ATOMIC_RELAXED), wanted;
  do {
    __atomic_store_n(&last->next, (uint32_t)head, __ATOMIC_RELAXED);
    wanted = ((head >> 32) + 1) << 32 | (first->index + 1);
  } while (!__atomic_compare_exchange_n(&free_head, &head, wanted, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

static struct opencl_pending *pop(void)
{
  uint64_t head = __atomic_load_n(&free_head, __ATOMIC_ACQUIRE), wanted;
  struct opencl_pending *record;
  do {
    if ((uint32_t)head == 0)
      return NULL;
    record = record_at((uint32_t)head - 1);
    wanted = ((head >> 32) + 1) << 32 | __atomic_load_n(&record->next, __ATOMIC_RELAXED);
  } while (!__atomic_compare_exchange_n(&free_head, &head, wanted, false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE));
  return record;
}

// A new block: its first record is returned, the others become free.
static struct opencl_pending *grow(void)
{
  if (__atomic_load_n(&block_count, __ATOMIC_RELAXED) >= BLOCKS_MOST)
    return NULL;
  struct opencl_pending *block =
      mmap(NULL, BLOCK_RECORDS * sizeof *block, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED)
    return NULL;
  uint32_t number = __atomic_fetch_add(&block_count, 1, __ATOMIC_RELAXED);
  if (number >= BLOCKS_MOST) {
    munmap(block, BLOCK_RECORDS * sizeof *block);
    return NULL;
  }
  for (uint32_t i = 0; i < BLOCK_RECORDS; i++) {
    block[i].index = number * BLOCK_RECORDS + i;
    block[i].next = block[i].index + 2; // the next one
  }
  __atomic_store_n(&blocks[number], block, __ATOMIC_RELEASE);
  push(&block[1], &block[BLOCK_RECORDS - 1]);
  return &block[0];
}

struct opencl_pending *opencl_pending_take(void)
{
  struct opencl_pending *record = pop();
  return __builtin_expect(record != NULL, 1) ? record : grow();
}

void opencl_pending_give(struct opencl_pending *record)
{
  push(record, record);
}
