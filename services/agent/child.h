// SPDX-License-Identifier: Apache-2.0
// xsp itself as a process, in a folder and a process group of its own. It ends with the thread that started it. Any thread.
#ifndef XSP_AGENT_CHILD_H
#define XSP_AGENT_CHILD_H

#include "base/error.h"

#include <stdbool.h>
#include <sys/types.h>

struct child {
  pid_t process;  // its number is that of its group, too; valid until child_reap
  int descriptor; // of the process; -1: this kernel has none
};

// Makes `folder`, and in it the files `output` (its stdout) and `errors` (its stderr); runs `arguments` there, which end with NULL.
enum status child_start(char *const *arguments, const char *folder, const char *output, const char *errors,
                        struct child *ret_child, struct error *err) MUST_CHECK;
// Waits at most half a second for its end.
bool child_has_ended(const struct child *child);
int child_reap(struct child *child); // after its end: the wait status

#endif
