// SPDX-License-Identifier: Apache-2.0
// The simulated libcupti: what goes wrong, as XSP_SIM_FAULTS wants it, and counts of what happened.
#include "profiler.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static uint64_t private_counts[COUNTS], *counts = private_counts;
static uint64_t state = 1;

__attribute__((constructor)) static void open_counts(void)
{
  const char *seed = getenv("XSP_SIM_SEED"), *path = getenv("XSP_SIM_COUNTS");
  if (seed)
    state = strtoull(seed, NULL, 10) * 2654435761 + 1;
  int file = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
  if (file < 0)
    return;
  void *memory = MAP_FAILED;
  if (ftruncate(file, sizeof private_counts) == 0)
    memory = mmap(NULL, sizeof private_counts, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory != MAP_FAILED)
    counts = memory;
  close(file);
}

void count(enum simulator_count what)
{
  __atomic_fetch_add(&counts[what], 1, __ATOMIC_RELAXED);
}

void count_most(enum simulator_count what, uint64_t value)
{
  uint64_t most = __atomic_load_n(&counts[what], __ATOMIC_RELAXED);
  while (value > most &&
         !__atomic_compare_exchange_n(&counts[what], &most, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    ;
}

uint64_t now_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

bool faults_hits(const char *fault, unsigned one_in)
{
  if (!simulator_has_fault(fault))
    return false;
  uint64_t mixed = __atomic_add_fetch(&state, 0x9e3779b97f4a7c15, __ATOMIC_RELAXED); // splitmix64
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
  return (mixed ^ (mixed >> 31)) % one_in == 0;
}
