// SPDX-License-Identifier: Apache-2.0
// Loaded into an interpreter by bench/frames.py: ns that a tracer pays for the Python stack of the calling thread, and
// floors.
#include "tracers/frames/find_object.h"
#include "tracers/frames/frames.h"
#include "tracers/frames/interpreter.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xsp/call_path.h>

#define EXPORT __attribute__((visibility("default")))
#define CALLS 2000
#define ROUNDS 40
#define SAMPLES 4096

static struct interpreter python;
static volatile uintptr_t sink;
static double samples[SAMPLES];
static int sample_count;

static int (*unw_backtrace)(void **, int); // libunwind's; NULL: not installed

static double now_ns(void)
{
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

EXPORT bool frames_begin(const char *session, char *why, size_t why_size)
{
  struct python_api api;
  void *library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
  void *symbol = library == NULL ? NULL : dlsym(library, "unw_backtrace");
  memcpy(&unw_backtrace, &symbol, sizeof symbol);
  find_object_setup();
  if (xsp_attach(session) != 0 || !python_frames_setup(NULL, why, why_size) ||
      !interpreter_find(NULL, &api, &python, why, why_size))
    return false;
  snprintf(why, why_size, "native frames cannot be read here");
  return frames_native_setup(NULL);
}

static uintptr_t read_stack(void) // what any walk has to read
{
  uintptr_t sum = 0;
  char *frame = interpreter_top(&python);
  while ((frame = interpreter_skip(&python, frame)) != NULL) {
    struct python_frame read = interpreter_read(&python, frame);
    sum ^= read.code ^ read.instruction;
    frame = (char *)word_at(frame, python.back);
  }
  return sum;
}

static uintptr_t call(char what)
{
  switch (what) {
  case 'p':
    return python_frames_path();
  case 't':
    return (uintptr_t)python_frames_top().frame;
  case 'r':
    return read_stack();
  case 'n': {
    int inner = 0;
    return frames_path(CALL_PATHS_FULL, NULL, &inner);
  }
  case 'u': {
    void *addresses[128];
    return (uintptr_t)unw_backtrace(addresses, 128) + (uintptr_t)addresses[0];
  }
  default:
    return (uintptr_t)python.thread_state();
  }
}

EXPORT double frames_cost(char what) // the fastest round's mean
{
  double fastest = 1e18;
  for (int round = 0; round < ROUNDS; round++) {
    double begin = now_ns();
    for (int i = 0; i < CALLS; i++)
      sink ^= call(what);
    double taken = (now_ns() - begin) / CALLS;
    fastest = taken < fastest ? taken : fastest;
  }
  return fastest;
}

struct native_cost {
  char what;
  double result;
};

__attribute__((noinline)) static double native_down(char what, int depth)
{
  volatile double result = depth > 0 ? native_down(what, depth - 1) : frames_cost(what);
  return result;
}

static void *native_thread(void *cost)
{
  ((struct native_cost *)cost)->result = native_down(((struct native_cost *)cost)->what, 14);
  return NULL;
}

// The same in twenty native functions, on a thread that runs no Python. 0: not installed.
EXPORT double frames_native_cost(char what)
{
  struct native_cost cost = {what, 0};
  pthread_t thread;
  if ((what != 'u' || unw_backtrace != NULL) && pthread_create(&thread, NULL, native_thread, &cost) == 0)
    pthread_join(thread, NULL);
  return cost.result;
}

static void add_sample(double taken)
{
  if (sample_count < SAMPLES)
    samples[sample_count++] = taken;
}

EXPORT void frames_once(void) // a stack that is not known: called from a new line each time
{
  double begin = now_ns();
  sink ^= python_frames_path();
  add_sample(now_ns() - begin);
}

EXPORT void frames_append(int line) // its floor: the new frame is appended to a known path
{
  static uint32_t caller;
  struct xsp_frame frame = {.size = sizeof frame, .kind = XSP_FRAME_PYTHON, .name = "name", .file = "/a/file.py"};
  if (caller == 0)
    caller = python_frames_path();
  frame.line = (uint32_t)line;
  double begin = now_ns();
  sink ^= xsp_call_path(caller, &frame);
  add_sample(now_ns() - begin);
}

static int compare(const void *left, const void *right)
{
  double a = *(const double *)left, b = *(const double *)right;
  return a < b ? -1 : a > b;
}

EXPORT double frames_median(void) // of the samples, which are taken
{
  qsort(samples, (size_t)sample_count, sizeof *samples, compare);
  double middle = sample_count == 0 ? 0 : samples[sample_count / 2];
  sample_count = 0;
  return middle;
}
