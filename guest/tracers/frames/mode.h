// SPDX-License-Identifier: Apache-2.0
// How far a tracer records callers: --call-paths of xsp run and xsp profile, by the environment.
#ifndef XSP_TRACERS_FRAMES_MODE_H
#define XSP_TRACERS_FRAMES_MODE_H

#include <stdlib.h>
#include <string.h>

enum call_paths_mode {
  CALL_PATHS_NONE,
  CALL_PATHS_LIGHT, // Python and operators
  CALL_PATHS_FULL,  // native functions too
};

// Once, when the tracer starts.
static inline enum call_paths_mode call_paths_mode(void)
{
  const char *mode = getenv("XSP_CALL_PATHS");
  if (mode != NULL && strcmp(mode, "none") == 0)
    return CALL_PATHS_NONE;
  return mode != NULL && strcmp(mode, "full") == 0 ? CALL_PATHS_FULL : CALL_PATHS_LIGHT;
}

#endif
