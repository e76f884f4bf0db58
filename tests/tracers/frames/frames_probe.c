// SPDX-License-Identifier: Apache-2.0
// tracers/frames for tests in real interpreters: loaded with ctypes. Keeps call paths in a table of its own, so that no
// session is needed and calls of xsp_call_path are counted.
#include "tracers/frames/python.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xsp/call_path.h>

#define EXPORT __attribute__((visibility("default")))
#define PATHS 65536

static struct path {
  uint32_t caller, line;
  char *name, *file;
} paths[PATHS];
static uint32_t path_count = 1;
static _Thread_local uint32_t asked; // calls of xsp_call_path
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool is_same(const char *left, const char *right)
{
  return strcmp(left, right == NULL ? "" : right) == 0;
}

static char *copy(const char *text)
{
  return strdup(text == NULL ? "" : text);
}

uint32_t xsp_call_path(uint32_t caller, const struct xsp_frame *frame)
{
  pthread_mutex_lock(&lock);
  asked++;
  uint32_t path = 1;
  while (path < path_count && !(paths[path].caller == caller && paths[path].line == frame->line &&
                                is_same(paths[path].name, frame->name) && is_same(paths[path].file, frame->file)))
    path++;
  if (path == path_count && path_count < PATHS)
    paths[path_count++] = (struct path){caller, frame->line, copy(frame->name), copy(frame->file)};
  pthread_mutex_unlock(&lock);
  return path == PATHS ? 0 : path;
}

EXPORT bool probe_setup(const void *interpreter, char *why, size_t why_size)
{
  return python_frames_setup(interpreter, why, why_size);
}

// The same while an exception is pending, which then reaches the caller.
EXPORT bool probe_setup_in_exception(void)
{
  char why[256];
  void (*set)(void *, const char *);
  void *symbol = dlsym(RTLD_DEFAULT, "PyErr_SetString"), **type = dlsym(RTLD_DEFAULT, "PyExc_KeyError");
  memcpy(&set, &symbol, sizeof set);
  set(*type, "pending");
  return python_frames_setup(NULL, why, sizeof why);
}

EXPORT uint32_t probe_path(void)
{
  return python_frames_path();
}

static _Thread_local struct python_place place;

EXPORT void probe_mark(void) // the place for probe_path_since
{
  place = python_frames_top();
}

EXPORT uint32_t probe_path_since(uint32_t caller)
{
  return python_frames_path_since(place, caller);
}

EXPORT bool probe_has_top(void)
{
  return python_frames_top().frame != NULL;
}

EXPORT uint32_t probe_asked(void) // on this thread so far
{
  return asked;
}

EXPORT uint32_t probe_frame(uint32_t path, const char **ret_name, const char **ret_file, uint32_t *ret_line)
{
  *ret_name = paths[path].name;
  *ret_file = paths[path].file;
  *ret_line = paths[path].line;
  return paths[path].caller;
}

static void *foreign(void *result)
{
  *(uint32_t *)result = python_frames_path() + (probe_has_top() ? 1000000 : 0);
  return NULL;
}

EXPORT uint32_t probe_foreign_thread(void) // on a thread that Python does not know
{
  uint32_t result = 1;
  pthread_t thread;
  if (pthread_create(&thread, NULL, foreign, &result) == 0)
    pthread_join(thread, NULL);
  return result;
}

static bool says_last;
EXPORT void probe_say_last(void)
{
  says_last = true;
}

__attribute__((destructor)) static void last(void) // after the interpreter
{
  if (says_last) {
    printf("last path %u\n", python_frames_path());
    fflush(stdout);
  }
}

// Nanoseconds of one call, the fastest of `rounds` rounds: for bench/frames.py.
EXPORT double probe_cost(int what, int rounds)
{
  double fastest = 1e18;
  static volatile uintptr_t sink;
  for (int round = 0; round < rounds; round++) {
    struct timespec begin, end;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    for (int i = 0; i < 2000; i++)
      sink ^= what == 0 ? python_frames_path() : (uintptr_t)python_frames_top().frame;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    double taken = ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) / 2000;
    fastest = taken < fastest ? taken : fastest;
  }
  return fastest;
}
