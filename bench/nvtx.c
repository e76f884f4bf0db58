// SPDX-License-Identifier: Apache-2.0
// What an NVTX range costs the traced program: through the vendor's own headers and our tool, beside a span of our own in
// the same run; switched off; and without any tool. Prints JSON lines for bench/run.py; everything else goes to stderr.
#include <stdio.h>

#if !__has_include(<nvtx3/nvToolsExt.h>)
int main(void)
{
  fprintf(stderr, "nvtx: not measured, NVTX's headers are not installed\n");
  return 0;
}
#else
#include <dirent.h>
#include <nvtx3/nvToolsExt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <xsp/span.h>

#define RANGES 300000L // per measurement
#define REPETITIONS 15 // odd
#define TEXTS 1024

XSP_SITE(site, XSP_LEVEL_APPLICATION, "span");

static nvtxDomainHandle_t domain;
static nvtxEventAttributes_t registered;
static char texts[TEXTS][160], sizes[TEXTS][48];
static const volatile uint32_t zero;

typedef void (*loop_fn)(long count);

__attribute__((noinline)) static void loop_span(long count)
{
  for (long i = 0; i < count; i++) {
    struct xsp_span span = xsp_span_start(&site);
    __asm__ volatile("" ::: "memory");
    xsp_span_finish(&span);
  }
}

__attribute__((noinline)) static void loop_literal(long count)
{
  for (long i = 0; i < count; i++) {
    nvtxRangePushA("a range of the program");
    __asm__ volatile("" ::: "memory");
    nvtxRangePop();
  }
}

__attribute__((noinline)) static void loop_registered(long count)
{
  for (long i = 0; i < count; i++) {
    nvtxDomainRangePushEx(domain, &registered);
    __asm__ volatile("" ::: "memory");
    nvtxDomainRangePop(domain);
  }
}

// What PyTorch says of each operator: the same name with other numbers, in a buffer of its own.
__attribute__((noinline)) static void loop_operator(long count)
{
  for (long i = 0; i < count; i++) {
    nvtxRangePushA(texts[i % TEXTS]);
    __asm__ volatile("" ::: "memory");
    nvtxRangePop();
  }
}

// The same span and tags as loop_operator leaves, by hand.
__attribute__((noinline)) static void loop_tagged_span(long count)
{
  for (long i = 0; i < count; i++) {
    struct xsp_span span = xsp_span_start(&site);
    xsp_span_tag_int(&span, "sequence", i);
    xsp_span_tag_int(&span, "op_id", i);
    xsp_span_tag_string(&span, "sizes", sizes[i % TEXTS]);
    xsp_span_finish(&span);
  }
}

__attribute__((noinline)) static void loop_two_flags(long count)
{
  for (long i = 0; i < count; i++) {
    if (__builtin_expect(zero != 0, 0))
      abort();
    __asm__ volatile("" ::: "memory");
    if (__builtin_expect(zero != 0, 0))
      abort();
  }
}

static double measure(loop_fn loop, long count)
{
  struct timespec begin, end;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
  loop(count);
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
  return ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) / (double)count;
}

static int compare(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void compare_loops(const char *name, loop_fn subject, loop_fn floor_loop, const char *target)
{
  double values[REPETITIONS], floors[REPETITIONS];
  measure(subject, RANGES / 10);
  measure(floor_loop, RANGES / 10);
  for (int i = 0; i < REPETITIONS; i++) {
    floors[i] = measure(floor_loop, RANGES);
    values[i] = measure(subject, RANGES);
  }
  qsort(values, REPETITIONS, sizeof values[0], compare);
  qsort(floors, REPETITIONS, sizeof floors[0], compare);
  double value = values[REPETITIONS / 2], floor_value = floors[REPETITIONS / 2];
  printf("{\"bench\":\"nvtx/range\",\"case\":\"%s\",\"value\":%.4g,\"unit\":\"ns/range\",\"floor\":%.4g,\"ratio\":%.4g,"
         "\"target\":%s,\"peers\":{}}\n",
         name, value, floor_value, value / floor_value, target);
  fflush(stdout);
}

static void remove_folder(const char *folder)
{
  char path[512];
  DIR *directory = opendir(folder);
  for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    unlink(path);
  }
  if (directory != NULL)
    closedir(directory);
  rmdir(folder);
}

static void measure_without_tool(void)
{
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) { // NVTX looks for its tool once a process
    compare_loops("no tool, against two flag tests", loop_literal, loop_two_flags, "null");
    _exit(0);
  }
  waitpid(child, NULL, 0);
}

static int prepare(const char *folder, const char *build)
{
  char tool[512];
  snprintf(tool, sizeof tool, "%s/tracers/nvtx.so", build);
  setenv("NVTX_INJECTION64_PATH", tool, 1);
  setenv("XSP_FLIGHT_RECORDER", "1", 1); // rings that nobody need drain
  if (xsp_attach(folder) != 0)
    return -1;
  for (int i = 0; i < TEXTS; i++) {
    snprintf(sizes[i], sizeof sizes[i], "[[%d, 64], [64, 128], []]", i % 32);
    snprintf(texts[i], sizeof texts[i], "aten::addmm, seq = %d, op_id = %d, sizes = %.47s", 1000 + i, 5000 + i,
             sizes[i]);
  }
  domain = nvtxDomainCreateA("bench");
  registered.version = NVTX_VERSION;
  registered.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  registered.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  registered.message.registered = nvtxDomainRegisterStringA(domain, "a registered range");
  return domain == NULL ? -1 : 0;
}

int main(void)
{
  char folder[64];
  const char *build = getenv("XSP_BUILD");
  snprintf(folder, sizeof folder, "/dev/shm/xsp-bench-nvtx-%d", (int)getpid());
  unsetenv("XSP_SESSION");
  unsetenv("NVTX_INJECTION64_PATH");
  measure_without_tool();
  if (build == NULL || prepare(folder, build) != 0) {
    fprintf(stderr, "nvtx: no session in /dev/shm, or no tracers/nvtx.so in XSP_BUILD\n");
    remove_folder(folder);
    return 1;
  }
  compare_loops("literal text, against a span", loop_literal, loop_span, "1.1");
  compare_loops("registered string, against a span", loop_registered, loop_span, "1.1");
  compare_loops("operator with seq, op_id and sizes, against a span with three tags", loop_operator, loop_tagged_span,
                "null");
  xsp_tracer_set_levels("nvtx", XSP_LEVEL_MASK(XSP_LEVEL_MODEL));
  compare_loops("operator whose level is off, against two flag tests", loop_operator, loop_two_flags, "null");
  xsp_tracer_set_levels("nvtx", 0);
  compare_loops("switched off, against two flag tests", loop_literal, loop_two_flags, "null");
  remove_folder(folder);
  return 0;
}
#endif
