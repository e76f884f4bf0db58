// SPDX-License-Identifier: Apache-2.0
// Whether memory can be read, without reading it.
#ifndef XSP_TRACERS_FRAMES_READABLE_H
#define XSP_TRACERS_FRAMES_READABLE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

// Eight bytes at `at`: the kernel copies the signal mask from there before it rejects `how`. About 100 ns.
static inline bool is_readable_memory(const void *at)
{
  int saved_errno = errno;
  bool is_readable = syscall(SYS_rt_sigprocmask, ~0, at, NULL, 8) != 0 && errno != EFAULT;
  errno = saved_errno;
  return is_readable;
}

// Pages that were readable during one walk: the kernel is asked once for each of the last four.
struct readable_pages {
  uintptr_t page[4]; // its number + 1; 0: none
  uintptr_t last;    // the same, of the one that was asked about last
  uint32_t next;
  uintptr_t from, bytes; // memory that is mapped for the whole walk, without its last bytes
};

static inline void readable_know(struct readable_pages *known, uintptr_t at)
{
  known->last = at / 4096 + 1;
  known->page[known->next++ % 4] = known->last;
}

static inline bool readable_page(struct readable_pages *known, uintptr_t at)
{
  uintptr_t page = at / 4096 + 1;
  if (__builtin_expect(known->last == page, 1))
    return true;
  for (uint32_t i = 0; i < 4; i++)
    if (known->page[i] == page) {
      known->last = page;
      return true;
    }
  if (!is_readable_memory((const void *)(at & ~(uintptr_t)7)))
    return false;
  readable_know(known, at);
  return true;
}

// Whether `size` bytes, less than a page, can be read.
__attribute__((always_inline)) static inline bool is_readable_part(struct readable_pages *known, const void *from,
                                                                   size_t size)
{
  uintptr_t at = (uintptr_t)from;
  return at >= 4096 && at <= UINTPTR_MAX - size && readable_page(known, at) && readable_page(known, at + size - 1);
}

#endif
