// SPDX-License-Identifier: Apache-2.0
// What the tracers of frameworks have in common: notes for the user, and the answer to `xsp check`. Each tracer has its
// own copy of this file's state.
#ifndef XSP_FRAMEWORKS_COMMON_GUEST_H
#define XSP_FRAMEWORKS_COMMON_GUEST_H

#include "base/library.h"

#include <xsp/tracer.h>

#include <stdbool.h>
#include <stddef.h>

int guest_start(const struct xsp_host *host); // a descriptor's `start`
void guest_report(const char *message);       // a line for the user, kept with the trace

struct guest_library {
  struct library_names names;
  const char *variable, *value; // set before the library is opened, where the user has not set it; NULL: none
  // False: it cannot be traced, or not with layers; then writes the reason into `why`. May replace the advice. The version
  // stays NULL where it is unknown, and is static otherwise.
  bool (*examine)(void *handle, const char **ret_version, const char **ret_advice, char *why, size_t why_size);
};
// A descriptor's `probe`: which library would a program started from here find? Does nothing in a traced process, where
// the program's own library counts.
int guest_probe(const struct guest_library *library, const struct xsp_host *host, char *why, size_t why_size);

#endif
