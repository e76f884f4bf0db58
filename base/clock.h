// SPDX-License-Identifier: Apache-2.0
// The time now, and what the system gives as a timespec, in nanoseconds.
#ifndef XSP_BASE_CLOCK_H
#define XSP_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t clock_ns_of(struct timespec time)
{
  return (int64_t)((uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec);
}

static inline uint64_t clock_now_ns(clockid_t clock)
{
  struct timespec time;
  clock_gettime(clock, &time);
  return (uint64_t)clock_ns_of(time);
}

#endif
