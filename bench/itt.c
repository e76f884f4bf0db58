// SPDX-License-Identifier: Apache-2.0
// Cost of a task announced by ITT: begin and end through a module's table of functions, against a native span in the
// same run (the floor). Uses as in programs: a handle made before, an id (OpenCV), a handle looked up by its text each
// time (PyTorch), a number as metadata; and switched off. The program runs itself a second time, traced into a flight
// recorder, so that no ring grows. Prints one JSON line per case.
#include "bench/measure.h"
#include "tests/tracers/itt_static.h"

#include <ftw.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <xsp/span.h>

#define TASKS 200000
#define ROUNDS 15

extern char **environ;
static char folder[] = "/dev/shm/xsp-bench-itt-XXXXXX";
static const struct itt_id none;
static struct itt_domain *domain;
static struct itt_string *name, *key;

static double now_ns(void)
{
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

XSP_SITE(native, XSP_LEVEL_APPLICATION, "native");

static void one_span(unsigned long long i)
{
  struct xsp_span span = xsp_span_start(&native);
  xsp_span_finish(&span);
}

static void one_tagged_span(unsigned long long i)
{
  struct xsp_span span = xsp_span_start(&native);
  xsp_span_tag_int(&span, "number", (int64_t)i);
  xsp_span_finish(&span);
}

static void one_task(unsigned long long i)
{
  itt.task_begin(domain, none, none, name);
  itt.task_end(domain);
}

static void one_task_with_id(unsigned long long i)
{
  itt.task_begin(domain, (struct itt_id){i + 1, 2, 3}, none, name);
  itt.task_end(domain);
}

static void one_task_by_text(unsigned long long i)
{
  itt.task_begin(domain, none, none, itt.string_handle_create("aten::addmm"));
  itt.task_end(domain);
}

static void one_task_with_metadata(unsigned long long i)
{
  itt.task_begin(domain, none, none, name);
  itt.metadata_add(domain, none, key, ITT_TYPE_U64, 1, &i);
  itt.task_end(domain);
}

static void one_frame(unsigned long long i)
{
  itt.frame_begin_v3(domain, NULL);
  itt.frame_end_v3(domain, NULL);
}

static double ns_each(void (*volatile work)(unsigned long long))
{
  double start = now_ns();
  for (unsigned long long i = 0; i < TASKS; i++)
    work(i);
  return (now_ns() - start) / TASKS;
}

static const struct {
  const char *name;
  void (*work)(unsigned long long), (*floor)(unsigned long long);
  double target; // 0: none
  uint32_t levels;
} cases[] = {
    {"task with a string handle, against a native span", one_task, one_span, 1.25, XSP_LEVEL_MASK_ALL},
    {"task with an id, against a native span", one_task_with_id, one_span, 0, XSP_LEVEL_MASK_ALL},
    {"task by its text, against a native span", one_task_by_text, one_span, 0, XSP_LEVEL_MASK_ALL},
    {"task with a number, against a native span with a tag", one_task_with_metadata, one_tagged_span, 0,
     XSP_LEVEL_MASK_ALL},
    {"frame, against a native span", one_frame, one_span, 0, XSP_LEVEL_MASK_ALL},
    {"task, switched off, against a native span", one_task, one_span, 0, 0},
};
#define CASES (sizeof cases / sizeof cases[0])

static void measure(void)
{
  static double values[CASES][ROUNDS], floors[CASES][ROUNDS];
  domain = itt.domain_create("bench");
  name = itt.string_handle_create("task");
  key = itt.string_handle_create("number");
  for (int round = -1; round < ROUNDS; round++) // the first warms up
    for (size_t i = 0; i < CASES; i++) {
      int at = round < 0 ? 0 : round;
      floors[i][at] = ns_each(cases[i].floor);
      xsp_tracer_set_levels("itt", cases[i].levels);
      values[i][at] = ns_each(cases[i].work);
    }
  for (size_t i = 0; i < CASES; i++) {
    double value = median(values[i], ROUNDS), floor = median(floors[i], ROUNDS);
    printf("{\"bench\":\"itt/task\",\"case\":\"%s\",\"value\":%.2f,\"unit\":\"ns\",\"floor\":%.2f,\"ratio\":%.4f,",
           cases[i].name, value, floor, value / floor);
    if (cases[i].target > 0)
      printf("\"target\":%.2f}\n", cases[i].target);
    else
      printf("\"target\":null}\n");
  }
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
  return remove(path);
}

static void clean(void)
{
  nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

int main(int argc, char **argv)
{
  if (argc == 2 && strcmp(argv[1], "--traced") == 0) {
    if (!itt_open() || itt.task_begin == NULL)
      return 1;
    measure();
    return 0;
  }
  const char *build = getenv("XSP_BUILD");
  char text[4096];
  if (build == NULL || mkdtemp(folder) == NULL) {
    fprintf(stderr, "itt bench: XSP_BUILD must be set\n");
    return 1;
  }
  atexit(clean);
  snprintf(text, sizeof text, "%s/tracers/itt.so", build);
  setenv("XSP_TRACERS", text, 1);
  setenv("INTEL_LIBITTNOTIFY64", text, 1);
  snprintf(text, sizeof text, "%s/session", folder);
  setenv("XSP_SESSION", text, 1);
  setenv("XSP_FLIGHT_RECORDER", "1", 1);
  pid_t child;
  int status = -1;
  if (posix_spawn(&child, "/proc/self/exe", NULL, NULL, (char *[]){argv[0], "--traced", NULL}, environ) == 0)
    waitpid(child, &status, 0);
  return status != 0;
}
