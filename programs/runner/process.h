// SPDX-License-Identifier: Apache-2.0
// The runner's process: its CPUs, and its end without xsp. Each function is in a file of its own.
#ifndef XSP_PROGRAMS_RUNNER_PROCESS_H
#define XSP_PROGRAMS_RUNNER_PROCESS_H

#include "base/error.h"

// Binds the calling thread, and those it starts, to a list such as "0-2,5". Errors: STATUS_USE for the text, STATUS_SYSTEM
// where the system refuses.
enum status affinity_set(const char *list, struct error *err) MUST_CHECK;

// Keeps the calling thread off the CPUs that the process's other threads are pinned to, where others remain for it.
// Call once the framework has made its threads. Returns the number of CPUs kept clear; 0 where nothing is pinned, or
// nothing would remain.
int placement_keep_clear(void);

// A runner without its xsp must not stay, not even where the framework hangs: starts a thread that sleeps until the other end
// of `control_fd` is closed; two seconds later it removes `work_directory` and ends the process, if it is still there.
// `work_directory` is borrowed for the life of the process. Where no thread can be had nothing happens.
void orphan_watch(int control_fd, const char *work_directory);

#endif
