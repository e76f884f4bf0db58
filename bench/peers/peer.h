// SPDX-License-Identifier: Apache-2.0
// Timing of a peer's span, the same for each: threads pinned one per CPU, a tenth of the spans first to warm up, then
// all; the median of the repetitions, in nanoseconds of a thread's own CPU time per span (as bench/capture.c counts).
// Prints one line, "THREADS MEDIAN_NS MINIMUM_NS", per thread count. Measures other tools; uses nothing of xsp.
#ifndef XSP_BENCH_PEERS_PEER_H
#define XSP_BENCH_PEERS_PEER_H

#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PEER_QUIET __attribute__((no_instrument_function))
#define PEER_MAXIMUM_REPETITIONS 99

typedef void (*peer_function)(long spans);
struct peer_thread {
  peer_function function;
  pthread_barrier_t *together;
  long spans;
  int cpu;
  double span_ns;
};

static inline PEER_QUIET double peer_cpu_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static PEER_QUIET void *peer_thread_main(void *argument)
{
  struct peer_thread *thread = argument;
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET((unsigned)thread->cpu, &cpus);
  pthread_setaffinity_np(pthread_self(), sizeof cpus, &cpus);
  thread->function(thread->spans / 10 + 1);
  pthread_barrier_wait(thread->together);
  double start_ns = peer_cpu_ns();
  thread->function(thread->spans);
  thread->span_ns = (peer_cpu_ns() - start_ns) / (double)thread->spans;
  return NULL;
}

// The mean over the threads of one repetition.
static PEER_QUIET double peer_repeat(peer_function function, long spans, int threads)
{
  pthread_barrier_t together;
  pthread_t ids[2];
  struct peer_thread arguments[2];
  double sum = 0;
  pthread_barrier_init(&together, NULL, (unsigned)threads);
  for (int i = 0; i < threads; i++) {
    arguments[i] = (struct peer_thread){function, &together, spans, i, 0};
    if (pthread_create(&ids[i], NULL, peer_thread_main, &arguments[i]) != 0) {
      exit(3);
    }
  }
  for (int i = 0; i < threads; i++) {
    pthread_join(ids[i], NULL);
    sum += arguments[i].span_ns;
  }
  pthread_barrier_destroy(&together);
  return sum / threads;
}

static PEER_QUIET int peer_compare(const void *left, const void *right)
{
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

// arguments: SPANS REPETITIONS
static PEER_QUIET int peer_main(int argc, char **argv, peer_function function)
{
  long spans = argc > 1 ? atol(argv[1]) : 300000;
  int repetitions = argc > 2 ? atoi(argv[2]) : 9;
  double results[PEER_MAXIMUM_REPETITIONS];
  if (spans < 1 || repetitions < 1 || repetitions > PEER_MAXIMUM_REPETITIONS) {
    return 2;
  }
  for (int threads = 1; threads <= 2; threads++) {
    for (int i = 0; i < repetitions; i++) {
      results[i] = peer_repeat(function, spans, threads);
    }
    qsort(results, (size_t)repetitions, sizeof *results, peer_compare);
    double median =
        repetitions % 2 ? results[repetitions / 2] : (results[repetitions / 2 - 1] + results[repetitions / 2]) / 2;
    printf("%d %.3f %.3f\n", threads, median, results[0]);
  }
  return 0;
}

#endif
