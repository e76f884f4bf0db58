// SPDX-License-Identifier: Apache-2.0
// Memory of the traced process, without locks: mapped at its first use, never given back. Keeps errno. Another thread, a
// signal handler or a fork between any two instructions finds nothing half-made.
#ifndef XSP_TRACERS_ANNOTATIONS_GUEST_H
#define XSP_TRACERS_ANNOTATIONS_GUEST_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

static inline void *guest_map(size_t bytes) // zeros, touched as they are used; NULL: no memory
{
  int saved_errno = errno;
  void *fresh = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  errno = saved_errno;
  return fresh == MAP_FAILED ? NULL : fresh;
}

// What *place (atomic) points to, after mapping `bytes` of zeros where it is NULL. NULL: no memory.
static inline void *guest_map_once(void **place, size_t bytes)
{
  void *known = __atomic_load_n(place, __ATOMIC_ACQUIRE);
  void *fresh = known == NULL ? guest_map(bytes) : NULL;
  if (fresh == NULL)
    return known;
  if (__atomic_compare_exchange_n(place, &known, fresh, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    return fresh;
  munmap(fresh, bytes);
  return known;
}

// Takes `bytes`, rounded up to 8, of what begins at `memory`: *used (atomic) of its `limit` bytes are taken. NULL: full.
static inline void *guest_reserve(void *memory, uint64_t *used, size_t bytes, uint64_t limit)
{
  bytes = (bytes + 7) & ~(size_t)7;
  uint64_t from = __atomic_load_n(used, __ATOMIC_RELAXED);
  do
    if (bytes > limit || from > limit - bytes)
      return NULL;
  while (!__atomic_compare_exchange_n(used, &from, from + bytes, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  return (char *)memory + from;
}

// ---- a block a thread: the block of a thread that has ended goes to the next one
struct guest_block {
  struct guest_block *next; // list of all; set before it is published
  uint32_t in_use;          // atomic
};

struct guest_threads {
  struct guest_block *blocks; // atomic
  pthread_key_t key;          // its destructor sets the block's in_use to 0
  bool has_key;
};

// For the calling thread, which has none: a block of `bytes`, which begins with a struct guest_block, out of the list or a
// new one. NULL: no memory.
static inline void *guest_thread_begin(struct guest_threads *threads, size_t bytes)
{
  int saved_errno = errno;
  struct guest_block *block = __atomic_load_n(&threads->blocks, __ATOMIC_ACQUIRE);
  for (uint32_t unused = 0; block != NULL; block = block->next, unused = 0)
    if (__atomic_compare_exchange_n(&block->in_use, &unused, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
      break;
  if (block == NULL && (block = guest_map(bytes)) != NULL) {
    block->in_use = 1;
    block->next = __atomic_load_n(&threads->blocks, __ATOMIC_RELAXED);
    while (
        !__atomic_compare_exchange_n(&threads->blocks, &block->next, block, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
      ;
  }
  if (block != NULL && threads->has_key)
    pthread_setspecific(threads->key, block);
  errno = saved_errno;
  return block;
}

#endif
