// SPDX-License-Identifier: Apache-2.0
// Seeds; see hash.h. Called by whoever keeps a table of what files hold.
#include "base/hash.h"

#include <sys/random.h>
#include <time.h>

uint64_t hash_new_seed(void)
{
  uint64_t seed = 0;
  struct timespec now;
  if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) != sizeof seed) { // a machine that has just started
    clock_gettime(CLOCK_MONOTONIC, &now);
    seed = hash_fold((uint64_t)now.tv_nsec ^ (uint64_t)(uintptr_t)&now, UINT64_C(0x9e3779b97f4a7c15));
  }
  return seed | 1;
}
