// SPDX-License-Identifier: Apache-2.0
// Counters of a program's processes and their threads, from /proc. Called by counters.c.
#include "base/proc.h"
#include "launch/counters.h"

#include <math.h>

#define PROCESSES_MOST 64
#define THREADS_MOST 256 // of all processes

static enum status read_threads(struct counters *counters, pid_t process, size_t *threads_left, struct error *err)
{
  pid_t threads[THREADS_MOST];
  const size_t count = proc_threads(process, threads, *threads_left);
  *threads_left -= count;
  for (size_t i = 0; i < count; i++) {
    struct proc_time time;
    if (!proc_thread_time(process, threads[i], &time))
      continue;
    struct counter_of of = {.name = COUNTER_CPU_NS, .process = process, .thread = threads[i]};
    XSP_TRY(counters_put(counters, &of, (double)time.cpu_ns, err));
    of.name = COUNTER_RUN_QUEUE_NS;
    XSP_TRY(counters_put(counters, &of, (double)time.waited_ns, err));
  }
  return STATUS_OK;
}

static enum status read_process(struct counters *counters, pid_t process, size_t *threads_left, struct error *err)
{
  const uint64_t cpu_ns = proc_cpu_ns(process), rss_bytes = proc_rss_bytes(process);
  if (cpu_ns == 0)
    return STATUS_OK; // it has ended, or is another user's
  struct counter_of of = {.name = COUNTER_CPU_NS, .process = process};
  XSP_TRY(counters_put(counters, &of, (double)cpu_ns, err));
  of.name = COUNTER_RSS_BYTES;
  XSP_TRY(counters_put(counters, &of, rss_bytes != 0 ? (double)rss_bytes : (double)NAN, err));
  return read_threads(counters, process, threads_left, err);
}

enum status counters_read_processes(struct counters *counters, struct error *err)
{
  pid_t processes[PROCESSES_MOST] = {counters->program};
  size_t count = 1, threads_left = THREADS_MOST;
  for (size_t i = 0; i < count; i++) {
    XSP_TRY(read_process(counters, processes[i], &threads_left, err));
    count += proc_children(processes[i], processes + count, PROCESSES_MOST - count);
  }
  return STATUS_OK;
}
