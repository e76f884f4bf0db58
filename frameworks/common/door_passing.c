// SPDX-License-Identifier: Apache-2.0
// What the exports of frameworks have in common that pass a program's calls on: the function behind, the library that it
// lies in, and the tracer that is told, which is loaded once, by the first call. Called by mxnet.c, tensorflow.c and
// onnxruntime_runs.c, in the program, by any thread.
#include "frameworks/common/door.h"

#include <dlfcn.h>

void *framework_real(void **place, const char *name, const void *caller)
{
  void *real = __atomic_load_n(place, __ATOMIC_ACQUIRE);
  if (real == NULL) {
    real = framework_next(name, caller);
    __atomic_store_n(place, real, __ATOMIC_RELEASE);
  }
  return real;
}

void *framework_library_of(const void *function)
{
  Dl_info info;
  if (dladdr(function, &info) == 0 || info.dli_fname == NULL)
    return NULL;
  return dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

void *framework_tracer_symbol(const struct framework *framework, const char *name)
{
  const char *path = framework_tracer(framework);
  void *library = path == NULL ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL);
  return library == NULL ? NULL : frameworks_lookup(library, name);
}

bool framework_attach_once(uint32_t *state, bool (*attach)(const void *real), const void *real)
{
  uint32_t now = __atomic_load_n(state, __ATOMIC_ACQUIRE);
  if (now == FRAMEWORK_UNKNOWN &&
      __atomic_compare_exchange_n(state, &now, FRAMEWORK_ATTACHING, false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
    now = attach(real) ? FRAMEWORK_ATTACHED : FRAMEWORK_NOT_TRACED;
    dlerror(); // the program's next question after an error of the loader's is not to be answered by ours
    __atomic_store_n(state, now, __ATOMIC_RELEASE);
  }
  return now == FRAMEWORK_ATTACHED;
}
