// SPDX-License-Identifier: Apache-2.0
// Finds the program or library of an address. Called by what unwinds and by the tracers cpu and functions.
#include "tracers/frames/find_object.h"

#include <stddef.h>
#include <stdint.h>

typedef int find_object_fn(void *, struct dl_find_object *);
static find_object_fn *of_glibc; // atomic; NULL: glibc before 2.35

void find_object_setup(void)
{
  find_object_fn *found = (find_object_fn *)(uintptr_t)dlsym(RTLD_DEFAULT, "_dl_find_object");
  if (found == NULL)
    dlerror(); // our failed lookup is not the program's error
  __atomic_store_n(&of_glibc, found, __ATOMIC_RELAXED);
}

bool find_object(const void *address, struct dl_find_object *ret_object)
{
  find_object_fn *find = __atomic_load_n(&of_glibc, __ATOMIC_RELAXED);
  return find != NULL && find((void *)(uintptr_t)address, ret_object) == 0;
}

struct link_map *find_object_map(const void *address)
{
  struct dl_find_object object;
  if (__atomic_load_n(&of_glibc, __ATOMIC_RELAXED) != NULL)
    return find_object(address, &object) ? object.dlfo_link_map : NULL;
  Dl_info info;
  struct link_map *map = NULL;
  return dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) != 0 ? map : NULL;
}
