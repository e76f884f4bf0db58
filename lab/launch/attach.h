// SPDX-License-Identifier: Apache-2.0
// A process that runs already joins a session: its libxsp.so is asked to, through its memory (trace/format/attach.h). Nothing is
// stopped, and no code is brought in. One thread.
#ifndef XSP_LAUNCH_ATTACH_H
#define XSP_LAUNCH_ATTACH_H

#include "base/arena.h"
#include "base/error.h"
#include "format/attach.h"
#include "launch/process.h"

#include <stdbool.h>
#include <stdint.h>

struct attached {
  pid_t process;
  int handle;                           // pidfd; -1: none
  uint64_t address;                     // of the block in the process
  int lock;                             // socket whose name no other xsp has meanwhile; -1: none
  char session[ATTACH_DIRECTORY_BYTES]; // folder of the session that it is in, or was asked to join; "": none
};

// Looks for libxsp.so in the process, and whether it may join: it is the caller's and sees the same files. One that was
// recorded before is in that session still, which then is to be adopted instead of asking.
// STATUS_INPUT with the reason and what would make it possible. Close it in any case.
enum status attach_open(pid_t process, struct attached *ret_attached, struct error *err) MUST_CHECK;
// The process's command, NULL-terminated, in `arena`; its name where it has no command line. NULL: no such process.
char **attach_command(pid_t process, struct arena *arena);
// Asks it to join the session in this folder with its next span, unless it is in it. From here on signals that mean the end
// stay blocked in xsp.
enum status attach_begin(struct attached *attached, const char *session, struct process *ret_process,
                         struct error *err) MUST_CHECK;
// What came of it. STATUS_SYSTEM: it tried and could not, or joined another session meanwhile.
enum status attach_check(const struct attached *attached, const char *session, bool *ret_has_joined,
                         struct error *err) MUST_CHECK;
// Until the process has ended, a signal asked xsp to end, or `timeout_ns` are over: has_ended and was_interrupted say which.
void attach_wait(const struct attached *attached, struct process *process, int64_t timeout_ns);
// Takes the question back where it was not answered. Whether the process is in the session, also by a thread that was about
// to answer.
bool attach_withdraw(const struct attached *attached);
void attach_close(struct attached *attached);

#endif
