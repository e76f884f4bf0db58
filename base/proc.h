// SPDX-License-Identifier: Apache-2.0
// What /proc says about processes.
#ifndef XSP_BASE_PROC_H
#define XSP_BASE_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// 'R', 'S', 'T', 'Z', …; 0: no such process. *ret_start_ticks: since the machine started; may be NULL.
char proc_state(pid_t process, unsigned long long *ret_start_ticks);
// Whether a process that existed at `start_ns` (Unix epoch) still runs; zombies do not.
bool proc_lives(pid_t process, int64_t start_ns);
// A number of the processes that this one can see: those of its PID namespace. 0: it sees none, as where /proc is not mounted.
uint64_t proc_namespace(void);
// How a process is in a session: its folder is in the process's environment; its file is mapped, so the process joined or was
// forked by one that did. To look for the second alone takes a look at the maps of all of the caller's processes.
enum proc_by { PROC_GIVEN = 1, PROC_MAPPED = 2 };
// Processes that are in the session in all of these ways. Their numbers go to `ret_numbers`, at most `most`. Returns how many.
size_t proc_in(const char *session, unsigned by, pid_t *ret_numbers, size_t most);
// Which of `count` names, at most 32, begin the names of files that the process has mapped: bit I is names[I]. 0 for those of
// other users.
uint32_t proc_mapped(pid_t process, const char *const *names, size_t count);
// Its threads, and its children, at most `most`; each returns how many.
size_t proc_threads(pid_t process, pid_t *ret_threads, size_t most);
size_t proc_children(pid_t process, pid_t *ret_children, size_t most);
struct proc_time {
  uint64_t cpu_ns;
  uint64_t waited_ns; // that it was ready and had no processor
};
bool proc_thread_time(pid_t process, pid_t thread, struct proc_time *ret_time); // false: it has ended, or is not shown
uint64_t proc_cpu_ns(pid_t process);    // of all its threads, ended ones too; 0: it has ended, or is not shown
uint64_t proc_rss_bytes(pid_t process); // 0: the same
// Signals that were sent to the whole process and not delivered yet: bit N - 1 is signal N.
uint64_t proc_pending(pid_t process);
// Its seccomp filters. 0: none; more than one's own: it has others than those that it inherited.
uint64_t proc_seccomp(pid_t process);
// 0: not stopped. Else a number that changes when the process goes on, however shortly, and stops again.
uint64_t proc_stop(pid_t process);

#endif
