// SPDX-License-Identifier: Apache-2.0
// cpu.so, preloaded by `xsp run`: its start, and its words in the trace. Without a rate in the environment, all that it
// interposes passes on.
#include "tracers/cpu/cpu.h"

#include "tracers/frames/find_object.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xsp/tracer.h>

#define RATE_MOST 1000
#define TEXTS_MOST 8

static const struct xsp_host *host;

// ---- a tracer, for `xsp check` and for messages
static int probe(const struct xsp_host *asking, char *why, size_t why_size)
{
  timer_t timer;
  struct sigevent nothing = {.sigev_notify = SIGEV_NONE};
  int error = timer_create(CLOCK_THREAD_CPUTIME_ID, &nothing, &timer) == 0 ? 0 : errno;
  if (error == 0)
    timer_delete(timer);
  else
    snprintf(why, why_size, "%s", strerror(error));
  asking->found(asking, "timers on the CPU clocks of threads", NULL);
  return error;
}

static int start(const struct xsp_host *given)
{
  host = given;
  return 0;
}

static const struct xsp_tracer cpu = {
    .size = sizeof cpu,
    .level_mask = XSP_LEVEL_MASK_ALL,
    .name = "cpu",
    .summary = "samples of threads: where their time goes, in Python and native code",
    .probe = probe,
    .start = start,
};

const struct xsp_tracer *xsp_tracer_entry(const struct xsp_host *asking)
{
  return &cpu;
}

void cpu_say(const char *text)
{
  static const char *said[TEXTS_MOST]; // atomic
  for (size_t i = 0; i < TEXTS_MOST; i++) {
    const char *known = NULL;
    if (__atomic_compare_exchange_n(&said[i], &known, text, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
      int saved_errno = errno;
      if (xsp_tracer_join(&cpu) == 0 && host != NULL)
        host->say(host, text);
      errno = saved_errno;
      return;
    }
    if (strcmp(known, text) == 0)
      return;
  }
}

// libc has older versions of functions on conditions, with another layout: by name alone either could be found.
static void *find_next(const char *name)
{
#if defined(__x86_64__)
  if (strncmp(name, "pthread_cond_", strlen("pthread_cond_")) == 0) {
    void *found = dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");
    if (found != NULL)
      return found;
    dlerror(); // one that came later: the program sees no error of ours
  }
#endif
  return dlsym(RTLD_NEXT, name);
}

void *cpu_find_next(void **place, const char *name)
{
  int saved_errno = errno;
  void *found = find_next(name);
  __atomic_store_n(place, found, __ATOMIC_RELEASE);
  errno = saved_errno;
  return found;
}

// ---- start
// secure_getenv: a program with more rights than its caller is not sampled.
static unsigned rate_asked_for(void)
{
  const char *session = secure_getenv("XSP_SESSION"), *text = secure_getenv("XSP_CPU_RATE");
  if (session == NULL || *session == '\0' || text == NULL || *text < '0' || *text > '9')
    return 0;
  char *end;
  unsigned long rate = strtoul(text, &end, 10);
  return *end == '\0' && rate <= RATE_MOST ? (unsigned)rate : 0;
}

__attribute__((constructor)) static void load(void)
{
  unsigned rate = rate_asked_for();
  if (rate == 0)
    return;
  int saved_errno = errno, number = cpu_signals_choose();
  find_object_setup();
  if (number == 0)
    cpu_say("not sampled: the program was started without a free real-time signal");
  else if (cpu_sampler_start(number))
    (void)cpu_threads_start(number, rate);
  const char *mode = secure_getenv("XSP_CPU_MODE");
  if (mode != NULL && strcmp(mode, "real") == 0)
    cpu_waits_start();
  errno = saved_errno;
}
