// SPDX-License-Identifier: Apache-2.0
// What frameworks.so (guest/frameworks/levelzero/door.c) asks of levelzero.so in the same process.
#ifndef XSP_TRACERS_LEVELZERO_HOOKS_H
#define XSP_TRACERS_LEVELZERO_HOOKS_H

#include <xsp/span.h>

struct levelzero_hooks { // static; appended to only
  uint32_t size;
  // Level Zero's loader, `library` of dlopen, has been initialised. Any thread, any number of times.
  void (*initialised)(void *library);
};
#define LEVELZERO_HOOKS_SYMBOL "xsp_levelzero"
XSP_API const struct levelzero_hooks *xsp_levelzero(void);

#endif
