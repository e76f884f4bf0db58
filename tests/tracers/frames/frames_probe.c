// SPDX-License-Identifier: Apache-2.0
// guest/tracers/frames for tests in real interpreters: loaded with ctypes. Keeps call paths in a table of its own, so that no
// session is needed and calls of xsp_call_path are counted.
#include "tracers/frames/find_object.h"
#include "tracers/frames/frames.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <xsp/call_path.h>

#define EXPORT __attribute__((visibility("default")))
#define PATHS 65536

static struct path {
  uint32_t caller, line;
  uint64_t address;
  char *name, *file, *module;
} paths[PATHS];
static uint32_t path_count = 1;
static _Thread_local uint32_t asked; // calls of xsp_call_path
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint32_t kernel_asked; // by readable.h, about memory that is not in the thread's stack

static bool is_above_here(long at)
{
  return (uintptr_t)at - (uintptr_t)__builtin_frame_address(0) < 1 << 20;
}

// Hidden: for the calls in this library alone.
__attribute__((visibility("hidden"))) long syscall(long number, ...)
{
  static long (*libcs)(long, ...);
  long arguments[6];
  va_list list;
  va_start(list, number);
  for (int i = 0; i < 6; i++)
    arguments[i] = va_arg(list, long);
  va_end(list);
  if (libcs == NULL)
    *(void **)&libcs = dlsym(RTLD_NEXT, "syscall");
  kernel_asked += number == SYS_rt_sigprocmask && !is_above_here(arguments[1]);
  return libcs(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
}

EXPORT uint32_t probe_kernel_asked(void)
{
  return kernel_asked;
}

static bool is_same(const char *left, const char *right)
{
  return strcmp(left, right == NULL ? "" : right) == 0;
}

static char *copy(const char *text) // no malloc: handlers come here
{
  static char texts[1 << 22];
  static size_t used;
  size_t bytes = text == NULL ? 1 : strlen(text) + 1;
  if (bytes > sizeof texts - used)
    return "(no room)";
  used += bytes;
  return memcpy(texts + used - bytes, text == NULL ? "" : text, bytes);
}

uint32_t xsp_call_path(uint32_t caller, const struct xsp_frame *frame)
{
  pthread_mutex_lock(&lock);
  asked++;
  uint32_t path = 1;
  while (path < path_count && !(paths[path].caller == caller && paths[path].line == frame->line &&
                                paths[path].address == frame->address && is_same(paths[path].name, frame->name) &&
                                is_same(paths[path].file, frame->file) && is_same(paths[path].module, frame->module)))
    path++;
  if (path == path_count && path_count < PATHS)
    paths[path_count++] = (struct path){.caller = caller,
                                        .line = frame->line,
                                        .address = frame->address,
                                        .name = copy(frame->name),
                                        .file = copy(frame->file),
                                        .module = copy(frame->module)};
  pthread_mutex_unlock(&lock);
  return path == PATHS ? 0 : path;
}

// Here each frame has a path, as it has in a file.
uint32_t xsp_sample_path(uint32_t caller, uint32_t inner)
{
  const struct path of = paths[inner];
  const struct xsp_frame frame = {.size = sizeof frame,
                                  .kind = XSP_FRAME_NATIVE,
                                  .name = of.name,
                                  .file = of.file,
                                  .module = of.module,
                                  .line = of.line,
                                  .address = of.address};
  return xsp_call_path(of.caller == 0 ? caller : xsp_sample_path(caller, of.caller), &frame);
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

EXPORT uint32_t probe_native(uint32_t path, const char **ret_module, uint64_t *ret_address)
{
  *ret_module = paths[path].module;
  *ret_address = paths[path].address;
  return paths[path].caller;
}

// ---- native frames
EXPORT bool probe_native_setup(const void *in_interpreter)
{
  find_object_setup();
  return frames_native_setup(in_interpreter);
}

__attribute__((noinline)) EXPORT uint32_t probe_full(int mode)
{
  volatile int inner = 0; // in this function's frame
  return frames_path((enum call_paths_mode)mode, NULL, (const void *)&inner) + (uint32_t)inner;
}

EXPORT uint32_t probe_outside(void) // where nothing says which frames belong to the path
{
  return frames_path(CALL_PATHS_FULL, NULL, NULL);
}

static struct frames_place operator;
static uint32_t nested_path;

__attribute__((noinline)) EXPORT uint32_t probe_nested(void) // in the operator
{
  volatile int inner = 0;
  nested_path = frames_path(CALL_PATHS_FULL, &operator,(const void *) & inner) + (uint32_t)inner;
  return nested_path;
}

// An operator that calls `function`, or probe_nested itself. Returns the operator's path.
__attribute__((noinline)) EXPORT uint32_t probe_operator(int (*function)(void))
{
  volatile int object = 0;
  struct xsp_frame frame = {.size = sizeof frame, .kind = XSP_FRAME_FRAMEWORK, .name = "operator"};
  operator.path = xsp_call_path(frames_path(CALL_PATHS_FULL, NULL, (const void *)&object), &frame);
  operator.python = python_frames_top();
  operator.stack =(const void *) & object;
  if (function != NULL)
    object += function();
  else
    object += (int)probe_nested();
  return operator.path + 0 *(uint32_t) object;
}

EXPORT uint32_t probe_nested_path(void)
{
  return nested_path;
}

static void *foreign(void *result)
{
  *(uint32_t *)result = python_frames_path() + (probe_has_top() ? 1000000 : 0);
  nested_path = probe_full(CALL_PATHS_FULL);
  return NULL;
}

__attribute__((noinline)) static uint32_t deep(int depth)
{
  volatile uint32_t result = depth == 0 ? probe_full(CALL_PATHS_FULL) : deep(depth - 1);
  return result;
}

static void *run_deep(void *result)
{
  *(uint32_t *)result = deep(300);
  return NULL;
}

EXPORT uint32_t probe_deep_thread(void)
{
  uint32_t result = 0;
  pthread_t thread;
  if (pthread_create(&thread, NULL, run_deep, &result) == 0)
    pthread_join(thread, NULL);
  return result;
}

EXPORT uint32_t probe_foreign_thread(void) // on a thread that Python does not know
{
  uint32_t result = 1;
  pthread_t thread;
  if (pthread_create(&thread, NULL, foreign, &result) == 0)
    pthread_join(thread, NULL);
  return result;
}

// ---- in signal handlers
#define INTERRUPTED_MOST 100000
static uint32_t interrupted[INTERRUPTED_MOST], interrupted_count;

static void on_signal(int number, siginfo_t *info, void *context)
{
  (void)number, (void)info;
  struct unwind_place at = unwind_interrupted(context);
  if (interrupted_count < INTERRUPTED_MOST)
    interrupted[interrupted_count++] = frames_path_at(&at);
}

EXPORT bool probe_take_signal(int number)
{
  struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
  return sigaction(number, &action, NULL) == 0;
}

EXPORT uint32_t probe_interrupted_count(void)
{
  return interrupted_count;
}

EXPORT uint32_t probe_interrupted(uint32_t which)
{
  return interrupted[which];
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
