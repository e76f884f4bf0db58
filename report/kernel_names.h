// SPDX-License-Identifier: Apache-2.0
// Short forms of demangled kernel names, for tables that people read: without return type, parameters, unnamed namespaces
// and template arguments, but for the one word that tells what a generic kernel does. Exact outputs keep names in full.
#ifndef XSP_REPORT_KERNEL_NAMES_H
#define XSP_REPORT_KERNEL_NAMES_H

#include "base/arena.h"
#include "base/buf.h"

// Appends the short form of one name: "at::native::elementwise_kernel<…CUDAFunctor_add…>". What is no C++ name stays.
void kernel_name_short(struct buf *out, const char *name);
// Short forms of many: equal names have equal ones, different names different ones. NULL elements stay NULL. False: out
// of memory.
bool kernel_names_short(const char *const *names, size_t count, struct arena *arena, const char **ret_short);

#endif
