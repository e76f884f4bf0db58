// SPDX-License-Identifier: Apache-2.0
// Which frameworks a running program has loaded, by the libraries that it and its children have mapped. Seen from outside,
// from time to time: nothing runs in the program, and a library that was there for a moment only may be missed.
#ifndef XSP_LAUNCH_LIBRARIES_H
#define XSP_LAUNCH_LIBRARIES_H

#include <stdint.h>
#include <sys/types.h>

enum loaded_framework { LOADED_PYTORCH, LOADED_JAX, LOADED_TENSORFLOW, LOADED_FRAMEWORKS };

struct libraries {
  int64_t begin_ns, next_ns; // monotonic; 0: not yet
  uint32_t found;            // bit 1 << enum loaded_framework
};

// Looks if it is time, until something is found. Returns after how long to look again, in ns.
int64_t libraries_look(struct libraries *libraries, pid_t program);

#endif
