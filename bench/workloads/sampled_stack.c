// SPDX-License-Identifier: Apache-2.0
// Loaded into an interpreter by bench/samples.py, under `xsp run -t cpu`: ns of a sample, from the entry of the
// sampler's handler to its return. It calls the handler that the kernel has, with a signal of the thread's own timer,
// from inside some native functions.
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define NEW_PATHS 1000
#define CALLS 500
#define ROUNDS 101

#if defined(__x86_64__)
#define PC(context) (context)->uc_mcontext.gregs[REG_RIP]
#define NOP_BYTES 1
#elif defined(__aarch64__)
#define PC(context) (context)->uc_mcontext.pc
#define NOP_BYTES 4
#endif

struct kernel_action {
  void (*handle)(int number, siginfo_t *info, void *context);
  unsigned long flags;
  void (*restore)(void);
  uint64_t mask;
};

static struct kernel_action action;
static siginfo_t info;
static double times[NEW_PATHS];
static int time_count;

static double now_ns(clockid_t clock)
{
  struct timespec time;
  clock_gettime(clock, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int compare(const void *left, const void *right)
{
  double a = *(const double *)left, b = *(const double *)right;
  return a < b ? -1 : a > b;
}

EXPORT double samples_median(void) // of the times, which are taken
{
  qsort(times, (size_t)time_count, sizeof *times, compare);
  double middle = time_count == 0 ? 0 : times[time_count / 2];
  time_count = 0;
  return middle;
}

static void add_time(double taken)
{
  if (time_count < NEW_PATHS)
    times[time_count++] = taken;
}

// By system calls: the sampler hides its signal from libc's functions. The signal stays blocked from here on. False:
// not sampled.
EXPORT bool samples_begin(void)
{
  int number = SIGRTMAX;
  while (number >= SIGRTMIN &&
         (syscall(SYS_rt_sigaction, number, NULL, &action, sizeof action.mask) != 0 || action.handle == NULL))
    number--;
  uint64_t set = (uint64_t)1 << (number - 1);
  if (number < SIGRTMIN || syscall(SYS_rt_sigprocmask, SIG_BLOCK, &set, NULL, sizeof set) != 0)
    return false;
  const struct timespec no_time = {0, 0};
  for (double begin = now_ns(CLOCK_THREAD_CPUTIME_ID); now_ns(CLOCK_THREAD_CPUTIME_ID) - begin < 5e9;)
    if (syscall(SYS_rt_sigtimedwait, &set, &info, &no_time, sizeof set) == number)
      return true;
  return false;
}

// The clock reading that each sample needs, for its record.
EXPORT double samples_floor(void)
{
  for (int round = 0; round < ROUNDS; round++) {
    double begin = now_ns(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < CALLS; i++)
      (void)now_ns(CLOCK_MONOTONIC);
    add_time((now_ns(CLOCK_THREAD_CPUTIME_ID) - begin) / CALLS);
  }
  return samples_median();
}

static void take(ucontext_t *context)
{
  action.handle(info.si_signo, &info, context);
}

enum what { KNOWN, NEW_INSTRUCTION, ONCE };

__attribute__((noinline)) static void take_all(enum what what)
{
  ucontext_t context;
  getcontext(&context);
  __asm__ volatile(".rept 1000\n\tnop\n\t.endr"); // NEW_PATHS instructions that may be interrupted
  if (what == ONCE) {
    double begin = now_ns(CLOCK_MONOTONIC);
    take(&context);
    add_time(now_ns(CLOCK_MONOTONIC) - begin);
    return;
  }
  take(&context); // maps caches, learns rules of unwinding
  for (int i = 1; what == NEW_INSTRUCTION && i <= NEW_PATHS; i++) {
    PC(&context) += NOP_BYTES;
    double begin = now_ns(CLOCK_MONOTONIC);
    take(&context);
    add_time(now_ns(CLOCK_MONOTONIC) - begin);
  }
  for (int round = 0; what == KNOWN && round < ROUNDS; round++) {
    double begin = now_ns(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < CALLS; i++)
      take(&context);
    add_time((now_ns(CLOCK_THREAD_CPUTIME_ID) - begin) / CALLS);
  }
}

// In `depth` native functions and one more. The times are for samples_median.
EXPORT __attribute__((noinline)) int samples_take(enum what what, int depth)
{
  volatile int result = depth; // read after the call: it stays a call
  if (depth > 1)
    samples_take(what, depth - 1);
  else
    take_all(what);
  return result;
}
