// SPDX-License-Identifier: Apache-2.0
// The handler of our timers' signal: takes one sample of the thread that it interrupted. It runs on a stack of its own, since
// the program's may have hardly any room: signal stacks of 8 KiB, coroutines, goroutines.
#include "tracers/cpu/cpu.h"

#include "tracers/frames/frames.h"

#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <xsp/tracer.h>

static char mark; // its address is our timers' value

union sigval cpu_sampler_mark(void)
{
  return (union sigval){.sival_ptr = &mark};
}

static bool cpu_sampler_is_ours(const siginfo_t *info)
{
  return info->si_code == SI_TIMER && info->si_value.sival_ptr == &mark;
}

// ---- call paths
static uint32_t paths_state; // atomic
enum { PATHS_UNKNOWN, PATHS_BUSY, PATHS_READY };
static const void *in_interpreter; // atomic; NULL: none

static bool set_paths_up(uint32_t from)
{
  if (!__atomic_compare_exchange_n(&paths_state, &from, PATHS_BUSY, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
    return false;
  (void)frames_native_setup(__atomic_load_n(&in_interpreter, __ATOMIC_RELAXED));
  __atomic_store_n(&paths_state, PATHS_READY, __ATOMIC_RELEASE);
  return true;
}

// Processes that end before their first sample map nothing. False: another thread is at it.
static bool paths_are_ready(void)
{
  uint32_t state = __atomic_load_n(&paths_state, __ATOMIC_ACQUIRE);
  return state == PATHS_READY || (state == PATHS_UNKNOWN && set_paths_up(PATHS_UNKNOWN));
}

void cpu_sampler_interpreter(const void *address)
{
  __atomic_store_n(&in_interpreter, address, __ATOMIC_SEQ_CST);
  while (__atomic_load_n(&paths_state, __ATOMIC_ACQUIRE) ==
         PATHS_BUSY) // a handler of another thread, which nothing holds up
    sched_yield();
  (void)set_paths_up(PATHS_READY); // else the first sample does it
}

uint32_t cpu_sampler_path(const struct unwind_place *place)
{
  return paths_are_ready() ? frames_path_at(place) : 0;
}

// ---- a sample
#define UNKNOWN_PERIODS 4 // a call path that is not found is tried again so long

static bool has_any; // atomic

bool cpu_sampler_has_any(void)
{
  return __atomic_load_n(&has_any, __ATOMIC_RELAXED);
}

static void take_sample(const void *context)
{
  struct cpu_thread *thread = cpu_thread;
  uint64_t due_ns = thread->due_ns, since_ns = due_ns - thread->seen_ns;
  if (xsp_tracer_levels("cpu") != 0) {
    const struct unwind_place place = unwind_interrupted(context);
    uint32_t path = cpu_sampler_path(&place);
    if (path == 0 && since_ns < UNKNOWN_PERIODS * cpu_threads_period_ns())
      return; // the next sample stands for this time, too
    if (xsp_sample(XSP_SAMPLE_CPU, path, since_ns) != 0)
      __atomic_store_n(&has_any, true, __ATOMIC_RELAXED);
  }
  thread->seen_ns = due_ns;
}

// Calls `function` on the stack that ends at `top`.
static void call_on_stack(void (*function)(const void *), const void *argument, char *top)
{
#if defined(__x86_64__)
  __asm__ volatile("movq %%rsp, %%rbx\n\t"
                   "movq %[top], %%rsp\n\t"
                   "call *%[function]\n\t"
                   "movq %%rbx, %%rsp"
                   : "+D"(argument), [top] "+r"(top), [function] "+r"(function)
                   :
                   : "rax", "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "cc", "memory", "xmm0", "xmm1",
                     "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13",
                     "xmm14", "xmm15");
#elif defined(__aarch64__)
  register const void *x0 __asm__("x0") = argument;
  __asm__ volatile("mov x19, sp\n\t"
                   "mov sp, %[top]\n\t"
                   "blr %[function]\n\t"
                   "mov sp, x19"
                   : "+r"(x0), [top] "+r"(top), [function] "+r"(function)
                   :
                   : "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15",
                     "x16", "x17", "x18", "x19", "x30", "cc", "memory", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7",
                     "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29",
                     "v30", "v31");
#else
  function(argument);
#endif
}

// Somebody else sent our signal, to a program that has no handler for it: it ends, as it would have.
static void pass_on(int number)
{
  const struct sigaction by_default = {.sa_handler = SIG_DFL};
  cpu_threads_stop();
  if (cpu_signals_set(number, &by_default, NULL) == 0)
    (void)syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), number);
}

// All other signals are held: nothing interrupts it, and no handler leaves it by a jump.
static void handle(int number, siginfo_t *info, void *context)
{
  int saved_errno = errno;
  struct cpu_thread *thread = cpu_thread;
  if (!cpu_sampler_is_ours(info))
    pass_on(number);
  else if (thread != NULL) {
    thread->due_ns += (1 + (uint64_t)info->si_overrun) * cpu_threads_period_ns();
    if (!thread->is_walking)
      call_on_stack(take_sample, context, thread->stack + sizeof thread->stack);
  }
  errno = saved_errno;
}

bool cpu_sampler_start(int number)
{
  struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
  sigfillset(&action.sa_mask);
  return cpu_signals_set(number, &action, NULL) == 0;
}
