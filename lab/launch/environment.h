// SPDX-License-Identifier: Apache-2.0
// Which tracers a program gets, and the environment that brings them into it. xsp's own environment does not change.
#ifndef XSP_LAUNCH_ENVIRONMENT_H
#define XSP_LAUNCH_ENVIRONMENT_H

#include "base/arena.h"
#include "base/error.h"
#include "launch/executable.h"
#include "launch/execution.h"

#include <stddef.h>

#define TRACERS_MAXIMUM 16 // as many as a process loads

struct chosen_tracer {
  const char *name;    // "nvtx"; of a path: its last part without ".so"
  const char *path;    // of the shared object, absolute
  const char *options; // ":option=value…" as in XSP_TRACERS; ""
};
struct chosen_tracers {
  struct chosen_tracer list[TRACERS_MAXIMUM];
  size_t count;
};

// Resolves options->tracers; tracers that publish nothing at options->levels are left out. Strings in `arena`.
// STATUS_USE: no such tracer, too many, or a path that a list cannot carry.
enum status launch_tracers_choose(const struct launch_options *options, struct arena *arena,
                                  struct chosen_tracers *ret_tracers, struct error *err) MUST_CHECK;
// The whole environment of the program, ends with NULL; `before` is what xsp was given. In `arena`. `traceparent` NULL: the
// one that xsp was given.
enum status environment_make(const struct launch_options *options, const struct chosen_tracers *tracers,
                             const struct executable *program, const char *session_directory, const char *traceparent,
                             char *const *before, struct arena *arena, char ***ret_environment,
                             struct error *err) MUST_CHECK;

#endif
