// SPDX-License-Identifier: Apache-2.0
// Cost of a traced function: a call through the trampoline against the same call between a native span's start and
// finish (the floor), a call whose level is off against a plain call, and a program's start with the loader's module
// against its start without. The program runs itself a second time, traced into a flight recorder, so that no ring
// grows. Prints one JSON line per case.
#include "bench/measure.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <ftw.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <xsp/span.h>

#define CALLS 200000
#define ROUNDS 15
#define STARTS 21

extern char **environ;
static char folder[] = "/dev/shm/xsp-bench-functions-XXXXXX";

static _Noreturn void fail(const char *what)
{
  fprintf(stderr, "functions bench: %s\n", what);
  exit(1);
}

static double now_ns(clockid_t clock)
{
  struct timespec time;
  clock_gettime(clock, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void print(const char *name, const char *what, double value, const char *unit, double floor, double target)
{
  printf("{\"bench\":\"functions/%s\",\"case\":\"%s\",\"value\":%.2f,\"unit\":\"%s\",\"floor\":%.2f,\"ratio\":%.4f,",
         name, what, value, unit, floor, value / floor);
  if (target > 0)
    printf("\"target\":%.2f}\n", target);
  else
    printf("\"target\":null}\n");
}

// ---- the second run: traced
typedef bool (*small_fn)(bool, unsigned char, signed char);

static small_fn find(const char *path)
{
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL), *symbol = library == NULL ? NULL : dlsym(library, "zoo_small");
  small_fn function;
  memcpy(&function, &symbol, sizeof function);
  if (symbol == NULL)
    fail("bench-programs/libzoo.so is missing");
  return function;
}

static double ns_a_call(small_fn volatile function)
{
  double start = now_ns(CLOCK_THREAD_CPUTIME_ID);
  for (unsigned i = 0; i < CALLS; i++)
    function(true, (unsigned char)i, 1);
  return (now_ns(CLOCK_THREAD_CPUTIME_ID) - start) / CALLS;
}

static double ns_a_span(small_fn volatile function)
{
  XSP_SITE(site, XSP_LEVEL_LIBRARY, "native");
  double start = now_ns(CLOCK_THREAD_CPUTIME_ID);
  for (unsigned i = 0; i < CALLS; i++) {
    struct xsp_span span = xsp_span_start(&site);
    function(true, (unsigned char)i, 1);
    xsp_span_finish(&span);
  }
  return (now_ns(CLOCK_THREAD_CPUTIME_ID) - start) / CALLS;
}

static void measure_calls(const char *traced_path, const char *plain_path)
{
  small_fn traced = find(traced_path), plain = find(plain_path);
  double calls[ROUNDS], spans[ROUNDS], plains[ROUNDS], offs[ROUNDS];
  for (int round = -1; round < ROUNDS; round++) { // the first warms up
    int at = round < 0 ? 0 : round;
    plains[at] = ns_a_call(plain);
    spans[at] = ns_a_span(plain);
    calls[at] = ns_a_call(traced);
    xsp_tracer_set_levels("functions", 0);
    offs[at] = ns_a_call(traced);
    xsp_tracer_set_levels("functions", XSP_LEVEL_MASK_ALL);
  }
  double plain_ns = median(plains, ROUNDS), span_ns = median(spans, ROUNDS), call_ns = median(calls, ROUNDS);
  print("call", "traced, against a native span", call_ns, "ns/call", span_ns, 2.5);
  print("call", "its level is off, against a plain call", median(offs, ROUNDS), "ns/call", plain_ns, 0);
}

// ---- starts of programs
static double start_ms(char *const command[], bool with_module)
{
  char audit[4096], *none[] = {NULL};
  snprintf(audit, sizeof audit, "LD_AUDIT=%s/tracers/functions_audit.so", getenv("XSP_BUILD"));
  char list[4096], session[4096];
  snprintf(list, sizeof list, "XSP_FUNCTIONS=%s/list", folder);
  snprintf(session, sizeof session, "XSP_SESSION=%s/session", folder); // no process joins it: libxsp.so is not loaded
  char *with[] = {audit, list, session, NULL};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  pid_t child;
  int status = -1;
  double start = now_ns(CLOCK_MONOTONIC);
  if (posix_spawn(&child, command[0], &actions, NULL, command, with_module ? with : none) == 0)
    waitpid(child, &status, 0);
  double took = (now_ns(CLOCK_MONOTONIC) - start) / 1e6;
  posix_spawn_file_actions_destroy(&actions);
  return status == 0 ? took : -1;
}

static void measure_start(const char *what, char *const command[])
{
  double without[STARTS], with[STARTS];
  for (int round = -1; round < STARTS; round++) {
    int at = round < 0 ? 0 : round;
    without[at] = start_ms(command, false);
    with[at] = start_ms(command, true);
    if (without[at] < 0 || with[at] < 0) {
      fprintf(stderr, "functions bench: %s cannot be started\n", what);
      return;
    }
  }
  print("start", what, median(with, STARTS), "ms", median(without, STARTS), 0);
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
  (void)status, (void)type, (void)walk;
  return remove(path);
}

static void clean(void)
{
  nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void copy_file(const char *from, const char *to)
{
  char bytes[65536];
  FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
  if (in == NULL || out == NULL)
    fail("bench-programs/libzoo.so cannot be copied");
  for (size_t got; (got = fread(bytes, 1, sizeof bytes, in)) > 0;)
    fwrite(bytes, 1, got, out);
  fclose(in);
  fclose(out);
}

static void set(const char *name, const char *format, const char *value)
{
  char text[4096];
  snprintf(text, sizeof text, format, value);
  setenv(name, text, 1);
}

int main(int argc, char **argv)
{
  if (argc == 4 && strcmp(argv[1], "--traced") == 0) {
    measure_calls(argv[2], argv[3]);
    return 0;
  }
  const char *build = getenv("XSP_BUILD"), *python = getenv("XSP_PYTHON");
  if (build == NULL || python == NULL || mkdtemp(folder) == NULL)
    fail("XSP_BUILD and XSP_PYTHON must be set");
  atexit(clean);
  char traced[4096], plain[4096], list[4096];
  snprintf(traced, sizeof traced, "%s/bench-programs/libzoo.so", build);
  snprintf(plain, sizeof plain, "%s/libplain.so", folder);
  snprintf(list, sizeof list, "%s/list", folder);
  copy_file(traced, plain);
  FILE *file = fopen(list, "w");
  if (file == NULL || fprintf(file, "%s:zoo_small\ncblas_sgemm\nscipy_cblas_?gemm*\n", traced) < 0 || fclose(file) != 0)
    fail("the list cannot be written");
  measure_start("/bin/true", (char *[]){"/bin/true", NULL});
  measure_start("python3 -c pass", (char *[]){(char *)(uintptr_t)python, "-c", "pass", NULL});
  measure_start("python3 -c 'import numpy'", (char *[]){(char *)(uintptr_t)python, "-c", "import numpy", NULL});
  set("LD_AUDIT", "%s/tracers/functions_audit.so", build);
  set("XSP_TRACERS", "%s/tracers/functions.so", build);
  set("XSP_FUNCTIONS", "%s", list);
  set("XSP_SESSION", "%s/session", folder);
  set("XSP_FLIGHT_RECORDER", "1", "");
  pid_t child;
  int status = -1;
  if (posix_spawn(&child, "/proc/self/exe", NULL, NULL, (char *[]){argv[0], "--traced", traced, plain, NULL},
                  environ) == 0)
    waitpid(child, &status, 0);
  return status != 0;
}
