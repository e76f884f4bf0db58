// SPDX-License-Identifier: Apache-2.0
// A thread that has the interpreter call a function on its main thread from time to time. Called by door_recording.c.
//
// CPython 3.11 notices a call that another thread adds when its main thread next takes the interpreter: after a call into XLA, say.
//
// The thread takes no signals and never holds the interpreter: one that ends unwinds threads which ask for it, and C++ between
// them ends the process then. It sleeps, and ends with the process.
#include "frameworks/jax/tracer.h"

#include "base/clock.h"
#include "base/small_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS 1000000000
#define LOOK_NS (SECOND_NS / 50) // how often the process's memory is read, at most

static int (*add_call)(int (*function)(void *), void *argument); // Py_AddPendingCall
static void (*the_part)(void);
static sem_t asked;               // posted by jax_parts_next
static int64_t due_ns, due_bytes; // atomic; of the call that is asked for
static bool is_over;              // atomic

static int64_t now_ns(void)
{
  return (int64_t)clock_now_ns(CLOCK_MONOTONIC);
}

int64_t jax_process_bytes(void)
{
  char text[128];
  (void)small_file_read("/proc/self/statm", text, sizeof text);
  const char *resident = strchr(text, ' ');
  return resident != NULL ? strtoll(resident, NULL, 10) * sysconf(_SC_PAGESIZE) : 0;
}

void jax_parts_next(double seconds, int64_t bytes)
{
  __atomic_store_n(&due_bytes, bytes, __ATOMIC_RELEASE);
  __atomic_store_n(&due_ns, now_ns() + (int64_t)(seconds * SECOND_NS), __ATOMIC_RELEASE);
  (void)sem_post(&asked);
}

void jax_parts_end(void)
{
  __atomic_store_n(&is_over, true, __ATOMIC_RELEASE);
}

static int call(void *unused)
{
  the_part();
  return 0;
}

static void rest(int64_t ns)
{
  struct timespec left = {ns / SECOND_NS, ns % SECOND_NS};
  while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR)
    ;
}

static void *run(void *unused)
{
  for (;;) {
    while (sem_wait(&asked) != 0)
      ;
    int64_t due = __atomic_load_n(&due_ns, __ATOMIC_ACQUIRE), bytes = __atomic_load_n(&due_bytes, __ATOMIC_ACQUIRE);
    for (int64_t ns; (ns = due - now_ns()) > 0 && (bytes == 0 || jax_process_bytes() < bytes);)
      rest(bytes > 0 && ns > LOOK_NS ? LOOK_NS : ns);
    while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE) && add_call(call, NULL) != 0)
      rest(LOOK_NS); // too many calls wait
  }
  return NULL;
}

bool jax_parts_begin(const struct python *python, void (*part)(void))
{
  pthread_t thread;
  pthread_attr_t attributes;
  sigset_t all, before;
  void *symbol = python->symbol("Py_AddPendingCall");
  memcpy(&add_call, &symbol, sizeof add_call);
  if (symbol == NULL || sem_init(&asked, 0, 0) != 0 || pthread_attr_init(&attributes) != 0)
    return false;
  the_part = part;
  sigfillset(&all);
  bool has_thread = pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED) == 0 &&
                    pthread_sigmask(SIG_SETMASK, &all, &before) == 0;
  if (has_thread) {
    has_thread = pthread_create(&thread, &attributes, run, NULL) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
  }
  pthread_attr_destroy(&attributes);
  return has_thread;
}
