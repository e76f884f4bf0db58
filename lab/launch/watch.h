// SPDX-License-Identifier: Apache-2.0
// Decides from looks at a stopped xsp and its program, taken from time to time, whether only the program was continued. Pure.
#ifndef XSP_LAUNCH_WATCH_H
#define XSP_LAUNCH_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#define WATCH_LOOKS 10 // a program that is stopped together with xsp has stopped before that many

struct watch {
  uint64_t stop; // xsp's at the last look
  unsigned looks;
  bool was_stopped; // the program, during this stop
};

// `stop`: xsp's, as proc_stop reports it, the same before and after the look at the program; 0: xsp is not stopped, or was
// continued meanwhile. True: continue xsp.
bool watch_look(struct watch *watch, uint64_t stop, bool is_program_stopped);

#endif
