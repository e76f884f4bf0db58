// SPDX-License-Identifier: Apache-2.0
// Tests only: the traced programs. `test-guest MODE …` does one thing with the API and exits 0; what it recorded is
// checked from outside. Built twice: with the inline path and with plain calls.
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <xsp/span.h>

XSP_SITE(outer, XSP_LEVEL_APPLICATION, "outer");
XSP_SITE(inner, XSP_LEVEL_MODEL, "inner");
XSP_SITE(third, XSP_LEVEL_MODEL, "third");
XSP_SITE_FULL(handler_site, XSP_LEVEL_KERNEL, "handler", "kernel", "signals");

// All forks of a guest and its children go through here: a mistake in a test must not fork without end.
#define FORKS_MOST 64u
static _Atomic unsigned *forks; // shared by all processes

static pid_t bounded_fork(void)
{
  if (atomic_fetch_add(forks, 1) >= FORKS_MOST)
    _exit(99);
  return fork();
}

static void one(struct xsp_site *site)
{
  struct xsp_span span = xsp_span_start(site);
  xsp_span_finish(&span);
}

static int mode_annotate(void)
{
  xsp_thread_name("the main thread");
  xsp_site_tag_int(&inner, "layer_index", 7);
  struct xsp_span a = xsp_span_start(&outer);
  struct xsp_span b = xsp_span_start(&inner);
  xsp_span_tag_int(&b, "batch_size", -8);
  xsp_span_tag_double(&b, "flops", 1.5);
  xsp_span_tag_string(&b, "provider", "cpu");
  xsp_span_log(&b, "hello");
  xsp_span_correlate(&b, XSP_KIND_LAUNCH, 99);
  xsp_span_set_parent(&b, xsp_span_context(&a));
  xsp_span_finish(&b);
  struct xsp_track_options options = {sizeof options, 0, "device 0", NULL, 0, 3};
  struct xsp_track_options simulated = {sizeof simulated, 0, "simulated", "cycles", -1, -1};
  uint16_t track = xsp_track_create(&options), other = xsp_track_create(&simulated);
  struct xsp_site *made = xsp_site_create("made", XSP_LEVEL_KERNEL, "made kernel", "kernel");
  if (track != 1 || other != 2 || made == NULL ||
      made != xsp_site_create("made", XSP_LEVEL_KERNEL, "made kernel", "kernel"))
    return 2;
  struct xsp_site *variant = xsp_site_create_variant("made", XSP_LEVEL_KERNEL, "made kernel", "kernel", 1);
  xsp_site_tag_string(variant, "layer_shape", "8x8");
  if (variant == NULL || variant == made)
    return 2;
  one(variant);
  struct xsp_interval interval = {
      sizeof interval, track, XSP_KIND_EXECUTION, XSP_CLOCK_MONOTONIC, 100, 350, 99, xsp_span_context(&a), 0, 0};
  struct xsp_span kernel = xsp_span_emit(made, &interval);
  xsp_span_tag_string(&kernel, "grid", "1x2x3");
  struct xsp_interval cycles = {sizeof cycles, other, XSP_KIND_SYNC, XSP_CLOCK_FOREIGN, 0, 5, 0, {0, 0}, 0, 0};
  xsp_span_emit(xsp_site_create("made", XSP_LEVEL_KERNEL, "cycle", NULL), &cycles);
  interval.end = 99; // four that make no sense: counted, not recorded
  xsp_span_emit(made, &interval);
  interval.end = 350, interval.clock = XSP_CLOCK_FOREIGN;
  xsp_span_emit(made, &interval);
  interval.clock = XSP_CLOCK_TICKS, interval.track = 3;
  xsp_span_emit(made, &interval);
  cycles.clock = XSP_CLOCK_REALTIME;
  xsp_span_emit(made, &cycles);
  xsp_span_finish(&kernel); // a fifth
  xsp_span_finish(&a);
  return 0;
}

static int mode_order(void) // out of order, deep, twice
{
  struct xsp_span a = xsp_span_start(&outer), b = xsp_span_start(&inner), c = xsp_span_start(&third);
  xsp_span_finish(&a);
  xsp_span_finish(&c);
  xsp_span_finish(&b);
  struct xsp_span deep[200];
  for (int i = 0; i < 200; i++)
    deep[i] = xsp_span_start(&inner);
  for (int i = 0; i < 200; i += 3) // a scattered third first
    xsp_span_finish(&deep[i]);
  for (int i = 199; i >= 0; i--)
    if (i % 3 != 0)
      xsp_span_finish(&deep[i]);
  xsp_span_finish(&a);             // misused: finished already
  for (int i = 0; i < 1000; i++) { // overlapping for ever must not fill the list
    struct xsp_span x = xsp_span_start(&third), y = xsp_span_start(&third);
    xsp_span_finish(&x);
    xsp_span_finish(&y);
  }
  struct xsp_span left_open = xsp_span_start(&outer);
  (void)left_open;
  return 0;
}

static struct xsp_span handed_over;
static void *finish_foreign(void *unused)
{
  one(&inner);
  xsp_span_tag_int(&handed_over, "wrong", 1);
  xsp_span_finish(&handed_over);        // misused, both
  handed_over = xsp_span_start(&third); // left open by a thread that ends
  return unused;
}

static int mode_threads_misuse(void)
{
  handed_over = xsp_span_start(&outer);
  struct xsp_span mine = handed_over;
  pthread_t thread;
  pthread_create(&thread, NULL, finish_foreign, NULL);
  pthread_join(thread, NULL);
  xsp_span_finish(&mine);
  return 0;
}

static int mode_levels(void)
{
  one(&outer);
  one(&inner);
  if (xsp_tracer_set_levels("app", XSP_LEVEL_MASK(XSP_LEVEL_MODEL)) != XSP_LEVEL_MASK(XSP_LEVEL_MODEL))
    return 2;
  one(&outer);
  one(&inner);
  struct xsp_span across = xsp_span_start(&inner);
  xsp_tracer_set_levels("*", 0);
  xsp_span_finish(&across); // started while on: recorded
  one(&inner);
  one(&handler_site); // a tracer that appears later takes the switch as it is
  if (xsp_tracer_levels(NULL) != 0)
    return 2;
  xsp_tracer_set_levels("signals", UINT32_MAX);
  one(&handler_site);
  return xsp_tracer_levels("signals") == XSP_LEVEL_MASK_ALL ? 0 : 2;
}

// ---- threads
static void *short_thread(void *argument)
{
  (void)argument;
  one(&outer);
  return NULL;
}

static int mode_churn(int count)
{
  for (int done = 0; done < count;) {
    pthread_t threads[8];
    int started = 0;
    while (started < 8 && done + started < count && pthread_create(&threads[started], NULL, short_thread, NULL) == 0)
      started++;
    if (started == 0)
      return 2;
    for (int i = 0; i < started; i++)
      pthread_join(threads[i], NULL);
    done += started;
  }
  return 0;
}

static void *thread_without_end(void *argument)
{
  one(&outer);
  syscall(SYS_exit, 0); // no destructor runs: the ring has to be found by its dead owner
  return argument;
}

static int mode_raw_exit(int count)
{
  for (int i = 0; i < count; i++) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, thread_without_end, NULL) != 0)
      return 2;
    pthread_join(thread, NULL); // the kernel reports the end
  }
  return 0;
}

static pthread_barrier_t barrier;
static int spans_per_thread;
static void *parallel_thread(void *argument)
{
  pthread_barrier_wait(&barrier);
  for (int i = 0; i < spans_per_thread; i++) {
    struct xsp_span span = xsp_span_start(&outer);
    one(&inner);
    if (i % 16 == 0) {
      char text[32];
      snprintf(text, sizeof text, "value %d", i % 512);
      xsp_span_tag_string(&span, "text", text);
      xsp_site_create("run time", XSP_LEVEL_LAYER, text, NULL);
    }
    xsp_span_finish(&span);
  }
  return argument;
}

static int mode_parallel(int threads, int spans)
{
  pthread_t thread[64];
  spans_per_thread = spans;
  pthread_barrier_init(&barrier, NULL, (unsigned)threads);
  for (int i = 0; i < threads; i++)
    pthread_create(&thread[i], NULL, parallel_thread, NULL);
  for (int i = 0; i < threads; i++)
    pthread_join(thread[i], NULL);
  return 0;
}

// ---- killed: one shared counter per thread, raised after each finish that returned
struct counter {
  _Atomic uint64_t finished;
  _Atomic uint32_t tid;
  char line[52];
};
static struct counter *counters;

static uint64_t finished_most; // spans of a thread; it waits to be killed then

static void *endless_thread(void *argument)
{
  struct counter *counter = argument;
  counter->tid = (uint32_t)syscall(SYS_gettid);
  for (uint64_t finished = 0;;) {
    while (finished_most != 0 && finished >= finished_most)
      pause();
    struct xsp_span span = xsp_span_start(&outer);
    for (int i = 0; i < 3; i++) {
      one(&inner);
      atomic_store_explicit(&counter->finished, ++finished, memory_order_release);
    }
    xsp_span_finish(&span);
    atomic_store_explicit(&counter->finished, ++finished, memory_order_release);
  }
  return NULL;
}

static int mode_endless(const char *path, int threads, uint64_t most)
{
  finished_most = most;
  int file = open(path, O_RDWR);
  counters = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (counters == MAP_FAILED)
    return 2;
  for (int i = 1; i < threads; i++) {
    pthread_t thread;
    pthread_create(&thread, NULL, endless_thread, &counters[i]);
  }
  endless_thread(&counters[0]);
  return 0;
}

// ---- signals
static volatile sig_atomic_t handled;
static void on_signal(int number)
{
  (void)number;
  struct xsp_span a = xsp_span_start(&handler_site), b = xsp_span_start(&third);
  xsp_span_tag_int(&b, "in handler", 1);
  xsp_span_finish(&b);
  xsp_span_finish(&a);
  handled++;
}

static int mode_storm(int milliseconds)
{
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &action, NULL);
  sigaction(SIGUSR1, &action, NULL);
  struct itimerval every = {{0, 50}, {0, 50}};
  setitimer(ITIMER_REAL, &every, NULL);
  struct timespec now, end;
  clock_gettime(CLOCK_MONOTONIC, &end);
  end.tv_nsec += milliseconds % 1000 * 1000000L;
  end.tv_sec += milliseconds / 1000 + end.tv_nsec / 1000000000;
  end.tv_nsec %= 1000000000;
  long outer_count = 0, inner_count = 0;
  do {
    for (int i = 0; i < 100; i++) {
      struct xsp_span span = xsp_span_start(&outer);
      one(&inner);
      inner_count++;
      xsp_span_finish(&span);
      outer_count++;
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while (handled <= 100 || now.tv_sec < end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec));
  memset(&every, 0, sizeof every);
  setitimer(ITIMER_REAL, &every, NULL);
  signal(SIGALRM, SIG_IGN);
  printf("%ld %ld %ld\n", outer_count, inner_count, (long)handled);
  return 0;
}

// ---- processes
static int wait_for(pid_t child)
{
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static int mode_fork(void)
{
  struct xsp_track_options options = {sizeof options, 0, "track of the parent", NULL, -1, -1};
  uint16_t track = xsp_track_create(&options);
  struct xsp_span span = xsp_span_start(&outer);
  for (int i = 0; i < 3; i++) {
    pid_t child = bounded_fork();
    if (child == 0) {
      xsp_span_finish(&span); // misused: it belongs to the parent
      one(&inner);
      struct xsp_interval interval = {sizeof interval, track, XSP_KIND_SYNC, XSP_CLOCK_TICKS, 1, 2, 0, {0, 0}, 0, 0};
      xsp_span_emit(&third, &interval);
      pid_t grandchild = bounded_fork();
      if (grandchild == 0) {
        one(&inner);
        exit(0);
      }
      exit(wait_for(grandchild));
    }
    if (wait_for(child) != 0)
      return 2;
  }
  xsp_span_finish(&span);
  return 0;
}

static void fork_in_handler(int number)
{
  (void)number;
  if (handled >= 20)
    return;
  int saved_errno = errno;
  pid_t child = bounded_fork();
  if (child == 0) { // goes on where the parent was interrupted, then leaves
    one(&third);
    counters = NULL;
    return;
  }
  int status;
  waitpid(child, &status, 0);
  errno = saved_errno;
  handled++;
}

static int mode_fork_handler(void)
{
  static struct counter mark;
  counters = &mark;
  struct sigaction action = {.sa_handler = fork_in_handler, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &action, NULL);
  struct itimerval every = {{0, 2000}, {0, 2000}}; // children inherit no timer
  setitimer(ITIMER_REAL, &every, NULL);
  long count = 0;
  for (; handled < 20 && *(struct counter *volatile *)&counters != NULL; count++)
    one(&outer);
  if (*(struct counter *volatile *)&counters == NULL)
    _exit(0);
  signal(SIGALRM, SIG_IGN);
  printf("%ld\n", count);
  return 0;
}

static int mode_vfork(const char *self)
{
  struct xsp_span span = xsp_span_start(&outer);
  pid_t child = vfork();
  if (child == 0) {
    execl(self, self, "one", (char *)NULL);
    _exit(127);
  }
  int status = wait_for(child);
  xsp_span_finish(&span);
  return status;
}

static int mode_daemon(void)
{
  one(&outer);
  if (bounded_fork() != 0)
    _exit(0);
  setsid();
  if (bounded_fork() != 0)
    _exit(0);
  if (chdir("/") != 0)
    _exit(2);
  for (int file = 3; file < 1024; file++)
    close(file);
  for (int i = 0; i < 20; i++) // what the library might wrongly keep is now somebody else's
    if (open("/dev/null", O_RDWR) < 0)
      _exit(2);
  for (int i = 0; i < 20000; i++) { // grows the catalog and the ring
    char text[32];
    snprintf(text, sizeof text, "daemon value %d", i);
    struct xsp_span span = xsp_span_start(&inner);
    xsp_span_tag_string(&span, "text", text);
    xsp_span_finish(&span);
  }
  if (write(1, "done\n", 5) != 5) // the test waits for this
    _exit(2);
  exit(0);
}

static void *spin_thread(void *argument)
{
  pthread_barrier_wait(&barrier);
  for (;;)
    one(&inner);
  return argument;
}

static void *exit_thread(void *argument)
{
  one(&outer);
  pthread_barrier_wait(&barrier);
  exit(3);
  return argument;
}

static int mode_exit_thread(void)
{
  pthread_t thread;
  pthread_barrier_init(&barrier, NULL, 3);
  pthread_create(&thread, NULL, spin_thread, NULL);
  pthread_create(&thread, NULL, exit_thread, NULL);
  spin_thread(NULL);
  return 0;
}

static int mode_attach(const char *directory)
{
  one(&outer); // before the session: nothing, and no way back is lost
  if (xsp_attach(NULL) != -ENOENT || xsp_attach(directory) != 0 || xsp_attach(directory) != 0 ||
      xsp_attach("/dev/shm") != -EBUSY)
    return 2;
  one(&outer);
  return 0;
}

static int mode_address_space(void) // half of what the program may use is still there
{
  struct rlimit limit;
  one(&outer);
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return 2;
  return mmap(NULL, limit.rlim_cur / 2, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? 3 : 0;
}

// ---- many threads that live at once, each with ten spans
static void *crowd_thread(void *unused)
{
  (void)unused;
  for (int i = 0; i < 10; i++)
    one(&outer);
  pthread_barrier_wait(&barrier);
  return NULL;
}

static int mode_crowd(int threads)
{
  pthread_t *thread = calloc((size_t)threads, sizeof *thread);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 64 << 10);
  pthread_barrier_init(&barrier, NULL, (unsigned)threads + 1);
  for (int i = 0; i < threads; i++)
    if (pthread_create(&thread[i], &attributes, crowd_thread, NULL) != 0)
      return 2;
  pthread_barrier_wait(&barrier);
  for (int i = 0; i < threads; i++)
    pthread_join(thread[i], NULL);
  free(thread);
  return 0;
}

// ---- a handler's small stack, with a page behind it that nobody may touch
#define HANDLER_STACK_BYTES 4096

static void many_spans(int unused)
{
  (void)unused;
  for (int i = 0; i < 3000; i++)
    one(&inner);
}

static int mode_handler_stack(void)
{
  char *memory = mmap(NULL, 2 * HANDLER_STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  stack_t stack = {.ss_sp = memory + HANDLER_STACK_BYTES, .ss_size = HANDLER_STACK_BYTES};
  struct sigaction action = {.sa_handler = many_spans, .sa_flags = SA_ONSTACK};
  if (memory == MAP_FAILED || mprotect(memory, HANDLER_STACK_BYTES, PROT_NONE) != 0 || sigaltstack(&stack, NULL) != 0 ||
      sigaction(SIGUSR1, &action, NULL) != 0)
    return 2;
  return raise(SIGUSR1) == 0 ? 0 : 3;
}

// ---- a program that has forbidden itself all but a few system calls before its first span
#define ALLOW(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static int mode_sandbox(int spans)
{
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      ALLOW(SYS_write),
      ALLOW(SYS_exit_group),
      ALLOW(SYS_rt_sigprocmask),
      ALLOW(SYS_madvise),
      ALLOW(SYS_mprotect),
      ALLOW(SYS_clock_gettime),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  };
  struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    return 2;
  for (int i = 0; i < spans; i++)
    one(&inner);
  _exit(write(1, "done\n", 5) == 5 ? 0 : 3);
}

static long address_pages(void)
{
  long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (file == NULL || fscanf(file, "%ld", &pages) != 1)
    _exit(4);
  fclose(file);
  return pages;
}

static int mode_fork_addresses(int spans)
{
  for (int i = 0; i < spans; i++)
    one(&inner);
  long before = address_pages();
  pid_t child = bounded_fork();
  if (child != 0)
    return wait_for(child);
  if (before - address_pages() < (512 << 20) / 4096)
    return 3;
  one(&third);
  return 0;
}

static int mode_locked(int spans)
{
  if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
    return 77;
  for (int i = 0; i < spans; i++)
    one(&inner);
  pthread_t thread;
  if (pthread_create(&thread, NULL, short_thread, NULL) != 0)
    return 2;
  return pthread_join(thread, NULL);
}

static int mode_trace_context(void)
{
  char header[XSP_TRACEPARENT_SIZE], again[XSP_TRACEPARENT_SIZE];
  const char *remote = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  struct xsp_span span = xsp_span_start(&outer);
  if (xsp_traceparent_in(&span, "00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01") != -1 ||
      xsp_traceparent_in(&span, "00-00000000000000000000000000000000-b7ad6b7169203331-01") != -1 ||
      xsp_traceparent_in(&span, "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01") != -1 ||
      xsp_traceparent_in(&span, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x") != -1 ||
      xsp_traceparent_in(&span, "") != -1 || xsp_traceparent_in(&span, remote) != 0)
    return 2;
  struct xsp_span child = xsp_span_start(&inner);
  if (xsp_traceparent_out(&child, header) != 0 || strncmp(header, remote, 36) != 0 ||
      xsp_traceparent_in(NULL, header) != 0 || xsp_traceparent_out(NULL, again) != 0 || strcmp(again, header) != 0)
    return 2;
  xsp_span_finish(&child);
  xsp_span_finish(&span);
  printf("%s\n%s\n", header, xsp_traceparent_out(NULL, again) == 0 ? again : "no parent");
  return 0;
}

// Joins its job after a span, if it is of one (`world_size` not 0); a forked child goes on with the parent's rank.
static int mode_rank(unsigned world_size)
{
  one(&outer);
  xsp_process_rank(9, 0, 9); // makes no sense, and changes nothing
  if (world_size > 0)
    xsp_process_rank(world_size - 1, -1, world_size);
  pid_t child = bounded_fork();
  if (child == 0) {
    one(&third);
    _exit(0);
  }
  int status;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0 ? 0 : 2;
}

int main(int count, char **arguments)
{
  forks = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (forks == MAP_FAILED)
    return 2;
  const char *mode = count > 1 ? arguments[1] : "", *path = count > 2 ? arguments[2] : "";
  int number = atoi(path), second = count > 3 ? atoi(arguments[3]) : 0;
  if (strcmp(mode, "one") == 0)
    return one(&third), 0;
  if (strcmp(mode, "annotate") == 0)
    return mode_annotate();
  if (strcmp(mode, "rank") == 0)
    return mode_rank((unsigned)number);
  if (strcmp(mode, "order") == 0)
    return mode_order();
  if (strcmp(mode, "misuse") == 0)
    return mode_threads_misuse();
  if (strcmp(mode, "levels") == 0)
    return mode_levels();
  if (strcmp(mode, "churn") == 0)
    return mode_churn(number);
  if (strcmp(mode, "raw-exit") == 0)
    return mode_raw_exit(number);
  if (strcmp(mode, "parallel") == 0)
    return mode_parallel(number, second);
  if (strcmp(mode, "endless") == 0)
    return mode_endless(path, second, count > 4 ? (uint64_t)atoll(arguments[4]) : 0);
  if (strcmp(mode, "address-space") == 0)
    return mode_address_space();
  if (strcmp(mode, "crowd") == 0)
    return mode_crowd(number);
  if (strcmp(mode, "handler-stack") == 0)
    return mode_handler_stack();
  if (strcmp(mode, "sandbox") == 0)
    return mode_sandbox(number);
  if (strcmp(mode, "storm") == 0)
    return mode_storm(number);
  if (strcmp(mode, "fork") == 0)
    return mode_fork();
  if (strcmp(mode, "fork-addresses") == 0)
    return mode_fork_addresses(number);
  if (strcmp(mode, "locked") == 0)
    return mode_locked(number);
  if (strcmp(mode, "fork-handler") == 0)
    return mode_fork_handler();
  if (strcmp(mode, "vfork") == 0)
    return mode_vfork(arguments[0]);
  if (strcmp(mode, "daemon") == 0)
    return mode_daemon();
  if (strcmp(mode, "exit-thread") == 0)
    return mode_exit_thread();
  if (strcmp(mode, "attach") == 0)
    return mode_attach(path);
  if (strcmp(mode, "trace-context") == 0)
    return mode_trace_context();
  return 64;
}
