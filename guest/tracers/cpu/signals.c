// SPDX-License-Identifier: Apache-2.0
// Which signal is ours, and the program's own use of it: a query finds the default; whoever installs a handler for it gets
// it, and sampling ends.
#include "tracers/cpu/cpu.h"

#include <string.h>
#include <unistd.h>

static int ours; // 0: none
static pid_t owner;

int cpu_signals_set(int number, const struct sigaction *action, struct sigaction *ret_before)
{
  static void *next;
  return CPU_NEXT(&next, sigaction)(number, action, ret_before);
}

// The highest one: programs count theirs from SIGRTMIN.
int cpu_signals_choose(void)
{
  sigset_t blocked;
  if (pthread_sigmask(SIG_BLOCK, NULL, &blocked) != 0)
    return 0;
  for (int number = SIGRTMAX; number >= SIGRTMIN; number--) {
    struct sigaction now;
    if (!sigismember(&blocked, number) && cpu_signals_set(number, NULL, &now) == 0 &&
        (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_DFL) {
      owner = getpid();
      return ours = number;
    }
  }
  return 0;
}

void cpu_signals_forked(void)
{
  owner = getpid();
}

int cpu_signals_ours(void)
{
  return ours;
}

// A child of vfork has dispositions of its own, but its parent's memory: nothing stops there.
void cpu_signals_give_up(void)
{
  const struct sigaction ignored = {.sa_handler = SIG_IGN};
  if (getpid() != owner && getppid() == owner)
    return;
  cpu_threads_stop();
  (void)cpu_signals_set(ours, &ignored, NULL); // drops what is pending
  ours = 0;
  cpu_say("sampling has ended: the program uses the highest real-time signal itself");
}

CPU_INTERPOSED int sigaction(int number, const struct sigaction *action, struct sigaction *ret_before)
{
  if (number == SIGPIPE && action != NULL && action->sa_handler == SIG_IGN)
    cpu_interpreter_seen(__builtin_return_address(0));
  if (number != ours || number == 0)
    return cpu_signals_set(number, action, ret_before);
  if (action != NULL && ((action->sa_flags & SA_SIGINFO) != 0 || action->sa_handler != SIG_DFL)) {
    const struct sigaction copy = *action;
    cpu_signals_give_up();
    if (cpu_signals_set(number, &copy, ret_before) != 0)
      return -1;
  }
  if (ret_before != NULL) {
    memset(ret_before, 0, sizeof *ret_before);
    ret_before->sa_handler = SIG_DFL;
  }
  return 0;
}

// What else of libc's sets a disposition: `handler` for our signal goes to it after sampling has ended.
#define SETS_HANDLER(name)                                                                                             \
  CPU_INTERPOSED sighandler_t name(int number, sighandler_t handler)                                                   \
  {                                                                                                                    \
    static void *next;                                                                                                 \
    if (number == ours && number != 0) {                                                                               \
      if (handler == SIG_DFL)                                                                                          \
        return SIG_DFL;                                                                                                \
      cpu_signals_give_up();                                                                                           \
      return CPU_NEXT(&next, name)(number, handler) == SIG_ERR ? SIG_ERR : SIG_DFL;                                    \
    }                                                                                                                  \
    return CPU_NEXT(&next, name)(number, handler);                                                                     \
  }
sighandler_t __sysv_signal(int number, sighandler_t handler);
sighandler_t sysv_signal(int number, sighandler_t handler);
SETS_HANDLER(signal)
SETS_HANDLER(ssignal)
SETS_HANDLER(sysv_signal)
SETS_HANDLER(__sysv_signal)
