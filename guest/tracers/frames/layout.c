// SPDX-License-Identifier: Apache-2.0
// Finds the interpreter's functions, refuses kinds that python.c cannot read, and takes the layouts of its version: by a
// table for 3.10 to 3.12; later ones describe themselves to debuggers in _PyRuntime. Called at setup. What is found here
// is not trusted before check.c has compared it.
#include "tracers/frames/interpreter.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

// From Include/internal/pycore_frame.h, pystate.h and unicodeobject.h of each version; equal in all its releases.
static const struct interpreter known[] = {
    {.minor = 10, // its thread states have no blocks
     .thread_frame = 24,
     .control_frame = NO_OFFSET,
     .code = 32,
     .back = 24,
     .instruction = 96,
     .owner = NO_OFFSET},
    {.minor = 11,
     .thread_bytes = 360,
     .thread_frame = 56,
     .control_frame = 8,
     .code = 32,
     .back = 48,
     .instruction = 56,
     .owner = 69},
    {.minor = 12,
     .thread_bytes = 288,
     .thread_frame = 56,
     .control_frame = 0,
     .code = 0,
     .back = 8,
     .instruction = 56,
     .owner = 70},
};

// _PyRuntime of 3.13 and later begins with struct _Py_DebugOffsets: words of 64 bits, after the cookie the version and
// whether it is free-threaded, then offsets, in parts that versions make longer: words from 3.13 on.
enum { RUNTIME_VERSION = 1, RUNTIME_FREE_THREADED = 2, RUNTIME_WORDS = 64 };
static const struct {
  uint8_t thread, frame; // where its part begins
} described[] = {{19, 28}, {22, 31}, {22, 39}};
enum { THREAD_BYTES = 0, THREAD_FRAME = 4, THREAD_BYTES_MOST = 4096 }; // the first two are words of the part
enum { FRAME_BACK = 1, FRAME_CODE = 2, FRAME_INSTRUCTION = 3, FRAME_OWNER = 5 };
enum { NEWEST_MINOR = 13 + sizeof described / sizeof *described - 1 };

static bool read_runtime(const char *runtime, struct interpreter *python)
{
  uint64_t words[RUNTIME_WORDS];
  if (runtime == NULL || memcmp(runtime, "xdebugpy", 8) != 0)
    return false;
  memcpy(words, runtime, sizeof words);
  if (words[RUNTIME_VERSION] >> 16 != 0x300 + python->minor || words[RUNTIME_FREE_THREADED] != 0)
    return false;
  const uint64_t *thread = &words[described[python->minor - 13].thread];
  const uint64_t *frame = &words[described[python->minor - 13].frame];
  if (thread[THREAD_BYTES] > THREAD_BYTES_MOST || thread[THREAD_FRAME] >= thread[THREAD_BYTES])
    return false;
  python->thread_bytes = (uint32_t)thread[THREAD_BYTES];
  python->thread_frame = (uint32_t)thread[THREAD_FRAME];
  python->control_frame = NO_OFFSET;
  python->back = (uint32_t)frame[FRAME_BACK];
  python->code = (uint32_t)frame[FRAME_CODE];
  python->instruction = (uint32_t)frame[FRAME_INSTRUCTION];
  python->owner = (uint32_t)frame[FRAME_OWNER];
  return true;
}

static bool take_layout(const struct python_api *api, struct interpreter *python)
{
  uint32_t minor = python->minor;
  if (minor >= 13) {
    if (!read_runtime(api->runtime, python))
      return false;
  } else {
    *python = known[minor - 10];
  }
  const uint32_t word = sizeof(void *), ends[] = {python->code + word, python->back + word, python->instruction + word,
                                                  python->owner + 1}; // 0: NO_OFFSET
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
    python->frame_bytes = ends[i] > python->frame_bytes ? ends[i] : python->frame_bytes;
  // PyASCIIObject and PyCompactUnicodeObject: until 3.11 with wstr. check.c finds how many bits `interned` has.
  python->text.length = 16;
  python->text.state = 32;
  python->text.ascii_header = minor <= 11 ? 48 : 40;
  python->text.unicode_header = minor <= 11 ? 72 : 56;
  return true;
}

// Where dlsym looks: in the global scope, unless the address is in an interpreter outside of it.
static void *symbols_of(const void *caller_in_interpreter)
{
  Dl_info caller, global;
  void *found = dlsym(RTLD_DEFAULT, "Py_GetVersion");
  if (caller_in_interpreter == NULL || dladdr(caller_in_interpreter, &caller) == 0 ||
      (found != NULL && dladdr(found, &global) != 0 && global.dli_fbase == caller.dli_fbase))
    return RTLD_DEFAULT;
  void *library = dlopen(caller.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  return library != NULL && dlsym(library, "Py_GetVersion") != NULL ? library : RTLD_DEFAULT;
}

static bool find_functions(void *library, struct python_api *ret_api, char *why, size_t why_size)
{
  const char *missing = NULL;
  void *symbol;
#define FIND(returned, name, arguments)                                                                                \
  symbol = dlsym(library, #name);                                                                                      \
  memcpy(&ret_api->name, &symbol, sizeof symbol);                                                                      \
  missing = symbol == NULL ? #name : missing;
  EACH_PYTHON_FUNCTION(FIND)
#undef FIND
  ret_api->PyCode_Type = dlsym(library, "PyCode_Type");
  ret_api->runtime = dlsym(library, "_PyRuntime");
  missing = ret_api->PyCode_Type == NULL ? "PyCode_Type" : missing;
  if (missing != NULL)
    snprintf(why, why_size, "not an interpreter of CPython 3.10 or later with symbols: %s is missing", missing);
  return missing == NULL;
}

bool interpreter_find(const void *caller_in_interpreter, struct python_api *ret_api, struct interpreter *ret_python,
                      char *why, size_t why_size)
{
  if (!find_functions(symbols_of(caller_in_interpreter), ret_api, why, why_size))
    return false;
  const char *version = ret_api->Py_GetVersion();
  unsigned major = 0, minor = 0;
  if (sscanf(version, "%u.%u", &major, &minor) != 2 || major != 3 || minor < 10 || minor > NEWEST_MINOR) {
    snprintf(why, why_size, "the layout of Python %.20s is not known: 3.10 to 3.%u are", version,
             (unsigned)NEWEST_MINOR);
    return false;
  }
  if (strstr(version, "free-threading") != NULL) {
    snprintf(why, why_size, "Python 3.%u is free-threaded: its stacks are not read", minor);
    return false;
  }
  if (!ret_api->PyGILState_Check() || ret_api->PyGILState_GetThisThreadState() == NULL) {
    snprintf(why, why_size, "the GIL is not held");
    return false;
  }
  if (ret_api->PyInterpreterState_Get() != ret_api->PyInterpreterState_Main()) {
    snprintf(why, why_size, "this is a subinterpreter");
    return false;
  }
  *ret_python = (struct interpreter){.minor = minor};
  if (!take_layout(ret_api, ret_python)) {
    snprintf(why, why_size, "Python 3.%u does not describe its layout in _PyRuntime", minor);
    return false;
  }
  ret_python->thread_state = ret_api->PyGILState_GetThisThreadState;
  ret_python->line_of = ret_api->PyCode_Addr2Line;
  ret_python->code_type = ret_api->PyCode_Type;
  return true;
}
