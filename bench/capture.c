// SPDX-License-Identifier: Apache-2.0
// Cost of a span in the traced program, with a consumer draining its ring in another process: each figure next to its
// floor, measured in turns in the same run. Prints JSON lines for bench/run.py; everything else goes to stderr.
#include "collect/ring_read.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <xsp/call_path.h>

#if defined(__x86_64__)
#define TICKS() __builtin_ia32_rdtsc()
#else
#define TICKS() xsp_inline_ticks_v1()
#endif

#define SPANS 1000000L // per measurement
#define REPETITIONS 15 // odd
#define RINGS_MOST 16
#define DRAIN_PAUSE_NS 100000

XSP_SITE(site, XSP_LEVEL_APPLICATION, "span");
XSP_SITE_FULL(off_site, XSP_LEVEL_APPLICATION, "off", NULL, "off");
XSP_SITE(no_session_site, XSP_LEVEL_APPLICATION, "no session");

static char folder[64];
static const volatile uint32_t *flag;

// ---- the loops
typedef void (*loop_fn)(long count);

__attribute__((noinline)) static void loop_clock_pair(long count)
{
  uint64_t sum = 0;
  for (long i = 0; i < count; i++) {
    uint64_t begin = TICKS();
    __asm__ volatile("" ::: "memory");
    sum += TICKS() - begin;
  }
  __asm__ volatile("" ::"r"(sum));
}

__attribute__((noinline)) static void loop_inline(long count)
{
  for (long i = 0; i < count; i++) {
    struct xsp_span span = xsp_span_start(&site);
    __asm__ volatile("" ::: "memory");
    xsp_span_finish(&span);
  }
}

__attribute__((noinline)) static void loop_call(long count)
{
  for (long i = 0; i < count; i++) {
    struct xsp_span span = xsp_span_start_call(&site);
    __asm__ volatile("" ::: "memory");
    xsp_span_finish_call(&span);
  }
}

__attribute__((noinline)) static void loop_two_flags(long count)
{
  for (long i = 0; i < count; i++) {
    if (__builtin_expect(*flag != 0, 0))
      TICKS();
    __asm__ volatile("" ::: "memory");
    if (__builtin_expect(*flag != 0, 0))
      TICKS();
  }
}

__attribute__((noinline)) static void loop_off(long count)
{
  for (long i = 0; i < count; i++) {
    struct xsp_span span = xsp_span_start(&off_site);
    __asm__ volatile("" ::: "memory");
    xsp_span_finish(&span);
  }
}

__attribute__((noinline)) static void loop_no_session(long count)
{
  for (long i = 0; i < count; i++) {
    struct xsp_span span = xsp_span_start(&no_session_site);
    __asm__ volatile("" ::: "memory");
    xsp_span_finish(&span);
  }
}

#define FRAMES 20
static struct xsp_frame frames[FRAMES];
static uint32_t paths[FRAMES + 1];
static struct xsp_site *path_site;

static void make_paths(void)
{
  static char names[FRAMES][32];
  for (uint32_t i = 0; i < FRAMES; i++) {
    snprintf(names[i], sizeof names[i], "function_%u", i);
    frames[i] = (struct xsp_frame){.size = sizeof frames[i],
                                   .kind = XSP_FRAME_PYTHON,
                                   .name = names[i],
                                   .file = "/usr/lib/python3/dist-packages/torch/nn/modules/module.py",
                                   .line = 1 + i};
    paths[i + 1] = xsp_call_path(paths[i], &frames[i]);
  }
  path_site = xsp_site_create("bench", XSP_LEVEL_LAYER, "with a path", NULL);
  xsp_site_call_path(path_site, paths[FRAMES]);
}

__attribute__((noinline)) static void loop_path_site(long count)
{
  for (long i = 0; i < count; i++) {
    struct xsp_span span = xsp_span_start(path_site);
    __asm__ volatile("" ::: "memory");
    xsp_span_finish(&span);
  }
}

__attribute__((noinline)) static void loop_path(long count)
{
  uint32_t sum = 0;
  for (long i = 0; i < count; i++)
    sum += xsp_call_path(paths[i % FRAMES], &frames[i % FRAMES]);
  __asm__ volatile("" ::"r"(sum));
}

// ---- measuring
static double clock_ns(clockid_t clock)
{
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double measure(loop_fn loop, long count)
{
  double begin = clock_ns(CLOCK_THREAD_CPUTIME_ID); // excludes other processes on this processor
  loop(count);
  return (clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin) / (double)count;
}

static int compare(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *values, int count)
{
  qsort(values, (size_t)count, sizeof *values, compare);
  return values[count / 2];
}

static void print_line(const char *bench, const char *name, double value, const char *unit, double floor_value,
                       double target, const char *more)
{
  printf("{\"bench\":\"%s\",\"case\":\"%s\",\"value\":%.4g,\"unit\":\"%s\",\"floor\":%.4g,\"ratio\":%.4g,"
         "\"target\":%.4g,\"peers\":{}%s}\n",
         bench, name, value, unit, floor_value, value / floor_value, target, more);
  fflush(stdout);
}

static void compare_loops(const char *bench, const char *name, loop_fn subject, loop_fn floor_loop, long count,
                          double target)
{
  double values[REPETITIONS], floors[REPETITIONS];
  measure(subject, count / 10);
  for (int i = 0; i < REPETITIONS; i++) {
    floors[i] = measure(floor_loop, count);
    values[i] = measure(subject, count);
  }
  print_line(bench, name, median(values, REPETITIONS), "ns/span", median(floors, REPETITIONS), target, "");
}

// ---- the consumer, in its own process: reads every record and frees its slot
struct drained {
  uint64_t records;
  uint64_t ticks; // of all durations, so that reading is not idle
};
static struct drained *drained; // shared

static struct ring_head *map_ring(uint32_t number)
{
  char path[128];
  struct stat status;
  snprintf(path, sizeof path, "%s/ring-%u", folder, number);
  int file = open(path, O_RDWR | O_CLOEXEC);
  struct ring_head *ring = NULL;
  if (file >= 0 && fstat(file, &status) == 0 && status.st_size > RING_HEAD_SIZE) {
    ring = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (ring != MAP_FAILED && __atomic_load_n(&ring->magic, __ATOMIC_ACQUIRE) != RING_MAGIC) {
      munmap(ring, (size_t)status.st_size);
      ring = NULL;
    }
  }
  if (file >= 0)
    close(file);
  return ring == MAP_FAILED ? NULL : ring;
}

static void drain_ring(struct ring_view *view)
{
  struct ring_head *ring = view->head;
  struct record record;
  uint64_t tail = ring->tail, count = 0, ticks = 0, head = __atomic_load_n(&ring->producer.head, __ATOMIC_ACQUIRE);
  if (tail < head)
    tail = ring_seek(view, tail);
  while (tail < head && ring_read(view, tail, &record) == RING_SLOT_RECORD) {
    ticks += record.duration;
    tail++;
    if (++count % 8192 == 0)
      __atomic_store_n(&ring->tail, tail, __ATOMIC_RELEASE);
    if (tail >= view->until)
      tail = ring_seek(view, tail);
  }
  __atomic_store_n(&ring->tail, tail, __ATOMIC_RELEASE);
  __atomic_fetch_add(&drained->ticks, ticks, __ATOMIC_RELAXED);
  __atomic_fetch_add(&drained->records, count, __ATOMIC_RELEASE);
}

// The whole file is mapped, so the view need not follow the ring's size by another mapping.
static struct ring_view view_of(struct ring_head *ring)
{
  return (struct ring_view){.head = ring,
                            .records = (const struct record *)((char *)ring + RING_HEAD_SIZE),
                            .record_count = ring->most_records};
}

static void consume(void)
{
  struct ring_view rings[RINGS_MOST] = {0};
  struct timespec pause = {0, DRAIN_PAUSE_NS};
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_TIMERSLACK, 1);
  for (;;) {
    for (uint32_t i = 0; i < RINGS_MOST; i++) {
      struct ring_head *ring = rings[i].head == NULL ? map_ring(i + 1) : NULL;
      if (ring != NULL)
        rings[i] = view_of(ring);
      if (rings[i].head != NULL)
        drain_ring(&rings[i]);
    }
    nanosleep(&pause, NULL);
  }
}

static uint64_t dropped(void) // over all rings, which must have been drained
{
  uint64_t sum = 0;
  for (uint32_t i = 0; i < RINGS_MOST; i++) {
    struct ring_head *ring = map_ring(i + 1);
    if (ring == NULL)
      continue;
    sum += ring->producer.dropped;
    munmap(ring, ring_bytes(ring->most_records));
  }
  return sum;
}

// ---- two threads
static pthread_barrier_t barrier;
struct producer {
  double cpu_ns;   // per span
  double pause_ns; // after each burst; 0: full speed
  long spans;
  int processor;
};
#define BURST 4096L

static void *produce(void *argument)
{
  struct producer *producer = argument;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET((size_t)producer->processor, &set);
  sched_setaffinity(0, sizeof set, &set);
  loop_inline(4 * SPANS); // the ring grows to what this consumer needs
  pthread_barrier_wait(&barrier);
  if (producer->pause_ns == 0) {
    producer->cpu_ns = measure(loop_inline, producer->spans);
    return NULL;
  }
  double next = clock_ns(CLOCK_MONOTONIC);
  for (long done = 0; done < producer->spans; done += BURST) {
    loop_inline(BURST);
    next += producer->pause_ns;
    while (clock_ns(CLOCK_MONOTONIC) < next)
      sched_yield();
  }
  return NULL;
}

// CPU time per span, the mean of `threads` producers.
static double produce_together(int threads, long spans, double pause_ns)
{
  pthread_t thread[2];
  struct producer producers[2];
  double sum = 0;
  pthread_barrier_init(&barrier, NULL, (unsigned)threads);
  for (int i = 0; i < threads; i++) {
    producers[i] = (struct producer){0, pause_ns, spans, i};
    pthread_create(&thread[i], NULL, produce, &producers[i]);
  }
  for (int i = 0; i < threads; i++) {
    pthread_join(thread[i], NULL);
    sum += producers[i].cpu_ns;
  }
  pthread_barrier_destroy(&barrier);
  return sum / threads;
}

// The highest rate of two threads together, in spans per second, without a drop.
static double highest_rate(void)
{
  double best = 0;
  for (double rate = 4e6; rate < 200e6; rate *= 1.25) {
    uint64_t before = dropped();
    produce_together(2, (long)(rate / 2 * 0.1), 2 * (double)BURST / rate * 1e9);
    if (dropped() != before)
      break;
    best = rate;
  }
  return best;
}

static void bench_two_threads(void)
{
  double one[REPETITIONS], two[REPETITIONS], shares[REPETITIONS];
  char more[80];
  for (int i = 0; i < REPETITIONS; i++) {
    one[i] = produce_together(1, SPANS, 0);
    uint64_t before = dropped();
    two[i] = produce_together(2, SPANS, 0);
    shares[i] = (double)(dropped() - before) / (2.0 * (double)SPANS) * 100;
  }
  snprintf(more, sizeof more, ",\"stored_without_drop_per_s\":%.4g", highest_rate());
  print_line("capture/span", "2 threads", median(two, REPETITIONS), "ns/span", median(one, REPETITIONS), 1.10, more);
  print_line("capture/dropped", "2 threads", median(shares, REPETITIONS), "%", 1, 1, "");
}

static long page_faults(void)
{
  struct rusage usage;
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_minflt + usage.ru_majflt;
}

// A session with a collector: made by a child that attaches, so that this process finds it as xsp leaves it.
static int make_session(void)
{
  char path[128];
  snprintf(folder, sizeof folder, "/dev/shm/xsp-bench-%d", (int)getpid());
  pid_t child = fork();
  if (child == 0)
    _exit(xsp_attach(folder) == 0 ? 0 : 1);
  int status;
  if (waitpid(child, &status, 0) != child || status != 0)
    return -1;
  snprintf(path, sizeof path, "%s/session", folder);
  int file = open(path, O_RDWR | O_CLOEXEC);
  struct session_head *session = mmap(NULL, sizeof *session, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (session == MAP_FAILED)
    return -1;
  session->collector_pid = (uint32_t)getpid();
  munmap(session, sizeof *session);
  return 0;
}

static void remove_session(void)
{
  static const char *const kinds[] = {"session", "catalog", "process-1", "process-2", "process-3"};
  char path[128];
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    snprintf(path, sizeof path, "%s/%s", folder, kinds[i]);
    unlink(path);
  }
  for (int i = 1; i <= RINGS_MOST; i++) {
    snprintf(path, sizeof path, "%s/ring-%d", folder, i);
    unlink(path);
  }
  rmdir(folder);
}

int main(void)
{
  static const volatile uint32_t zero = 0;
  flag = &zero;
  unsetenv("XSP_SESSION");
  compare_loops("capture/disabled", "no session, against two flag tests", loop_no_session, loop_two_flags, 10 * SPANS,
                1.0);
  if (make_session() != 0) {
    fprintf(stderr, "capture: cannot make a session folder in /dev/shm\n");
    return 1;
  }
  drained = mmap(NULL, sizeof *drained, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  pid_t consumer = fork();
  if (consumer == 0)
    consume();
  if (xsp_attach(folder) != 0)
    return 1;
  xsp_tracer_set_levels("off", 0);
  compare_loops("capture/disabled", "switched off, against two flag tests", loop_off, loop_two_flags, 10 * SPANS, 1.0);
  loop_inline(4 * SPANS); // the ring grows to what this consumer needs
  uint64_t drops = dropped();
  long faults = page_faults();
  compare_loops("capture/span", "1 thread inline", loop_inline, loop_clock_pair, SPANS, 1.2);
  compare_loops("capture/span", "1 thread call", loop_call, loop_clock_pair, SPANS, 1.35);
  faults = page_faults() - faults;
  drops = dropped() - drops;
  printf("{\"bench\":\"capture/page faults\",\"case\":\"1 thread, after its first "
         "span\",\"value\":%ld,\"unit\":\"faults\","
         "\"floor\":null,\"ratio\":%ld,\"target\":0,\"peers\":{}}\n",
         faults, faults);
  print_line("capture/dropped", "1 thread", (double)drops / (2.0 * REPETITIONS * (double)SPANS) * 100, "%", 1, 1, "");
  make_paths();
  compare_loops("capture/call path", "span of a site with a path, against one without", loop_path_site, loop_inline,
                SPANS, 1.05);
  compare_loops("capture/call path", "a Python frame that is known, against a clock pair", loop_path, loop_clock_pair,
                SPANS, 1.0);
  bench_two_threads();
  fprintf(stderr, "capture: the consumer read %lu records\n",
          (unsigned long)__atomic_load_n(&drained->records, __ATOMIC_ACQUIRE));
  kill(consumer, SIGKILL);
  waitpid(consumer, NULL, 0);
  remove_session();
  return 0;
}
