// SPDX-License-Identifier: Apache-2.0
// What the exports of frameworks have in common: the framework's own function, its library, and the tracer, which the first
// call loads. Called by the doors of frameworks, in the program, by any thread.
#include "frameworks/common/door.h"

#include <dlfcn.h>
#include <string.h>

static void *own_function(void **place, const char *name, const void *caller)
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

const void *framework_hooks(const struct framework *framework, const char *name)
{
  const char *path = framework_tracer(framework);
  void *library = path == NULL ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL);
  void *symbol = library == NULL ? NULL : frameworks_lookup(library, name);
  const void *(*get)(void);
  memcpy(&get, &symbol, sizeof get);
  return get == NULL ? NULL : get();
}

bool framework_attach(struct framework_door *door, const void *real)
{
  if (framework_tracer(door->framework) == NULL)
    return false;
  uint32_t now = __atomic_load_n(&door->state, __ATOMIC_ACQUIRE);
  if (now == FRAMEWORK_UNKNOWN &&
      __atomic_compare_exchange_n(&door->state, &now, FRAMEWORK_ATTACHING, false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
    now = door->attach(real) ? FRAMEWORK_ATTACHED : FRAMEWORK_NOT_TRACED;
    dlerror(); // the program's next dlerror must not report our failure
    __atomic_store_n(&door->state, now, __ATOMIC_RELEASE);
  }
  return now == FRAMEWORK_ATTACHED;
}

void *framework_enter(struct framework_door *door, unsigned *depth, void **place, const char *name, const void *caller,
                      bool *ret_is_traced)
{
  void *real = own_function(place, name, caller);
  *ret_is_traced = (*depth)++ == 0 && real != NULL && framework_attach(door, real);
  return real;
}

void *framework_first_copy(const struct framework_symbol *symbol, void *found)
{
  void *own, *first = NULL;
  memcpy(&own, &symbol->own_export, sizeof own);
  if (found == own) // looked up in the program itself: our export finds the next one
    return found;
  bool is_first = __atomic_compare_exchange_n(symbol->real, &first, found, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  return is_first || first == found ? own : found;
}
