// SPDX-License-Identifier: Apache-2.0
// A timer for each thread that the program makes by pthread_create, and for its first. A thread's end deletes its timer:
// the kernel does so only at the end of the process.
#include "tracers/cpu/cpu.h"

#include "base/clock.h"

#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <xsp/tracer.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

#define TICK_NS 10000000 // of the slowest kernels

__thread struct cpu_thread *cpu_thread __attribute__((tls_model("initial-exec")));

static struct cpu_thread first; // most processes have one thread, and touch none of its stack
static struct guest_threads threads;
static uint32_t is_on; // atomic
static int signal_number;
static uint64_t period_ns;
static int filters_at_start; // of system calls

// ---- timers
static bool has_new_filter(void)
{
  return filters_at_start == 0 && prctl(PR_GET_SECCOMP) > 0;
}

static bool make_timer(struct cpu_thread *thread)
{
  struct sigevent event = {
      .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = signal_number, .sigev_value = cpu_sampler_mark()};
  event.sigev_notify_thread_id = (int)syscall(SYS_gettid);
  const struct timespec period = {(time_t)(period_ns / 1000000000), (long)(period_ns % 1000000000)};
  const struct itimerspec times = {period, period};
  if (syscall(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, &event, &thread->timer) != 0)
    return false;
  if (syscall(SYS_timer_settime, thread->timer, 0, &times, NULL) == 0)
    return true;
  int error = errno;
  (void)syscall(SYS_timer_delete, thread->timer);
  errno = error;
  return false;
}

static void delete_timer(struct cpu_thread *thread)
{
  if (__atomic_exchange_n(&thread->has_timer, false, __ATOMIC_ACQ_REL))
    (void)syscall(SYS_timer_delete, thread->timer);
}

static const char *reason_of(int error)
{
  if (error == EAGAIN)
    return "threads are not sampled: the limit of pending signals is reached (ulimit -i)";
  return error == EPERM || error == EACCES || error == ENOSYS
             ? "threads are not sampled: the program's sandbox forbids timers"
             : "threads are not sampled: the kernel made no timer for them";
}

// The calling thread's.
static void begin(struct cpu_thread *thread)
{
  int saved_errno = errno;
  thread->due_ns = thread->seen_ns = clock_now_ns(CLOCK_THREAD_CPUTIME_ID);
  thread->reading.at_ns = 0;
  thread->is_walking = false;
  if (has_new_filter()) { // the answer may be a signal that ends the program
    cpu_say("threads are not sampled: the program has restricted its system calls");
  } else if (make_timer(thread)) {
    cpu_thread = thread;
    cpu_stacks_begin();
    __atomic_store_n(&thread->has_timer, true, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&is_on, __ATOMIC_SEQ_CST) == 0) // stopped meanwhile: who stops sees has_timer, or we see this
      delete_timer(thread);
  } else {
    cpu_say(reason_of(errno));
  }
  errno = saved_errno;
}

// CPU time that no sample stands for: at most a period and a tick of the kernel's, unless the signal was blocked.
static void count_unseen(const struct cpu_thread *thread)
{
  uint64_t now_ns = clock_now_ns(CLOCK_THREAD_CPUTIME_ID), unseen_ns = now_ns - thread->seen_ns;
  if (now_ns <= thread->seen_ns + 2 * period_ns + TICK_NS || xsp_tracer_levels("cpu") == 0)
    return;
  (void)xsp_sample(XSP_SAMPLE_CPU, 0, unseen_ns);
  if (unseen_ns > 10 * (period_ns + TICK_NS))
    cpu_say("time without a call path: threads block the signal by which they are sampled");
}

// The destructor of the thread's key, also after pthread_exit and cancellation.
static void end(void *block)
{
  struct cpu_thread *thread = block;
  int saved_errno = errno;
  delete_timer(thread);
  if (cpu_thread == thread && __atomic_load_n(&is_on, __ATOMIC_RELAXED) != 0)
    count_unseen(thread);
  bool is_free = cpu_thread != thread || cpu_stacks_end();
  cpu_thread = NULL;
  __atomic_signal_fence(__ATOMIC_SEQ_CST); // a late signal finds no thread
  if (thread != &first && is_free)
    __atomic_store_n(&thread->block.in_use, 0, __ATOMIC_RELEASE);
  errno = saved_errno;
}

static void start_here(struct cpu_thread *thread)
{
  if (pthread_setspecific(threads.key, thread) == 0)
    begin(thread);
  else
    __atomic_store_n(&thread->block.in_use, 0, __ATOMIC_RELEASE);
}

// ---- threads of the program
static void *run_thread(void *block)
{
  struct cpu_thread *thread = block;
  void *(*start)(void *) = thread->start, *argument = thread->argument;
  cpu_masks_believe(thread->believes_blocked);
  start_here(thread);
  return start(argument); // by a jump: no frame of ours stays
}

CPU_INTERPOSED int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                                  void *argument)
{
  static void *next;
  __typeof__(&pthread_create) create = CPU_NEXT(&next, pthread_create);
  struct cpu_thread *made = NULL;
  if (__atomic_load_n(&is_on, __ATOMIC_RELAXED) != 0)
    made = guest_thread_begin(&threads, sizeof *made); // has no key: the new thread sets it
  if (made == NULL)
    return create(thread, attributes, start, argument);
  made->start = start;
  made->argument = argument;
  made->believes_blocked = cpu_masks_believed();
  int error = create(thread, attributes, run_thread, made);
  if (error != 0)
    __atomic_store_n(&made->block.in_use, 0, __ATOMIC_RELEASE);
  return error;
}

// ---- the process
static struct cpu_thread *next_of(const struct cpu_thread *thread) // of all, after `first`
{
  return (struct cpu_thread *)(thread == &first ? __atomic_load_n(&threads.blocks, __ATOMIC_ACQUIRE)
                                                : thread->block.next);
}

void cpu_threads_stop(void)
{
  __atomic_store_n(&is_on, 0, __ATOMIC_SEQ_CST);
  for (struct cpu_thread *thread = &first; thread != NULL; thread = next_of(thread))
    delete_timer(thread);
}

// The child has one thread, the forking one, and no timer.
static void begin_in_child(void)
{
  if (__atomic_load_n(&is_on, __ATOMIC_RELAXED) == 0)
    return;
  cpu_signals_forked();
  for (struct cpu_thread *thread = &first; thread != NULL; thread = next_of(thread)) {
    thread->has_timer = false;
    if (thread != cpu_thread)
      thread->block.in_use = 0;
  }
  if (cpu_thread != NULL)
    begin(cpu_thread);
}

uint64_t cpu_threads_period_ns(void)
{
  return period_ns;
}

bool cpu_threads_start(int number, unsigned rate)
{
  signal_number = number;
  period_ns = 1000000000 / rate;
  filters_at_start = prctl(PR_GET_SECCOMP);
  if (pthread_key_create(&threads.key, end) != 0 || pthread_atfork(NULL, NULL, begin_in_child) != 0)
    return false;
  __atomic_store_n(&is_on, 1, __ATOMIC_SEQ_CST);
  start_here(&first);
  return true;
}
