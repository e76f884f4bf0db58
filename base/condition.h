// SPDX-License-Identifier: Apache-2.0
// Conditions of threads whose waits end at a time of CLOCK_MONOTONIC, which does not jump.
#ifndef XSP_BASE_CONDITION_H
#define XSP_BASE_CONDITION_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

static inline void condition_init(pthread_cond_t *condition)
{
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(condition, &attributes);
  pthread_condattr_destroy(&attributes);
}

// With the lock held. False: `until_ns` has passed. Else the caller looks at what it waits for, and may have to wait again.
static inline bool condition_wait(pthread_cond_t *condition, pthread_mutex_t *lock, uint64_t until_ns)
{
  const struct timespec until = {(time_t)(until_ns / 1000000000u), (long)(until_ns % 1000000000u)};
  return pthread_cond_timedwait(condition, lock, &until) == 0;
}

// Sets `flag` with the lock held, and wakes all that wait.
static inline void condition_raise(pthread_cond_t *condition, pthread_mutex_t *lock, bool *flag)
{
  pthread_mutex_lock(lock);
  *flag = true;
  pthread_cond_broadcast(condition);
  pthread_mutex_unlock(lock);
}

#endif
