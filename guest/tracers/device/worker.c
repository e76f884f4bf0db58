// SPDX-License-Identifier: Apache-2.0
// Calls of a vendor's profiler may hang while its driver goes down, so only this thread makes them at exit, and exit waits a
// bounded time. No lock is held during a call: profilers call back on the program's threads with locks of their own.
#include "tracers/device/worker.h"

#include "base/clock.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PERIOD_NS UINT64_C(250000000) // what a SIGKILL may lose

static struct device_worker_options options;
static pid_t owner;
static uint32_t work, is_ending, is_done; // atomic, futexes: `work` counts what there is to see
static uint32_t asked, answered;          // atomic, futexes: flushes

static void wake(uint32_t *word)
{
  __atomic_add_fetch(word, 1, __ATOMIC_RELEASE);
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void wait_for_change(uint32_t *word, uint32_t seen, uint64_t limit_ns)
{
  struct timespec limit = {(time_t)(limit_ns / 1000000000), (long)(limit_ns % 1000000000)};
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, &limit, NULL, 0);
}

static void *run(void *unused)
{
  uint64_t looked = clock_now_ns(CLOCK_MONOTONIC);
  pthread_setname_np(pthread_self(), options.thread_name);
  while (__atomic_load_n(&is_ending, __ATOMIC_ACQUIRE) == 0) {
    uint32_t seen = __atomic_load_n(&work, __ATOMIC_ACQUIRE);
    options.publish();
    uint32_t flushes = __atomic_load_n(&asked, __ATOMIC_ACQUIRE);
    if (flushes != __atomic_load_n(&answered, __ATOMIC_RELAXED) ||
        clock_now_ns(CLOCK_MONOTONIC) - looked >= PERIOD_NS) {
      options.look(false);
      looked = clock_now_ns(CLOCK_MONOTONIC);
      __atomic_store_n(&answered, flushes, __ATOMIC_RELEASE);
      syscall(SYS_futex, &answered, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
    }
    wait_for_change(&work, seen, options.period_ns);
  }
  options.look(true);
  wake(&is_done);
  return unused;
}

bool device_worker_start(const struct device_worker_options *wishes, char *why, size_t why_size)
{
  options = *wishes;
  if (options.period_ns == 0 || options.period_ns > PERIOD_NS)
    options.period_ns = PERIOD_NS;
  owner = getpid();
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before); // the thread takes no signal of the program's
  pthread_t thread;
  int failure = pthread_create(&thread, NULL, run, NULL);
  if (failure == 0)
    pthread_detach(thread);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (failure != 0)
    snprintf(why, why_size, "no thread for reading records");
  return failure == 0;
}

void device_worker_wake(void)
{
  wake(&work);
}

// Until `word` has come to `least`. False: exit_wait_ns are over.
static bool wait_until(uint32_t *word, uint32_t least)
{
  uint64_t begin = clock_now_ns(CLOCK_MONOTONIC);
  for (;;) {
    uint32_t now = __atomic_load_n(word, __ATOMIC_ACQUIRE);
    uint64_t spent = clock_now_ns(CLOCK_MONOTONIC) - begin;
    if ((int32_t)(now - least) >= 0 || spent >= options.exit_wait_ns)
      return (int32_t)(now - least) >= 0;
    wait_for_change(word, now, options.exit_wait_ns - spent);
  }
}

void device_worker_flush(void)
{
  if (owner != getpid() || __atomic_load_n(&is_ending, __ATOMIC_RELAXED) != 0)
    return;
  uint32_t mine = __atomic_add_fetch(&asked, 1, __ATOMIC_ACQ_REL);
  wake(&work);
  wait_until(&answered, mine);
}

bool device_worker_finish(void)
{
  if (owner != getpid())
    return true;
  __atomic_store_n(&is_ending, 1, __ATOMIC_RELEASE);
  wake(&work);
  return wait_until(&is_done, 1);
}
