// SPDX-License-Identifier: Apache-2.0
// Short forms of demangled kernel names, for tables that people read: "at::native::elementwise_kernel<…AddFunctor…>".
#ifndef XSP_REPORT_KERNEL_NAMES_H
#define XSP_REPORT_KERNEL_NAMES_H

#include "base/arena.h"

// Writes the short form of each name to *ret_short, in `arena` or the name itself. Equal names get equal forms,
// different names different ones. Names that are not C++ functions stay as they are; NULL stays NULL.
void page_kernel_names_short(const char *const *names, size_t count, struct arena *arena, const char **ret_short);

#endif
