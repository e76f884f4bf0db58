// SPDX-License-Identifier: Apache-2.0
// A program that runs as without xsp: with the signals, descriptors, limits and process group that xsp was given. It is
// stopped and continued with xsp and gets signals that were sent to xsp alone. One program at a time, one thread.
#ifndef XSP_LAUNCH_PROCESS_H
#define XSP_LAUNCH_PROCESS_H

#include "base/child.h"
#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct process {
  pid_t process;
  struct child program, sentinel; // of process.c
  pid_t watcher;                  // the last one's number
  uint64_t for_group;             // signals that are pending in xsp and were sent to its group: bit N - 1 is signal N
  int64_t start_ns, end_ns;       // Unix epoch
  bool has_ended;
  bool was_interrupted; // a signal that means the end reached xsp
  int wait_status;
};

// Notes what xsp itself was given, for all programs to come: call before anything changes a signal's disposition, or not at
// all (the first start does it then).
void process_prepare(void);
// Starts `command` by execvp's rules. STATUS_SYSTEM, and nothing runs, where that fails; *ret_cannot_exec: because there
// is no such program or it cannot be executed. From the first start on, signals that xsp sends on stay blocked in it.
enum status process_start(char *const *command, char *const *environment, struct process *ret_process,
                          bool *ret_cannot_exec, struct error *err) MUST_CHECK;
// Handles signals until the program has ended, or `timeout_ns` later.
void process_wait(struct process *process, int64_t timeout_ns);
// After its end: whether a signal asked xsp to end, too, since the last call.
bool process_is_asked_to_end(struct process *process);
void process_done(struct process *process); // of one that was started, after its end

#endif
