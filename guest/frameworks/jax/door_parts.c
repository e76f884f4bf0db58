// SPDX-License-Identifier: Apache-2.0
// A thread that has the interpreter call a function on its main thread from time to time. Called by door_recording.c.
//
// CPython 3.11 notices a call that another thread adds when its main thread next takes the interpreter: after a call into XLA, say.
//
// The thread takes no signals and never holds the interpreter: one that ends unwinds threads which ask for it, and C++ between
// them ends the process then. It sleeps, and ends with the process.
#include "frameworks/jax/tracer.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#define SECOND_NS 1000000000

static int (*add_call)(int (*function)(void *), void *argument); // Py_AddPendingCall
static double (*the_part)(void);
static int64_t pause_ns; // atomic; until the next call; 0: there is no other

static int call(void *unused)
{
  (void)unused;
  if (__atomic_load_n(&pause_ns, __ATOMIC_ACQUIRE) != 0)
    __atomic_store_n(&pause_ns, (int64_t)(the_part() * SECOND_NS), __ATOMIC_RELEASE);
  return 0;
}

static void *run(void *unused)
{
  (void)unused;
  for (int64_t ns; (ns = __atomic_load_n(&pause_ns, __ATOMIC_ACQUIRE)) > 0;) {
    struct timespec rest = {ns / SECOND_NS, ns % SECOND_NS};
    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &rest, &rest) == EINTR)
      ;
    if (__atomic_load_n(&pause_ns, __ATOMIC_ACQUIRE) > 0)
      (void)add_call(call, NULL); // full: the next time
  }
  return NULL;
}

bool jax_parts_begin(const struct python *python, double seconds, double (*part)(void))
{
  pthread_t thread;
  pthread_attr_t attributes;
  sigset_t all, before;
  void *symbol = python->symbol("Py_AddPendingCall");
  memcpy(&add_call, &symbol, sizeof add_call);
  if (symbol == NULL || pthread_attr_init(&attributes) != 0)
    return false;
  the_part = part;
  __atomic_store_n(&pause_ns, (int64_t)(seconds * SECOND_NS), __ATOMIC_RELEASE);
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

void jax_parts_end(void)
{
  __atomic_store_n(&pause_ns, 0, __ATOMIC_RELEASE);
}
