// SPDX-License-Identifier: Apache-2.0
// What the files of tracers/cpu.so share. It is preloaded into a program and takes samples of its threads: of CPU time by one
// POSIX timer a thread on the thread's own CPU clock, whose signal finds the call path.
//
// Rules of this folder: what is interposed does for the program what it would have done without xsp; errno is the
// program's. No thread of its own. In the handler nothing allocates or locks.
#ifndef XSP_TRACERS_CPU_CPU_H
#define XSP_TRACERS_CPU_CPU_H

#include "tracers/annotations/guest.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CPU_STACK_BYTES 65536u         // of the handler; touched as deep as it goes
#define CPU_SIGNAL_STACK_BYTES 262144u // handlers of the program may run there, too

#define CPU_INTERPOSED __attribute__((visibility("default"))) // before a function of libc's name

struct cpu_reading { // of a thread's CPU clock
  uint64_t at_ns, cpu_ns;
};

// Of a thread that is sampled. The block of one that has ended goes to the next.
struct cpu_thread {
  struct guest_block block; // first
  void *(*start)(void *);   // the program's, of a thread that begins
  void *argument;
  bool believes_blocked;      // our signal, as its creator does
  int timer;                  // the kernel's number
  bool has_timer;             // atomic
  bool is_walking;            // outside of the handler: it leaves the thread alone then
  uint64_t due_ns;            // the thread's CPU time at the last expiry of its timer
  uint64_t seen_ns;           // the part of it that samples stand for
  struct cpu_reading reading; // the last one, before or after a call that may wait
  _Alignas(16) char stack[CPU_STACK_BYTES];
  char signal_stack[CPU_SIGNAL_STACK_BYTES]; // where signals come to a thread without one of the program's
};
// Of the calling thread; NULL: not sampled.
extern __thread struct cpu_thread *cpu_thread __attribute__((tls_model("initial-exec")));

// ---- cpu.c
// What could not be sampled, one line in the trace. Once for each text.
void cpu_say(const char *text);
void *cpu_find_next(void **place, const char *name); // for cpu_next
// The function that ours of this name hides, cached in `place` (atomic).
static inline void *cpu_next(void **place, const char *name)
{
  void *found = __atomic_load_n(place, __ATOMIC_ACQUIRE);
  return __builtin_expect(found != NULL, 1) ? found : cpu_find_next(place, name);
}
#define CPU_NEXT(place, name) ((__typeof__(&name))(uintptr_t)cpu_next(place, #name))

// ---- threads.c
bool cpu_threads_start(int signal_number, unsigned rate); // the calling thread is the first; before main
void cpu_threads_stop(void); // of the whole process, for good: the program wants the signal
uint64_t cpu_threads_period_ns(void);

// ---- sampler.c
bool cpu_sampler_start(int signal_number);         // installs the handler
bool cpu_sampler_has_any(void);                    // this process has recorded a sample
union sigval cpu_sampler_mark(void);               // of our timers
void cpu_sampler_interpreter(const void *address); // native functions end where Python's begin: in this library

struct unwind_place;
uint32_t cpu_sampler_path(const struct unwind_place *place); // 0: none

// ---- stacks.c
void cpu_stacks_begin(void); // for the calling thread, which has its block
bool cpu_stacks_end(void);   // false: a handler is running there

// ---- waits.c
void cpu_waits_start(void); // before main

// ---- signals.c
int cpu_signals_choose(void);  // 0: none is free
int cpu_signals_ours(void);    // 0: none, or no more
void cpu_signals_forked(void); // in the child
// The program means our signal, and gets it: ends sampling. In a child of vfork nothing.
void cpu_signals_give_up(void);
int cpu_signals_set(int number, const struct sigaction *action, struct sigaction *ret_before); // libc's own sigaction

// ---- masks.c
// Whether the calling thread believes that it blocks our signal. A thread inherits that.
bool cpu_masks_believed(void);
void cpu_masks_believe(bool is_blocked);

// ---- interpreter.c
void cpu_interpreter_seen(const void *caller); // `caller` ignores SIGPIPE, as Python does when it starts

#endif
