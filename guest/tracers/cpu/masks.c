// SPDX-License-Identifier: Apache-2.0
// Sets of signals with ours in them. Programs block all signals in threads that are to handle none, and wait for all in one
// that handles them: ours is left out of such sets, and shown in what they query. A set with ours and few other real-time
// signals means ours: sampling ends. In a handler that holds all signals the kernel's mask has ours: there it stays held.
#include "tracers/cpu/cpu.h"

#include <sys/signalfd.h>
#include <time.h>

// The calling thread believes that it blocks our signal.
static __thread bool believes_blocked __attribute__((tls_model("initial-exec")));

bool cpu_masks_believed(void)
{
  return believes_blocked;
}

void cpu_masks_believe(bool is_blocked)
{
  believes_blocked = is_blocked;
}

static bool is_set_of_all(const sigset_t *set)
{
  int in = 0, out = 0;
  for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
    sigismember(set, number) == 1 ? in++ : out++;
  return in > out;
}

static bool has_signal(const sigset_t *set, int number)
{
  return set != NULL && number != 0 && sigismember(set, number) == 1;
}

// `set`, or `copy` without our signal. After the end of sampling it is `set`.
static const sigset_t *without_ours(const sigset_t *set, sigset_t *copy)
{
  int ours = cpu_signals_ours();
  if (!has_signal(set, ours))
    return set;
  if (!believes_blocked && !is_set_of_all(set)) { // else a mask is put back that has ours
    cpu_signals_give_up();
    return set;
  }
  *copy = *set;
  sigdelset(copy, ours);
  return copy;
}

// ---- masks
typedef int mask_function(int how, const sigset_t *set, sigset_t *ret_before);

static int change_mask(mask_function *change, int how, const sigset_t *set, sigset_t *ret_before)
{
  sigset_t copy, before;
  const sigset_t *real = how == SIG_UNBLOCK ? set : without_ours(set, &copy);
  int ours = cpu_signals_ours();
  int result = change(how, real, &before);
  if (result != 0 || ours == 0) {
    if (result == 0 && ret_before != NULL)
      *ret_before = before;
    return result;
  }
  bool was_believed = believes_blocked, has_ours = has_signal(set, ours);
  if (!has_signal(&before, ours)) {
    if (set != NULL && (how == SIG_SETMASK || has_ours))
      believes_blocked = has_ours && how != SIG_UNBLOCK;
  } else if (has_ours && how == SIG_SETMASK) { // held by a handler
    sigemptyset(&copy);
    sigaddset(&copy, ours);
    (void)change(SIG_BLOCK, &copy, NULL);
  }
  if (was_believed)
    sigaddset(&before, ours);
  if (ret_before != NULL)
    *ret_before = before;
  return 0;
}

CPU_INTERPOSED int pthread_sigmask(int how, const sigset_t *set, sigset_t *ret_before)
{
  static void *next;
  return change_mask(CPU_NEXT(&next, pthread_sigmask), how, set, ret_before);
}

CPU_INTERPOSED int sigprocmask(int how, const sigset_t *set, sigset_t *ret_before)
{
  static void *next;
  return change_mask(CPU_NEXT(&next, sigprocmask), how, set, ret_before);
}

// ---- waits
CPU_INTERPOSED int sigwait(const sigset_t *set, int *ret_number)
{
  static void *next;
  sigset_t copy;
  return CPU_NEXT(&next, sigwait)(without_ours(set, &copy), ret_number);
}

CPU_INTERPOSED int sigwaitinfo(const sigset_t *set, siginfo_t *ret_info)
{
  static void *next;
  sigset_t copy;
  return CPU_NEXT(&next, sigwaitinfo)(without_ours(set, &copy), ret_info);
}

CPU_INTERPOSED int sigtimedwait(const sigset_t *set, siginfo_t *ret_info, const struct timespec *most)
{
  static void *next;
  sigset_t copy;
  return CPU_NEXT(&next, sigtimedwait)(without_ours(set, &copy), ret_info, most);
}

CPU_INTERPOSED int signalfd(int file, const sigset_t *set, int flags)
{
  static void *next;
  sigset_t copy;
  return CPU_NEXT(&next, signalfd)(file, without_ours(set, &copy), flags);
}
