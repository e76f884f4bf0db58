// SPDX-License-Identifier: Apache-2.0
// The SIGBUS handler of guard.h. Called by folder.c and rings.c for each mapping. Anything but a vanished page of a
// guarded mapping goes to the handler that was there before.
#include "collect/guard.h"

#include "base/vector.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

struct range {
  uintptr_t begin;
  size_t size;
};
static VECTOR(struct range) ranges;
static struct sigaction before;
static uintptr_t page_bytes;
static volatile uint64_t faults;

static void on_bus_error(int number, siginfo_t *info, void *context)
{
  int saved_errno = errno;
  uintptr_t address = (uintptr_t)info->si_addr;
  for (size_t i = 0; info->si_code == BUS_ADRERR && i < ranges.count; i++) {
    if (address - ranges.items[i].begin >= ranges.items[i].size)
      continue;
    void *page = (char *)info->si_addr - address % page_bytes;
    if (mmap(page, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
      break;
    faults = faults + 1;
    errno = saved_errno;
    return;
  }
  sigaction(SIGBUS, &before, NULL); // the instruction runs again, and faults again
  errno = saved_errno;
}

static bool install(void)
{
  struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};
  page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
  return sigaction(SIGBUS, &action, &before) == 0;
}

void *collect_guard_map(size_t size, int protection, int flags, int file)
{
  if (ranges.count == 0 && !install())
    return MAP_FAILED;
  void *bytes = mmap(NULL, size, protection, flags, file, 0);
  if (bytes != MAP_FAILED) {
    (void)madvise(bytes, size, MADV_DONTFORK); // a child's copy would keep the file's lock after this process has ended
    *vector_add(&ranges) = (struct range){(uintptr_t)bytes, size};
  } else if (ranges.count == 0)
    sigaction(SIGBUS, &before, NULL);
  return bytes;
}

void collect_guard_unmap(const void *bytes, size_t size)
{
  for (size_t i = 0; i < ranges.count; i++)
    if (ranges.items[i].begin == (uintptr_t)bytes) {
      ranges.items[i] = ranges.items[--ranges.count];
      break;
    }
  munmap((void *)(uintptr_t)bytes, size);
  if (ranges.count > 0)
    return;
  sigaction(SIGBUS, &before, NULL);
  vector_done(&ranges);
}

uint64_t collect_guard_faults(void)
{
  return faults;
}
