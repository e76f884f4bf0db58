// SPDX-License-Identifier: Apache-2.0
// Which program or library an address is in, by glibc's _dl_find_object, which neither allocates nor locks. It is looked up,
// not linked: glibc has it from 2.35 on, and guests also load where glibc is older.
#ifndef XSP_TRACERS_FRAMES_FIND_OBJECT_H
#define XSP_TRACERS_FRAMES_FIND_OBJECT_H

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>

void find_object_setup(void); // before the others; again: no effect. Not in a signal handler
// False: in none, or glibc is older.
bool find_object(const void *address, struct dl_find_object *ret_object);
// NULL: in none. Not in a signal handler: where glibc is older this takes its lock.
struct link_map *find_object_map(const void *address);

#endif
