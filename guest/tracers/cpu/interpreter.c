// SPDX-License-Identifier: Apache-2.0
// Python in the process: call paths from it need a few lines of Python to be run once, with the GIL held. An interpreter
// that starts ignores SIGPIPE. It is asked then to call us between two instructions of its own (Py_AddPendingCall), so
// that this works for interpreters with all modules built in, and for embedded ones.
#include "tracers/cpu/cpu.h"

#include "tracers/frames/find_object.h"
#include "tracers/frames/python.h"

#include <stdio.h>
#include <string.h>

#define ADD_PENDING "Py_AddPendingCall"

static int set_up(void *address)
{
  static char note[256];
  char why[160];
  cpu_sampler_interpreter(address);
  if (!python_frames_setup(address, why, sizeof why)) {
    snprintf(note, sizeof note, "samples have no Python functions: %s", why);
    cpu_say(note);
  }
  return 0;
}

// Of the library or program of `caller`; NULL: it is not the interpreter.
static void *find_add_pending(const void *caller)
{
  struct link_map *map = find_object_map(caller);
  if (map == NULL)
    return NULL;
  const char *name = map->l_name;
  void *library = dlopen(name[0] != '\0' ? name : NULL, RTLD_LAZY | RTLD_NOLOAD);
  void *found = library != NULL ? dlsym(library, ADD_PENDING) : NULL;
  bool is_its_own = found != NULL && find_object_map(found) == map;
  if (library != NULL)
    dlclose(library);
  dlerror(); // our failed lookups are not the program's errors
  return is_its_own ? found : NULL;
}

void cpu_interpreter_seen(const void *caller)
{
  static uint32_t is_done; // atomic
  int saved_errno = errno;
  void *found = cpu_thread != NULL ? find_add_pending(caller) : NULL;
  if (found != NULL && __atomic_exchange_n(&is_done, 1, __ATOMIC_RELAXED) == 0) {
    int (*add_pending)(int (*)(void *), void *);
    memcpy(&add_pending, &found, sizeof add_pending);
    (void)add_pending(set_up, (void *)(uintptr_t)caller);
  }
  errno = saved_errno;
}
