// SPDX-License-Identifier: Apache-2.0
// The scripted predictor's kernel hooks, how a fake kernel tracer learns of its kernels. The runner
// exports one `struct xsp_script_hooks xsp_script_hooks` (linked with -rdynamic); a tracer that XSP_TRACERS loaded finds
// it by dlsym(RTLD_DEFAULT) and fills it in. Unset hooks are not called.
#ifndef XSP_FRAMEWORKS_SCRIPT_PREDICTOR_H
#define XSP_FRAMEWORKS_SCRIPT_PREDICTOR_H

#include <stdint.h>

struct xsp_script_hooks {
  uint32_t size;                          // sizeof(struct xsp_script_hooks), set by the runner
  void (*kernel_begin)(const char *name); // on the thread that computes, before the kernel's work
  void (*kernel_end)(const char *name);
};

extern struct xsp_script_hooks xsp_script_hooks;

#endif
