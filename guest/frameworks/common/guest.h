// SPDX-License-Identifier: Apache-2.0
// What the tracers of frameworks have in common: their descriptor, notes for the user, and the answer to `xsp check`. Each
// tracer has its own copy of this file's state, and defines guest_library.
#ifndef XSP_FRAMEWORKS_COMMON_GUEST_H
#define XSP_FRAMEWORKS_COMMON_GUEST_H

#include "base/library.h"

#include <xsp/tracer.h>

#include <stdbool.h>
#include <stddef.h>

const struct xsp_tracer *guest_tracer(void); // what xsp_tracer_entry returns
const char *guest_option(const char *name);  // NULL: not given
void guest_report(const char *message);      // a line for the user, kept with the trace

struct guest_library {
  struct library_names names;   // `name` is the tracer's, too
  const char *summary;          // for `xsp check`
  const char *variable, *value; // set before the library is opened, where the user has not set it; NULL: none
  // False: it cannot be traced, or not with layers; then writes the reason into `why`. May replace the advice. The version
  // stays NULL where it is unknown, and is static otherwise.
  bool (*examine)(void *handle, const char **ret_version, const char **ret_advice, char *why, size_t why_size);
  // May be left out:
  uint32_t level_mask;                     // 0: model and layer
  const struct xsp_tracer_option *options; // as in struct xsp_tracer
  void (*stop)(void);                      // likewise
};
extern const struct guest_library guest_library;

#endif
