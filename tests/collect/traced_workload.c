// SPDX-License-Identifier: Apache-2.0
// Tests only: a traced program. Threads span as fast as they can and count what they finished in a shared file, where
// the test can read it after a SIGKILL. Arguments: PROGRESS_FILE THREADS SPANS_PER_THREAD (0: until killed), which is also
// what the next threads finish, if the progress file wants more of them.
#include <xsp/span.h>

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

XSP_SITE(outer, XSP_LEVEL_LAYER, "outer");
XSP_SITE(inner, XSP_LEVEL_KERNEL, "inner");

// Words of the progress file
#define ALLOWED 64 // spans that a thread may finish now; 0: as many as it likes
#define STAYS 65   // 1: the program does not end with its threads; 2: it starts others

static uint64_t *progress; // a word per thread
static uint64_t spans_per_thread;

static void *work(void *argument)
{
  uint64_t *finished = argument;
  while (spans_per_thread == 0 || *finished < spans_per_thread) {
    uint64_t allowed;
    while ((allowed = __atomic_load_n(&progress[ALLOWED], __ATOMIC_ACQUIRE)) != 0 && *finished >= allowed)
      sched_yield();
    struct xsp_span around = xsp_span_start(&outer);
    struct xsp_span within = xsp_span_start(&inner);
    xsp_span_finish(&within);
    __atomic_fetch_add(finished, 1, __ATOMIC_RELEASE);
    xsp_span_finish(&around);
    __atomic_fetch_add(finished, 1, __ATOMIC_RELEASE);
  }
  return NULL;
}

static void run_threads(int count)
{
  pthread_t thread[16];
  for (int i = 0; i < count; i++)
    if (pthread_create(&thread[i], NULL, work, &progress[i]) != 0)
      _exit(3);
  for (int i = 0; i < count; i++)
    pthread_join(thread[i], NULL);
}

int main(int count, char **arguments)
{
  if (count != 4)
    return 2;
  int threads = atoi(arguments[2]);
  spans_per_thread = strtoull(arguments[3], NULL, 10);
  int file = open(arguments[1], O_RDWR);
  progress = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (file < 0 || progress == MAP_FAILED || threads < 1 || threads > 16)
    return 2;
  for (uint64_t each = spans_per_thread, stays = 2; stays == 2; spans_per_thread += each) {
    run_threads(threads);
    while ((stays = __atomic_load_n(&progress[STAYS], __ATOMIC_ACQUIRE)) == 1)
      sched_yield();
    __atomic_store_n(&progress[STAYS], 0, __ATOMIC_RELAXED);
  }
  return 0;
}
