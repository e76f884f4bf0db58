// SPDX-License-Identifier: Apache-2.0
// The programs of test_cpu.py: cpu_guest SCENARIO. What each prints, and its status, are the same with and without a
// sampler.
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static uint64_t cpu_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static volatile uint64_t sink;
#define BURN(operator)                                                                                                 \
  for (uint64_t end = cpu_ns() + ns; cpu_ns() < end;)                                                                  \
    for (int i = 0; i < 20000; i++)                                                                                    \
  sink operator(uint64_t) i

NOINLINE static void light(uint64_t ns)
{
  BURN(+=);
}

NOINLINE static void heavy(uint64_t ns) // other code: a compiler would make one function of two that are the same
{
  BURN(^=);
}

static void must(bool is_so)
{
  if (!is_so) {
    printf("failed: %s\n", strerror(errno));
    exit(2);
  }
}

static void start_thread(pthread_t *thread, void *(*function)(void *), void *argument)
{
  errno = pthread_create(thread, NULL, function, argument);
  must(errno == 0);
}

// ---- figures
static void *three_to_seven(void *unused)
{
  for (int i = 0; i < 4; i++) {
    light(30000000);
    heavy(70000000);
  }
  fprintf(stderr, "%ld %lu\n", syscall(SYS_gettid), (unsigned long)cpu_ns());
  return unused;
}

static void shares(void)
{
  pthread_t threads[2];
  for (int i = 0; i < 2; i++)
    start_thread(&threads[i], three_to_seven, NULL);
  for (int i = 0; i < 2; i++)
    pthread_join(threads[i], NULL);
}

// ---- signals of the program's own
static volatile sig_atomic_t ticks, last_signal;

static void count_tick(int number)
{
  last_signal = number;
  ticks++;
}

static void own_itimer(void)
{
  const struct itimerval period = {{0, 5000}, {0, 5000}};
  must(signal(SIGPROF, count_tick) != SIG_ERR && setitimer(ITIMER_PROF, &period, NULL) == 0);
  while (ticks < 20)
    light(1000000);
  printf("ticks of signal %d\n", last_signal);
}

static void own_timer(void)
{
  timer_t timer;
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN};
  const struct itimerspec period = {{0, 5000000}, {0, 5000000}};
  must(signal(SIGRTMIN, count_tick) != SIG_ERR && timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer) == 0 &&
       timer_settime(timer, 0, &period, NULL) == 0);
  while (ticks < 20)
    light(1000000);
  printf("ticks of signal %d\n", last_signal);
}

static void take_highest(void)
{
  struct sigaction before, count = {.sa_handler = count_tick};
  light(50000000);
  must(sigaction(SIGRTMAX, NULL, &before) == 0);
  printf("before %d\n", before.sa_handler == SIG_DFL && before.sa_flags == 0);
  must(sigaction(SIGRTMAX, &count, &before) == 0);
  printf("before %d\n", before.sa_handler == SIG_DFL && before.sa_flags == 0);
  light(50000000);
  raise(SIGRTMAX);
  must(sigaction(SIGRTMAX, NULL, &before) == 0);
  printf("ticks %d, handler %d\n", (int)ticks, before.sa_handler == count_tick);
}

static void die_by_highest(void)
{
  light(50000000);
  must(signal(SIGRTMAX, SIG_DFL) == SIG_DFL);
  kill(getpid(), SIGRTMAX);
  for (;;)
    pause();
}

// ---- masks and waits
static int pending_count(void)
{
  sigset_t pending;
  int count = 0;
  must(sigpending(&pending) == 0);
  for (int number = 1; number <= SIGRTMAX; number++)
    count += sigismember(&pending, number) == 1;
  return count;
}

static void *wait_for_any(void *unused)
{
  sigset_t all;
  sigfillset(&all);
  light(50000000);
  int number = 0;
  must(sigwait(&all, &number) == 0);
  printf("signal %d, pending %d\n", number, pending_count());
  light(50000000);
  return unused;
}

static void wait_for_signals(void)
{
  sigset_t all, now;
  sigfillset(&all);
  must(pthread_sigmask(SIG_SETMASK, &all, NULL) == 0 && pthread_sigmask(SIG_BLOCK, NULL, &now) == 0);
  printf("blocked: the highest %d, the lowest %d\n", sigismember(&now, SIGRTMAX), sigismember(&now, SIGHUP));
  pthread_t thread;
  start_thread(&thread, wait_for_any, NULL);
  light(100000000);
  must(kill(getpid(), SIGUSR1) == 0);
  pthread_join(thread, NULL);
  printf("pending %d\n", pending_count());
}

static void change_masks(int number)
{
  sigset_t all, before, after;
  sigfillset(&all);
  must(pthread_sigmask(SIG_SETMASK, &all, &before) == 0 && pthread_sigmask(SIG_SETMASK, &before, NULL) == 0 &&
       pthread_sigmask(SIG_BLOCK, NULL, &after) == 0);
  printf("signal %d: the highest %d, then %d\n", number, sigismember(&before, SIGRTMAX), sigismember(&after, SIGRTMAX));
}

static void masks_in_handlers(void)
{
  struct sigaction action = {.sa_handler = change_masks};
  sigfillset(&action.sa_mask);
  must(sigaction(SIGUSR1, &action, NULL) == 0);
  for (int i = 0; i < 3; i++) {
    change_masks(0);
    light(30000000);
    raise(SIGUSR1);
  }
}

static void wait_uninterrupted(void)
{
  int ends[2], interrupted = 0;
  must(pipe(ends) == 0);
  for (int i = 0; i < 20; i++) {
    struct pollfd none = {ends[0], POLLIN, 0};
    struct timespec moment = {0, 1000000};
    light(10000000);
    interrupted += nanosleep(&moment, NULL) != 0;
    light(10000000);
    interrupted += poll(&none, 1, 1) < 0;
  }
  printf("interrupted %d\n", interrupted);
}

// ---- stacks
static void burn_in_handler(int number)
{
  last_signal = number;
  heavy(60000000);
}

static void on_small_stacks(void)
{
  static char memory[16384];
  const stack_t stack = {.ss_sp = memory, .ss_size = sizeof memory};
  const struct sigaction action = {.sa_handler = burn_in_handler, .sa_flags = SA_ONSTACK};
  must(sigaltstack(&stack, NULL) == 0 && sigaction(SIGUSR1, &action, NULL) == 0);
  for (int i = 0; i < 3; i++) {
    light(20000000);
    raise(SIGUSR1);
  }
  printf("signal %d\n", last_signal);
}

// As generated code does: its stack pointer is in data, with other data right below.
static void with_data_below(void)
{
  static char data[65536];
  int changed = 0;
#if defined(__x86_64__)
  for (int i = 0; i < 20; i++) {
    uint64_t rounds = 20000000;
    __asm__ volatile("movq %%rsp, %%rbx\n\t"
                     "movq %[top], %%rsp\n"
                     "1:\tdecq %[rounds]\n\t"
                     "jnz 1b\n\t"
                     "movq %%rbx, %%rsp"
                     : [rounds] "+r"(rounds)
                     : [top] "r"(data + sizeof data)
                     : "rbx", "cc", "memory");
  }
#endif
  for (size_t i = 0; i < sizeof data; i++)
    changed += data[i] != 0;
  stack_t stack;
  must(sigaltstack(NULL, &stack) == 0);
  printf("changed %d, has a signal stack %d\n", changed, (stack.ss_flags & SS_DISABLE) == 0);
}

static ucontext_t outside, inside;

static void coroutine(void)
{
  for (int i = 0; i < 3; i++) {
    heavy(30000000);
    swapcontext(&inside, &outside);
  }
}

static void in_coroutine(void)
{
  static char stack[16384];
  must(getcontext(&inside) == 0);
  inside.uc_stack.ss_sp = stack;
  inside.uc_stack.ss_size = sizeof stack;
  makecontext(&inside, coroutine, 0);
  for (int i = 0; i < 3; i++) {
    light(30000000);
    must(swapcontext(&outside, &inside) == 0);
  }
  printf("done\n");
}

static sigjmp_buf start_over;

static void jump(int number)
{
  (void)number;
  ticks++;
  siglongjmp(start_over, 1);
}

static void jump_out_of_handlers(void)
{
  const struct itimerval period = {{0, 3000}, {0, 3000}};
  if (sigsetjmp(start_over, 1) == 0) // signals begin when there is where to jump to
    must(signal(SIGALRM, jump) != SIG_ERR && setitimer(ITIMER_REAL, &period, NULL) == 0);
  while (ticks < 100)
    light(1000000);
  must(signal(SIGALRM, SIG_IGN) != SIG_ERR); // no jump out of printf
  printf("done\n");
}

// ---- threads
static void *burn_a_little(void *unused)
{
  light(2000000);
  return unused;
}

static void hundreds_of_threads(void)
{
  pthread_t threads[300];
  for (int i = 0; i < 300; i++)
    start_thread(&threads[i], burn_a_little, &threads[i]);
  int same = 0;
  for (int i = 0; i < 300; i++) {
    void *result;
    same += pthread_join(threads[i], &result) == 0 && result == &threads[i];
  }
  printf("threads %d\n", same);
}

static void note_end(void *text)
{
  printf("%s\n", (const char *)text);
}

static void *cancelled(void *ready)
{
  pthread_cleanup_push(note_end, "cleaned up");
  light(50000000);
  must(write(*(int *)ready, "x", 1) == 1);
  for (;;)
    pause();
  pthread_cleanup_pop(0);
  return NULL;
}

static void *leaves(void *unused)
{
  (void)unused;
  light(50000000);
  pthread_exit("left");
}

static void ends_of_threads(void)
{
  int ends[2];
  char byte;
  void *result = NULL;
  pthread_t thread;
  must(pipe(ends) == 0);
  start_thread(&thread, cancelled, &ends[1]);
  must(read(ends[0], &byte, 1) == 1 && pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0);
  printf("cancelled %d\n", result == PTHREAD_CANCELED);
  start_thread(&thread, leaves, NULL);
  must(pthread_join(thread, &result) == 0);
  printf("%s\n", (char *)result);
  pthread_exit(NULL); // of main: status 0
}

// ---- calls that wait, a tenth of a second each
enum { TENTH_NS = 100000000 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static int pipe_ends[2];

static bool is_asleep(pid_t process)
{
  char path[64], text[512];
  snprintf(path, sizeof path, "/proc/%d/task/%d/stat", (int)process, (int)process);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  must(file >= 0);
  ssize_t got = read(file, text, sizeof text - 1);
  close(file);
  text[got > 0 ? got : 0] = '\0';
  const char *end = strrchr(text, ')');
  return end != NULL && end[2] == 'S';
}

static atomic_int calls; // of the main thread that wait, with the one that it begins

// A tenth of a second within that call: not before the main thread sleeps in it, as other programs may take its CPU.
NOINLINE static void stay_within(int call)
{
  const struct timespec tenth = {0, TENTH_NS};
  while (atomic_load(&calls) < call || !is_asleep(getpid()))
    sched_yield();
  nanosleep(&tenth, NULL);
}

static void *release_later(void *locked)
{
  pthread_mutex_lock(&mutex);
  sem_post(locked);
  stay_within(1);
  pthread_mutex_unlock(&mutex);
  stay_within(2);
  pthread_mutex_lock(&mutex);
  pthread_cond_signal(&condition);
  pthread_mutex_unlock(&mutex);
  stay_within(3);
  sem_post(&semaphore);
  stay_within(4);
  must(write(pipe_ends[1], "x", 1) == 1);
  return NULL;
}

NOINLINE static void sleeps(void)
{
  must(usleep(TENTH_NS / 1000) == 0); // no jump: its frame stays
}

NOINLINE static void locks(void)
{
  struct timespec at;
  clock_gettime(CLOCK_REALTIME, &at);
  at.tv_sec += 600;
  atomic_store(&calls, 1);
  must(pthread_mutex_lock(&mutex) == 0);
  atomic_store(&calls, 2);
  must(pthread_cond_timedwait(&condition, &mutex, &at) == 0 && pthread_mutex_unlock(&mutex) == 0);
  atomic_store(&calls, 3);
  must(sem_timedwait(&semaphore, &at) == 0);
}

NOINLINE static void reads(void)
{
  struct pollfd nothing = {pipe_ends[0], POLLIN, 0};
  char byte;
  atomic_store(&calls, 4);
  must(read(pipe_ends[0], &byte, 1) == 1 && poll(&nothing, 1, TENTH_NS / 1000000) == 0);
}

NOINLINE static void waits_for_child(void)
{
  int status;
  pid_t child = fork();
  if (child == 0) {
    while (!is_asleep(getppid()))
      sched_yield();
    usleep(TENTH_NS / 1000);
    _exit(3);
  }
  must(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 3);
}

static uint64_t now_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

// Calls that use the CPU all the time: reports how long they did not.
NOINLINE static void reads_without_waiting(void)
{
  FILE *zeros = fopen("/dev/zero", "r");
  const size_t bytes = 1 << 25;
  char *memory = malloc(bytes);
  must(zeros != NULL && memory != NULL);
  uint64_t begin_ns = now_ns(), begin_cpu_ns = cpu_ns();
  while (cpu_ns() - begin_cpu_ns < 2 * TENTH_NS)
    must(read(fileno(zeros), memory, bytes) == (ssize_t)bytes);
  uint64_t cpu = cpu_ns() - begin_cpu_ns;
  fprintf(stderr, "%lu\n", (unsigned long)(now_ns() - begin_ns - cpu));
  free(memory);
  fclose(zeros);
}

static void work_and_write(int number)
{
  (void)number;
  uint64_t begin_ns = cpu_ns();
  while (cpu_ns() - begin_ns < TENTH_NS / 10)
    must(write(STDOUT_FILENO, "", 0) == 0);
}

// A handler interrupts a call that waits, and has calls of its own: reports how long the thread did not use the CPU.
NOINLINE static void waits_with_work_inside(void)
{
  const struct sigaction work = {.sa_handler = work_and_write};
  const struct itimerval soon = {.it_value = {.tv_usec = 2000}};
  must(sigaction(SIGALRM, &work, NULL) == 0);
  uint64_t begin_ns = now_ns(), begin_cpu_ns = cpu_ns();
  for (int i = 0; i < 20; i++) {
    setitimer(ITIMER_REAL, &soon, NULL);
    select(0, NULL, NULL, NULL, &(struct timeval){.tv_sec = 60});
  }
  uint64_t cpu = cpu_ns() - begin_cpu_ns;
  fprintf(stderr, "%lu\n", (unsigned long)(now_ns() - begin_ns - cpu));
}

// Threads that take turns, by conditions between other data.
static struct {
  uint64_t before;
  pthread_cond_t turn;
  uint64_t after;
  int whose;
} game = {UINT64_MAX, PTHREAD_COND_INITIALIZER, UINT64_MAX, 0};

static void *play(void *self)
{
  for (int i = 0; i < 2000; i++) {
    pthread_mutex_lock(&mutex);
    while (game.whose != *(int *)self)
      pthread_cond_wait(&game.turn, &mutex);
    game.whose = 1 - game.whose;
    pthread_cond_broadcast(&game.turn);
    pthread_mutex_unlock(&mutex);
  }
  return NULL;
}

static void conditions(void)
{
  static int players[] = {0, 1};
  pthread_t threads[2];
  for (int i = 0; i < 2; i++)
    start_thread(&threads[i], play, &players[i]);
  for (int i = 0; i < 2; i++)
    pthread_join(threads[i], NULL);
  printf("around it %d\n", game.before == UINT64_MAX && game.after == UINT64_MAX);
}

static void waits(void)
{
  pthread_t thread;
  sem_t locked;
  must(pipe(pipe_ends) == 0 && sem_init(&semaphore, 0, 0) == 0 && sem_init(&locked, 0, 0) == 0);
  start_thread(&thread, release_later, &locked);
  must(sem_wait(&locked) == 0);
  locks();
  reads();
  pthread_join(thread, NULL);
  sleeps();
  waits_for_child();
  reads_without_waiting();
  waits_with_work_inside();
  printf("done\n");
}

// ---- processes
static void forks(void)
{
  light(50000000);
  pid_t child = fork();
  must(child >= 0);
  if (child == 0) {
    heavy(100000000);
    pthread_t thread;
    start_thread(&thread, burn_a_little, NULL);
    pthread_join(thread, NULL);
    _exit(7);
  }
  int status;
  must(waitpid(child, &status, 0) == child);
  printf("child %d\n", WEXITSTATUS(status));
  child = vfork();
  if (child == 0) {
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigaction(SIGRTMAX, &ignore, NULL); // its parent's stays
    execl("/bin/sh", "sh", "-c", "exit 9", (char *)NULL);
    _exit(1);
  }
  must(child > 0 && waitpid(child, &status, 0) == child);
  printf("child %d\n", WEXITSTATUS(status));
  heavy(100000000);
}

static void executes_itself(const char *program, int rounds)
{
  char text[16];
  light(15000000);
  if (rounds > 0) {
    snprintf(text, sizeof text, "%d", rounds - 1);
    execl(program, program, "exec", text, (char *)NULL);
  }
  printf("done\n");
}

// ---- what forbids timers
static void forbid(int call, uint32_t action)
{
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, action),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog filter = {sizeof code / sizeof *code, code};
  must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0);
}

static void in_a_sandbox(uint32_t action)
{
  light(50000000);
  forbid(SYS_timer_create, action);
  pthread_t thread;
  start_thread(&thread, burn_a_little, NULL);
  pthread_join(thread, NULL);
  printf("done\n");
}

static void without_pending_signals(void)
{
  const struct rlimit none = {0, 0};
  must(setrlimit(RLIMIT_SIGPENDING, &none) == 0);
  pthread_t thread;
  start_thread(&thread, burn_a_little, NULL);
  pthread_join(thread, NULL);
  printf("done\n");
}

int main(int count, char **arguments)
{
  const struct {
    const char *name;
    void (*run)(void);
  } scenarios[] = {{"shares", shares},
                   {"own_itimer", own_itimer},
                   {"own_timer", own_timer},
                   {"take_highest", take_highest},
                   {"die_by_highest", die_by_highest},
                   {"wait_for_signals", wait_for_signals},
                   {"masks_in_handlers", masks_in_handlers},
                   {"wait_uninterrupted", wait_uninterrupted},
                   {"on_small_stacks", on_small_stacks},
                   {"with_data_below", with_data_below},
                   {"in_coroutine", in_coroutine},
                   {"jump_out_of_handlers", jump_out_of_handlers},
                   {"hundreds_of_threads", hundreds_of_threads},
                   {"ends_of_threads", ends_of_threads},
                   {"waits", waits},
                   {"conditions", conditions},
                   {"forks", forks},
                   {"without_pending_signals", without_pending_signals}};
  const char *name = count > 1 ? arguments[1] : "";
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (strcmp(name, "exec") == 0)
    executes_itself(arguments[0], count > 2 ? atoi(arguments[2]) : 20);
  else if (strcmp(name, "sandbox_refuses") == 0)
    in_a_sandbox(SECCOMP_RET_ERRNO | EPERM);
  else if (strcmp(name, "sandbox_kills") == 0)
    in_a_sandbox(SECCOMP_RET_KILL_PROCESS);
  else
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
      if (strcmp(name, scenarios[i].name) == 0)
        scenarios[i].run();
  return 0;
}
