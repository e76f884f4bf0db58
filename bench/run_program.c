// SPDX-License-Identifier: Apache-2.0
// Cost of `xsp run` in addition to the program: start and end around a program that does nothing, and draining while a
// program publishes a million spans per second from one thread on each of two processors; bursts of ten million spans at
// full speed, and five million a second for five seconds, with xsp's processor time a span: from ring to parent in the file. The
// program runs itself. Also a thousand short processes that record nothing.
// Pairs are interleaved; medians. Prints one JSON line per case.
#include "bench/measure.h"
#include "store/store.h"

#include <math.h>
#include <pthread.h>
#include <spawn.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <xsp/span.h>

#define STARTS 31
#define START_MS 3.0 // over the program alone
#define PROCESSES 1000
#define PROCESSES_TARGET 1.5
#define ROUNDS 5
#define SPANS 400000
#define SPACING_NS 1000 // a million a second
#define BURST_SPANS 10000000
#define SUSTAINED_SPANS 25000000
#define SUSTAINED_SPACING_NS 200
#define RING_TO_PARENT_NS 100 // the design's limit

extern char **environ;
static char folder[] = "/dev/shm/xsp-bench-run-XXXXXX";

static _Noreturn void fail(const char *what)
{
  fprintf(stderr, "run_program bench: %s\n", what);
  exit(1);
}

static double now_ns(clockid_t clock)
{
  struct timespec time;
  clock_gettime(clock, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

// ---- the traced program: what a thread does does not depend on the clock, so that its time shows disturbances
struct load {
  uint64_t turns, spans; // a span's, a thread's
};

static void *publish(void *context)
{
  volatile uint64_t work = 1;
  XSP_SITE(site, XSP_LEVEL_APPLICATION, "work");
  const struct load *load = context;
  uint64_t turns = load->turns;
  for (uint64_t i = 0; i < load->spans; i++) {
    struct xsp_span span = xsp_span_start(&site);
    for (uint64_t turn = 0; turn < turns; turn++)
      work = work * 3 + 1;
    xsp_span_finish(&span);
  }
  return NULL;
}

// Iterations of the loop that take so long here.
static uint64_t calibrate(double spacing_ns)
{
  volatile uint64_t work = 1;
  uint64_t turns = 1000000;
  double start = now_ns(CLOCK_MONOTONIC);
  for (uint64_t turn = 0; turn < turns; turn++)
    work = work * 3 + 1;
  double each = (now_ns(CLOCK_MONOTONIC) - start) / (double)turns;
  return (uint64_t)(spacing_ns / each);
}

static int be_the_program(int thread_count, struct load load)
{
  pthread_t threads[2];
  double start = now_ns(CLOCK_MONOTONIC);
  for (int i = 0; i < thread_count; i++)
    if (pthread_create(&threads[i], NULL, publish, &load) != 0)
      return 1;
  for (int i = 0; i < thread_count; i++)
    pthread_join(threads[i], NULL);
  printf("%.0f %.0f\n", now_ns(CLOCK_MONOTONIC) - start, now_ns(CLOCK_PROCESS_CPUTIME_ID));
  return 0;
}

// ---- running it
static double run(char *const *command, char *output, size_t size)
{
  int ends[2];
  posix_spawn_file_actions_t actions;
  pid_t child;
  if (pipe(ends) != 0)
    fail("no pipe");
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  posix_spawn_file_actions_addclose(&actions, ends[1]);
  double start = now_ns(CLOCK_MONOTONIC);
  if (posix_spawn(&child, command[0], &actions, NULL, command, environ) != 0)
    fail("a program cannot be started");
  close(ends[1]);
  size_t length = 0;
  for (ssize_t got; (got = read(ends[0], output + length, size - 1 - length)) > 0;)
    length += (size_t)got;
  output[length] = '\0';
  int status = 0;
  if (waitpid(child, &status, 0) != child || status != 0)
    fail("a program failed");
  double end = now_ns(CLOCK_MONOTONIC);
  close(ends[0]);
  posix_spawn_file_actions_destroy(&actions);
  return end - start;
}

static void print_with_target(const char *name, const char *what, double value, const char *unit, double floor,
                              double target)
{
  printf("{\"bench\":\"run/%s\",\"case\":\"%s\",\"value\":%.3f,\"unit\":\"%s\",\"floor\":%.3f,\"ratio\":%.4f,"
         "\"target\":%.3f}\n",
         name, what, value, unit, floor, value / floor, target);
  fflush(stdout);
}

static void print(const char *name, const char *what, double value, const char *unit, double floor)
{
  printf("{\"bench\":\"run/%s\",\"case\":\"%s\",\"value\":%.3f,\"unit\":\"%s\",", name, what, value, unit);
  if (isnan(floor))
    printf("\"floor\":null,\"ratio\":null,\"target\":null}\n");
  else
    printf("\"floor\":%.3f,\"ratio\":%.4f,\"target\":null}\n", floor, value / floor);
  fflush(stdout);
}

static void measure_start(char *xsp, char *file)
{
  char output[64];
  double plain[STARTS], bare[STARTS], all[STARTS];
  char *const program[] = {"/bin/true", NULL};
  char *const without[] = {xsp, "run", "-q", "-f", "--levels", "K", "-t", "nvtx", "-o", file, "--", "/bin/true", NULL};
  char *const with[] = {xsp, "run", "-q", "-f", "-o", file, "--", "/bin/true", NULL};
  for (int i = 0; i < STARTS; i++) {
    plain[i] = run(program, output, sizeof output) / 1e6;
    bare[i] = run(without, output, sizeof output) / 1e6;
    all[i] = run(with, output, sizeof output) / 1e6;
  }
  double floor = median(plain, STARTS);
  print("start", "/bin/true, no tracer", median(bare, STARTS), "ms", floor);
  print_with_target("start", "/bin/true, all tracers", median(all, STARTS), "ms", floor, (floor + START_MS) / floor);
}

static double children_ns(void)
{
  struct rusage usage;
  getrusage(RUSAGE_CHILDREN, &usage);
  return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e9 +
         (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e3;
}

// A shell script of programs that record nothing: what each takes, by the clock and of processors. xsp's own share is in it.
static void measure_processes(char *xsp, char *file)
{
  char output[64], script[96];
  double times[2][2][ROUNDS]; // plain and with xsp; wall and processor time
  snprintf(script, sizeof script, "i=0; while [ $i -lt %d ]; do /bin/true; i=$((i+1)); done", PROCESSES);
  char *const commands[][11] = {{"/bin/sh", "-c", script, NULL},
                                {xsp, "run", "-q", "-f", "-o", file, "--", "/bin/sh", "-c", script, NULL}};
  for (int i = 0; i < ROUNDS; i++)
    for (int way = 0; way < 2; way++) {
      double before = children_ns();
      times[way][0][i] = run(commands[way], output, sizeof output) / 1e3 / PROCESSES;
      times[way][1][i] = (children_ns() - before) / 1e3 / PROCESSES;
    }
  print_with_target("processes", "/bin/true by a shell", median(times[1][0], ROUNDS), "us", median(times[0][0], ROUNDS),
                    PROCESSES_TARGET);
  print_with_target("processes", "/bin/true by a shell, processor time", median(times[1][1], ROUNDS), "us",
                    median(times[0][1], ROUNDS), PROCESSES_TARGET);
}

struct facts { // of a file that xsp run wrote
  double own_pct;
  int64_t dropped;
};

static struct facts read_file(const char *file)
{
  struct store *store = NULL;
  struct store_run *runs = NULL;
  struct arena arena = {0};
  size_t count = 0;
  if (store_open(file, &store, NULL) != STATUS_OK || store_runs(store, &arena, &runs, &count, NULL) != STATUS_OK ||
      count != 1)
    fail("the file of xsp run cannot be read");
  struct facts facts = {runs[0].own_pct, runs[0].dropped_count};
  store_close(store);
  arena_done(&arena);
  return facts;
}

struct measured { // medians, ms
  double drained, kept, own_pct, dropped_pct;
  double own_ns; // processor time of xsp a span, start and end of the run included
};

// The same work with draining and, as a flight recorder, without.
static struct measured measure(char *self, char *xsp, char *file, int threads, struct load load)
{
  char output[64], texts[3][32];
  double drained[ROUNDS], kept[ROUNDS], own[ROUNDS], own_ns[ROUNDS], program_ns;
  int64_t dropped = 0;
  snprintf(texts[0], sizeof texts[0], "%d", threads);
  snprintf(texts[1], sizeof texts[1], "%llu", (unsigned long long)load.turns);
  snprintf(texts[2], sizeof texts[2], "%llu", (unsigned long long)load.spans);
  char *const with[] = {xsp,  "run", "-q", "-f",     "-t",     "nvtx",   "-o",
                        file, "--",  self, texts[0], texts[1], texts[2], NULL};
  char *const without[] = {xsp,  "run", "-q",     "-f",     "-t",     "nvtx", "--flight-recorder", "2M", "-o", file,
                           "--", self,  texts[0], texts[1], texts[2], NULL};
  for (int i = 0; i < ROUNDS; i++) {
    run(without, output, sizeof output);
    kept[i] = atof(output) / 1e6;
    double before = children_ns();
    run(with, output, sizeof output);
    if (sscanf(output, "%lf %lf", &drained[i], &program_ns) != 2)
      fail("the program printed no times");
    own_ns[i] = (children_ns() - before - program_ns) / ((double)load.spans * threads);
    drained[i] /= 1e6;
    struct facts facts = read_file(file);
    own[i] = facts.own_pct;
    dropped += facts.dropped;
  }
  return (struct measured){median(drained, ROUNDS), median(kept, ROUNDS), median(own, ROUNDS),
                           100.0 * (double)dropped / ((double)load.spans * threads * ROUNDS), median(own_ns, ROUNDS)};
}

static struct measured measure_drain(char *self, char *xsp, char *file, int threads, struct load load)
{
  char what[80];
  struct measured measured = measure(self, xsp, file, threads, load);
  double rate = (double)load.spans * threads / measured.drained / 1e3;
  snprintf(what, sizeof what, "%d thread%s, %.2f M spans/s", threads, threads == 1 ? "" : "s", rate);
  print("drained program", what, measured.drained, "ms", measured.kept);
  print("drain", what, measured.own_pct, "% of a processor", NAN);
  print("dropped", what, measured.dropped_pct, "%", NAN);
  return measured;
}

// What a span costs while rings grow; the floor is the same in a ring that overwrites.
static void measure_burst(char *self, char *xsp, char *file, int threads)
{
  char what[80];
  struct measured measured = measure(self, xsp, file, threads, (struct load){0, BURST_SPANS});
  snprintf(what, sizeof what, "%d thread%s, 10 M spans each", threads, threads == 1 ? "" : "s");
  print("burst", what, measured.drained * 1e6 / BURST_SPANS, "ns", measured.kept * 1e6 / BURST_SPANS);
  print("burst dropped", what, measured.dropped_pct, "%", NAN);
}

int main(int argc, char **argv)
{
  if (argc == 4)
    return be_the_program(atoi(argv[1]), (struct load){strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10)});
  const char *build = getenv("XSP_BUILD");
  char xsp[4096], self[4096], file[64];
  ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  if (build == NULL || length < 0 || mkdtemp(folder) == NULL)
    fail("no XSP_BUILD, or no folder");
  self[length] = '\0';
  snprintf(xsp, sizeof xsp, "%s/xsp", build);
  snprintf(file, sizeof file, "%s/out.xsp", folder);
  measure_start(xsp, file);
  measure_processes(xsp, file);
  for (int threads = 1; threads <= 2; threads++)
    measure_drain(self, xsp, file, threads, (struct load){calibrate(SPACING_NS), SPANS});
  double own_ns =
      measure_drain(self, xsp, file, 1, (struct load){calibrate(SUSTAINED_SPACING_NS), SUSTAINED_SPANS}).own_ns;
  print_with_target("span", "from ring to parent in file", own_ns, "CPU ns/span", RING_TO_PARENT_NS, 1);
  for (int threads = 1; threads <= 2; threads++)
    measure_burst(self, xsp, file, threads);
  unlink(file);
  return rmdir(folder);
}
