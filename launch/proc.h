// SPDX-License-Identifier: Apache-2.0
// What /proc says about processes.
#ifndef XSP_LAUNCH_PROC_H
#define XSP_LAUNCH_PROC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

// 'R', 'S', 'T', 'Z', …; 0: no such process. *ret_start_ticks: since the machine started; may be NULL.
char proc_state(pid_t process, unsigned long long *ret_start_ticks);
// Whether a process that existed at `start_ns` (Unix epoch) still runs; zombies do not.
bool proc_lives(pid_t process, int64_t start_ns);
// Whether a living process was given this session's folder by its environment.
bool proc_any_in(const char *session);
// Signals that were sent to the whole process and not delivered yet: bit N - 1 is signal N.
uint64_t proc_pending(pid_t process);
// 0: not stopped. Else a number that changes when the process goes on, however shortly, and stops again.
uint64_t proc_stop(pid_t process);

#endif
