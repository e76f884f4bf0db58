// SPDX-License-Identifier: Apache-2.0
// The SIGBUS handler of guard.h. Called by folder.c and rings.c for each mapping. Anything but a vanished page of a
// guarded mapping goes to the handler that was there before.
#include "collect/guard.h"

#include "base/memory.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct range {
  uintptr_t begin;
  size_t size;
};
static struct range *ranges;
static size_t range_count, range_capacity;
static struct sigaction before;
static uintptr_t page_bytes;
static volatile uint64_t faults;

static void on_bus_error(int number, siginfo_t *info, void *context)
{
  (void)number;
  (void)context;
  int saved_errno = errno;
  uintptr_t address = (uintptr_t)info->si_addr;
  for (size_t i = 0; info->si_code == BUS_ADRERR && i < range_count; i++) {
    if (address - ranges[i].begin >= ranges[i].size)
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

void *guard_map(size_t size, int protection, int flags, int file)
{
  if (range_count == range_capacity) {
    range_capacity = range_capacity ? range_capacity * 2 : 64;
    ranges = memory_resize(ranges, range_capacity, sizeof *ranges);
  }
  if (range_count == 0 && !install())
    return MAP_FAILED;
  void *bytes = mmap(NULL, size, protection, flags, file, 0);
  if (bytes != MAP_FAILED)
    ranges[range_count++] = (struct range){(uintptr_t)bytes, size};
  else if (range_count == 0)
    sigaction(SIGBUS, &before, NULL);
  return bytes;
}

void guard_unmap(const void *bytes, size_t size)
{
  for (size_t i = 0; i < range_count; i++)
    if (ranges[i].begin == (uintptr_t)bytes) {
      ranges[i] = ranges[--range_count];
      break;
    }
  munmap((void *)(uintptr_t)bytes, size);
  if (range_count > 0)
    return;
  sigaction(SIGBUS, &before, NULL);
  free(ranges);
  ranges = NULL;
  range_capacity = 0;
}

uint64_t guard_faults(void)
{
  return faults;
}
