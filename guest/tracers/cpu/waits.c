// SPDX-License-Identifier: Apache-2.0
// Calls that wait: one sample for each that took a millisecond or more, with its kind. Without --sample-mode real, and on
// threads that are not sampled, they pass on. Cancellation passes through them.
#include "tracers/cpu/cpu.h"

#include "base/clock.h"
#include "tracers/frames/frames.h"

#include <linux/futex.h>
#include <netdb.h>
#include <poll.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <xsp/tracer.h>

#define SHORTEST_NS 1000000
#define READING_NS 1000000  // a reading of the CPU clock holds as long
#define JOINING_NS 50000000 // of a process without samples: shells that wait a moment for a child make no files

static bool is_on; // before main, then constant

// ---- a wait
struct waiting {
  uint64_t begin_ns;         // 0: not recorded
  struct cpu_reading before; // the last one at the beginning: calls inside, as of signal handlers, read again
};

static struct waiting begin_wait(void)
{
  struct cpu_thread *thread = is_on ? cpu_thread : NULL;
  if (thread == NULL)
    return (struct waiting){0};
  struct cpu_reading before = thread->reading;
  uint64_t now_ns = clock_now_ns(CLOCK_MONOTONIC);
  if (now_ns - before.at_ns >= READING_NS)
    thread->reading = before = (struct cpu_reading){now_ns, clock_now_ns(CLOCK_THREAD_CPUTIME_ID)};
  return (struct waiting){now_ns, before};
}

// What of the call was no CPU time. How much the thread has used since the call began is not known, but since a reading of
// its CPU clock, which is a system call; before the call it cannot have used more than went by.
static uint64_t waited(struct cpu_thread *thread, const struct waiting *waiting, uint64_t end_ns)
{
  uint64_t cpu_ns = clock_now_ns(CLOCK_THREAD_CPUTIME_ID), used_ns = cpu_ns - waiting->before.cpu_ns;
  uint64_t before_ns = waiting->begin_ns - waiting->before.at_ns, whole_ns = end_ns - waiting->begin_ns;
  thread->reading = (struct cpu_reading){end_ns, cpu_ns};
  uint64_t inside_ns = used_ns > before_ns ? used_ns - before_ns : 0;
  return inside_ns < whole_ns ? whole_ns - inside_ns : 0;
}

__attribute__((noinline)) static void take_wait(enum xsp_sample_kind kind, const struct waiting *waiting,
                                                uint64_t end_ns)
{
  struct cpu_thread *thread = cpu_thread;
  int saved_errno = errno;
  if (thread != NULL && !thread->is_walking) {
    thread->is_walking = true; // our handler leaves the thread alone
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    uint64_t wait_ns = waited(thread, waiting, end_ns);
    bool is_worth_it = wait_ns >= JOINING_NS || (wait_ns >= SHORTEST_NS && cpu_sampler_has_any());
    if (is_worth_it && xsp_tracer_levels("cpu") != 0) {
      struct unwind_place here;
      UNWIND_HERE(&here);
      (void)xsp_sample(kind, cpu_sampler_path(&here), wait_ns);
    }
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    thread->is_walking = false;
  }
  errno = saved_errno;
}

static void end_wait(enum xsp_sample_kind kind, const struct waiting *waiting)
{
  if (waiting->begin_ns == 0)
    return;
  uint64_t end_ns = clock_now_ns(CLOCK_MONOTONIC);
  if (end_ns - waiting->begin_ns >= SHORTEST_NS)
    take_wait(kind, waiting, end_ns);
}

// ---- the calls: X(kind, result, name, parameters, arguments)
#define EACH_WAIT(X)                                                                                                   \
  X(SLEEP, unsigned, sleep, (unsigned s), (s))                                                                         \
  X(SLEEP, int, usleep, (useconds_t us), (us))                                                                         \
  X(SLEEP, int, nanosleep, (const struct timespec *t, struct timespec *r), (t, r))                                     \
  X(SLEEP, int, clock_nanosleep, (clockid_t c, int f, const struct timespec *t, struct timespec *r), (c, f, t, r))     \
  X(IO, int, poll, (struct pollfd * p, nfds_t n, int ms), (p, n, ms))                                                  \
  X(IO, int, ppoll, (struct pollfd * p, nfds_t n, const struct timespec *t, const sigset_t *m), (p, n, t, m))          \
  X(IO, int, select, (int n, fd_set *r, fd_set *w, fd_set *e, struct timeval *t), (n, r, w, e, t))                     \
  X(IO, int, pselect, (int n, fd_set *r, fd_set *w, fd_set *e, const struct timespec *t, const sigset_t *m),           \
    (n, r, w, e, t, m))                                                                                                \
  X(IO, int, epoll_wait, (int f, struct epoll_event *e, int n, int ms), (f, e, n, ms))                                 \
  X(IO, int, epoll_pwait, (int f, struct epoll_event *e, int n, int ms, const sigset_t *m), (f, e, n, ms, m))          \
  X(IO, ssize_t, read, (int f, void *p, size_t n), (f, p, n))                                                          \
  X(IO, ssize_t, write, (int f, const void *p, size_t n), (f, p, n))                                                   \
  X(IO, ssize_t, pread, (int f, void *p, size_t n, off_t o), (f, p, n, o))                                             \
  X(IO, ssize_t, pread64, (int f, void *p, size_t n, off64_t o), (f, p, n, o))                                         \
  X(IO, ssize_t, pwrite, (int f, const void *p, size_t n, off_t o), (f, p, n, o))                                      \
  X(IO, ssize_t, pwrite64, (int f, const void *p, size_t n, off64_t o), (f, p, n, o))                                  \
  X(IO, ssize_t, readv, (int f, const struct iovec *v, int n), (f, v, n))                                              \
  X(IO, ssize_t, writev, (int f, const struct iovec *v, int n), (f, v, n))                                             \
  X(IO, ssize_t, sendfile, (int o, int i, off_t *a, size_t n), (o, i, a, n))                                           \
  X(IO, ssize_t, sendfile64, (int o, int i, off64_t *a, size_t n), (o, i, a, n))                                       \
  X(IO, ssize_t, recv, (int f, void *p, size_t n, int l), (f, p, n, l))                                                \
  X(IO, ssize_t, recvmsg, (int f, struct msghdr *m, int l), (f, m, l))                                                 \
  X(IO, ssize_t, send, (int f, const void *p, size_t n, int l), (f, p, n, l))                                          \
  X(IO, ssize_t, sendmsg, (int f, const struct msghdr *m, int l), (f, m, l))                                           \
  X(IO, int, fsync, (int f), (f))                                                                                      \
  X(IO, int, fdatasync, (int f), (f))                                                                                  \
  X(IO, int, flock, (int f, int o), (f, o))                                                                            \
  X(IO, int, getaddrinfo, (const char *n, const char *s, const struct addrinfo *h, struct addrinfo **r), (n, s, h, r)) \
  X(LOCK, int, sem_wait, (sem_t * s), (s))                                                                             \
  X(LOCK, int, sem_timedwait, (sem_t * s, const struct timespec *t), (s, t))                                           \
  X(LOCK, int, sem_clockwait, (sem_t * s, clockid_t c, const struct timespec *t), (s, c, t))                           \
  X(LOCK, int, pthread_cond_wait, (pthread_cond_t * c, pthread_mutex_t * m), (c, m))                                   \
  X(LOCK, int, pthread_cond_timedwait, (pthread_cond_t * c, pthread_mutex_t * m, const struct timespec *t), (c, m, t)) \
  X(LOCK, int, pthread_cond_clockwait,                                                                                 \
    (pthread_cond_t * c, pthread_mutex_t * m, clockid_t k, const struct timespec *t), (c, m, k, t))                    \
  X(LOCK, int, pthread_join, (pthread_t t, void **r), (t, r))                                                          \
  X(LOCK, int, pthread_timedjoin_np, (pthread_t t, void **r, const struct timespec *a), (t, r, a))                     \
  X(LOCK, int, pthread_clockjoin_np, (pthread_t t, void **r, clockid_t c, const struct timespec *a), (t, r, c, a))     \
  X(LOCK, int, pthread_barrier_wait, (pthread_barrier_t * b), (b))                                                     \
  X(LOCK, int, pthread_rwlock_rdlock, (pthread_rwlock_t * l), (l))                                                     \
  X(LOCK, int, pthread_rwlock_wrlock, (pthread_rwlock_t * l), (l))                                                     \
  X(LOCK, int, pthread_mutex_timedlock, (pthread_mutex_t * m, const struct timespec *t), (m, t))                       \
  X(LOCK, int, pthread_mutex_clocklock, (pthread_mutex_t * m, clockid_t c, const struct timespec *t), (m, c, t))       \
  X(CHILD, pid_t, wait, (int *s), (s))                                                                                 \
  X(CHILD, pid_t, waitpid, (pid_t p, int *s, int o), (p, s, o))                                                        \
  X(CHILD, pid_t, wait3, (int *s, int o, struct rusage *u), (s, o, u))                                                 \
  X(CHILD, pid_t, wait4, (pid_t p, int *s, int o, struct rusage *u), (p, s, o, u))                                     \
  X(CHILD, int, waitid, (idtype_t t, id_t i, siginfo_t * n, int o), (t, i, n, o))                                      \
  X(CHILD, int, system, (const char *c), (c))

// Addresses of sockets are a union in the headers' declarations of these.
#define EACH_ADDRESS_WAIT(X)                                                                                           \
  X(IO, int, accept, (int f, __SOCKADDR_ARG a, socklen_t *l), (f, a, l))                                               \
  X(IO, int, accept4, (int f, __SOCKADDR_ARG a, socklen_t *l, int o), (f, a, l, o))                                    \
  X(IO, int, connect, (int f, __CONST_SOCKADDR_ARG a, socklen_t l), (f, a, l))                                         \
  X(IO, ssize_t, recvfrom, (int f, void *p, size_t n, int o, __SOCKADDR_ARG a, socklen_t *l), (f, p, n, o, a, l))      \
  X(IO, ssize_t, sendto, (int f, const void *p, size_t n, int o, __CONST_SOCKADDR_ARG a, socklen_t l),                 \
    (f, p, n, o, a, l))

#define DEFINE(kind, result, name, parameters, arguments)                                                              \
  static void *next_##name;                                                                                            \
  CPU_INTERPOSED result name parameters                                                                                \
  {                                                                                                                    \
    result(*call) parameters = (result(*) parameters)(uintptr_t)cpu_next(&next_##name, #name);                         \
    struct waiting waiting = begin_wait();                                                                             \
    result answer = call arguments;                                                                                    \
    end_wait(XSP_SAMPLE_##kind, &waiting);                                                                             \
    return answer;                                                                                                     \
  }
EACH_WAIT(DEFINE)
EACH_ADDRESS_WAIT(DEFINE)

// A lock that is free costs no reading of clocks. What trying finds out of order, locking reports.
static void *next_mutex_lock, *next_mutex_trylock;
CPU_INTERPOSED int pthread_mutex_lock(pthread_mutex_t *mutex)
{
  int (*lock)(pthread_mutex_t *) =
      (int (*)(pthread_mutex_t *))(uintptr_t)cpu_next(&next_mutex_lock, "pthread_mutex_lock");
  if (!is_on)
    return lock(mutex);
  int (*try_lock)(pthread_mutex_t *) =
      (int (*)(pthread_mutex_t *))(uintptr_t)cpu_next(&next_mutex_trylock, "pthread_mutex_trylock");
  int answer = try_lock(mutex);
  if (answer != EBUSY)
    return answer;
  struct waiting waiting = begin_wait();
  answer = lock(mutex);
  end_wait(XSP_SAMPLE_LOCK, &waiting);
  return answer;
}

static bool waits_for_futex(long number, long operation)
{
  long command = operation & FUTEX_CMD_MASK;
  return number == SYS_futex && (command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET || command == FUTEX_LOCK_PI);
}

// Locks of Rust and others.
static void *next_syscall;
CPU_INTERPOSED long syscall(long number, ...)
{
  long (*call)(long, ...) = (long (*)(long, ...))(uintptr_t)cpu_next(&next_syscall, "syscall");
  long a[6];
  va_list rest;
  va_start(rest, number);
  for (int i = 0; i < 6; i++)
    a[i] = va_arg(rest, long);
  va_end(rest);
  struct waiting waiting = waits_for_futex(number, a[1]) ? begin_wait() : (struct waiting){0};
  long answer = call(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  end_wait(XSP_SAMPLE_LOCK, &waiting);
  return answer;
}

// ---- start
// All are looked up now: the first call may come in a hurry, in a handler or a child of fork.
#define FIND(kind, result, name, parameters, arguments) (void)cpu_next(&next_##name, #name);

void cpu_waits_start(void)
{
  EACH_WAIT(FIND)
  EACH_ADDRESS_WAIT(FIND)
  is_on = true;
}
