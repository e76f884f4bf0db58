// SPDX-License-Identifier: Apache-2.0
// The count of commands in flight is a futex: exit sleeps on it. Queues are flushed by a thread of its own, because a
// driver may hold its locks when exit is called from one of its callbacks; that thread is abandoned if it hangs.
// The wait comes before all that was registered with atexit: the driver's threads use the statics of their libraries
// (a compiler's) while a command runs, and waiting after those were destroyed made such a program crash (measured).
#include "tracers/opencl/drain.h"

#include "base/clock.h"
#include "tracers/opencl/objects.h"
#include "tracers/opencl/opencl.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint32_t in_flight;  // atomic, futex
static uint32_t is_awaited; // atomic
static uint64_t longest = UINT64_C(2000000000), waited;
static pid_t owner; // the process whose main thread waits; 0: none yet
static _Thread_local bool is_registered_here;

// The child of a fork has none of the driver's threads: nothing that its parent waits for will come. What it enqueues
// itself is waited for when its only thread ends, as in its parent.
static void start_clean(void)
{
  __atomic_store_n(&in_flight, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&is_awaited, 0, __ATOMIC_RELAXED);
  waited = 0;
  owner = is_registered_here ? getpid() : 0;
}

void opencl_drain_start(uint64_t longest_ns)
{
  longest = longest_ns;
  opencl_drain_at_exit();
  pthread_atfork(NULL, NULL, start_clean);
}

void opencl_drain_started(void)
{
  __atomic_add_fetch(&in_flight, 1, __ATOMIC_RELAXED);
}

void opencl_drain_finished(void)
{
  uint32_t count = __atomic_load_n(&in_flight, __ATOMIC_RELAXED);
  do
    if (count == 0) // enqueued before a fork
      return;
  while (!__atomic_compare_exchange_n(&in_flight, &count, count - 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
  if (__atomic_load_n(&is_awaited, __ATOMIC_ACQUIRE) != 0)
    syscall(SYS_futex, &in_flight, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

uint64_t opencl_drain_in_flight(void)
{
  return __atomic_load_n(&in_flight, __ATOMIC_ACQUIRE);
}

uint64_t opencl_drain_waited_ns(void)
{
  return waited;
}

static void flush_queue(struct opencl_queue *queue)
{
  cl_command_queue handle = __atomic_load_n(&queue->handle, __ATOMIC_ACQUIRE);
  if (handle != NULL && opencl_next.clFlush != NULL)
    opencl_next.clFlush(handle);
}

static void *flush_queues(void *unused)
{
  opencl_queues_each(flush_queue);
  return unused;
}

static void flush_aside(void)
{
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before); // the thread takes no signal of the program's
  pthread_t thread;
  if (pthread_create(&thread, NULL, flush_queues, NULL) == 0)
    pthread_detach(thread);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

// Flushes queues and waits; all calls together up to opencl_drain_start's limit.
static void opencl_drain_wait(void)
{
  if (getpid() != owner || opencl_drain_in_flight() == 0 || waited >= longest)
    return;
  uint64_t begin = clock_now_ns(CLOCK_MONOTONIC), limit = longest - waited;
  __atomic_store_n(&is_awaited, 1, __ATOMIC_SEQ_CST);
  flush_aside();
  for (uint64_t spent = 0; spent < limit; spent = clock_now_ns(CLOCK_MONOTONIC) - begin) {
    uint32_t count = __atomic_load_n(&in_flight, __ATOMIC_ACQUIRE);
    if (count == 0)
      break;
    uint64_t rest = limit - spent < 50000000 ? limit - spent : 50000000; // a wake-up that is missed costs this much
    struct timespec pause = {0, (long)rest};
    syscall(SYS_futex, &in_flight, FUTEX_WAIT_PRIVATE, count, &pause, NULL, 0);
  }
  __atomic_store_n(&is_awaited, 0, __ATOMIC_RELAXED);
  waited += clock_now_ns(CLOCK_MONOTONIC) - begin;
}

// glibc: calls `function` when the calling thread ends, or first of all when it calls exit.
extern int __cxa_thread_atexit_impl(void (*function)(void *), void *object, void *dso_symbol) __attribute__((weak));

static void main_thread_ends(void *unused)
{
  opencl_drain_wait();
}

void opencl_drain_at_exit(void)
{
  if (owner == getpid() || getpid() != gettid() || __cxa_thread_atexit_impl == NULL)
    return;
  owner = getpid();
  if (!is_registered_here)
    __cxa_thread_atexit_impl(main_thread_ends, NULL, &in_flight);
  is_registered_here = true;
}
