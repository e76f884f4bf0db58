// SPDX-License-Identifier: Apache-2.0
// Calls of CUPTI may hang while the driver goes down, so only this thread makes them at exit, and exit waits a bounded time. No
// lock is held during a call: CUPTI calls back on the program's threads with locks of its own.
#include "tracers/cuda/worker.h"

#include "base/clock.h"
#include "tracers/cuda/buffers.h"
#include "tracers/cuda/records.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PERIOD_NS UINT64_C(250000000) // what a SIGKILL may lose

static struct buffers buffers;
static struct cupti cupti;
static struct worker_options options;
static pid_t owner;
static uint32_t work, is_ending, is_done; // atomic, futexes: `work` counts what there is to see
static uint32_t asked, answered;          // atomic, futexes: flushes
struct worker_counts worker_counts;

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

// ---- what CUPTI calls
static void request_buffer(uint8_t **ret_buffer, size_t *ret_size, size_t *ret_most_records)
{
  *ret_buffer = buffers_take(&buffers);
  *ret_size = *ret_buffer == NULL ? 0 : buffers.size;
  *ret_most_records = 0; // as many as fit
}

static void complete_buffer(void *context, uint32_t stream_id, uint8_t *buffer, size_t size, size_t valid)
{
  (void)context, (void)stream_id, (void)size;
  buffers_fill(&buffers, buffer, valid);
  if (valid != 0)
    wake(&work);
}

// ---- the thread
static void publish_all(void)
{
  for (;;) {
    struct buffer *filled[RECORDS_BUFFERS_MOST];
    uint32_t count = 0;
    while (count < RECORDS_BUFFERS_MOST && (filled[count] = buffers_next(&buffers)) != NULL)
      count++;
    if (count == 0)
      return;
    records_publish(&cupti, filled, count);
    for (uint32_t i = 0; i < count; i++)
      buffers_release(filled[i]);
  }
}

static void look(uint32_t flush_flags)
{
  static uint64_t told;
  size_t dropped = 0;
  cupti.flush(flush_flags);
  publish_all();
  if (cupti.dropped(NULL, 0, &dropped) == CUPTI_OK)
    worker_counts.dropped += dropped;
  uint64_t all = worker_counts.dropped + record_counts.without_times + record_counts.unreadable;
  if (all > told)
    options.lost(all - told);
  told = all;
}

static void *run(void *unused)
{
  uint64_t flushed = clock_now_ns(CLOCK_MONOTONIC);
  pthread_setname_np(pthread_self(), "xsp-cuda");
  while (__atomic_load_n(&is_ending, __ATOMIC_ACQUIRE) == 0) {
    uint32_t seen = __atomic_load_n(&work, __ATOMIC_ACQUIRE);
    publish_all();
    uint32_t flushes = __atomic_load_n(&asked, __ATOMIC_ACQUIRE);
    if (flushes != __atomic_load_n(&answered, __ATOMIC_RELAXED) ||
        clock_now_ns(CLOCK_MONOTONIC) - flushed >= PERIOD_NS) {
      look(0);
      flushed = clock_now_ns(CLOCK_MONOTONIC);
      __atomic_store_n(&answered, flushes, __ATOMIC_RELEASE);
      syscall(SYS_futex, &answered, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
    }
    wait_for_change(&work, seen, PERIOD_NS);
  }
  look(CUPTI_FLUSH_FORCED);
  wake(&is_done);
  return unused;
}

bool worker_start(const struct cupti *used, const struct worker_options *wishes, char *why, size_t why_size)
{
  cupti = *used;
  options = *wishes;
  buffers.size = options.buffer_bytes;
  owner = getpid();
  uint32_t error = cupti.register_callbacks(request_buffer, complete_buffer);
  if (error != CUPTI_OK) {
    snprintf(why, why_size, "cuptiActivityRegisterCallbacks: error %u", error);
    return false;
  }
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

void worker_flush(void)
{
  if (owner != getpid() || __atomic_load_n(&is_ending, __ATOMIC_RELAXED) != 0)
    return;
  uint32_t mine = __atomic_add_fetch(&asked, 1, __ATOMIC_ACQ_REL);
  wake(&work);
  wait_until(&answered, mine);
}

bool worker_finish(void)
{
  if (owner != getpid())
    return true;
  __atomic_store_n(&is_ending, 1, __ATOMIC_RELEASE);
  wake(&work);
  if (!wait_until(&is_done, 1))
    return false;
  worker_counts.refused_buffers = __atomic_load_n(&buffers.refused, __ATOMIC_RELAXED);
  return true;
}
