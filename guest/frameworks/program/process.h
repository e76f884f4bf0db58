// SPDX-License-Identifier: Apache-2.0
// A predictor program as a process: started with one end of a socket pair and a file for the inputs, asked a line, answers
// a line, and is gone when its owner is. In the runner only, one thread. Its answers are checked in
// messages.c; the time without an answer is bounded by the process that waits for the runner.
#ifndef XSP_FRAMEWORKS_PROGRAM_PROCESS_H
#define XSP_FRAMEWORKS_PROGRAM_PROCESS_H

#include "base/buf.h"
#include "base/child.h"
#include "base/error.h"

#include <stdint.h>
#include <sys/types.h>

struct program_command {
  const char *path;        // in errors: the program; where it is xsp's own, the model
  const char *interpreter; // of `script`; NULL: `path` is the program
  const char *script;
  // "NAME=value", ends with NULL, in place of the runner's own: the program is a guest of the capture session. NULL: it is
  // none.
  const char *const *guest_variables;
};

struct program {
  const char *path;   // borrowed
  struct child child; // its process is 0: none
  struct child guard; // ends the program's group where we cannot; the same
  int guarded;        // held open as long as we live; -1: none
  int socket;         // -1: none
  int inputs;         // file in memory, shared with the program; -1: none
  int outputs;        // the same, written by it
  off_t talk_start;   // where in stderr's file its words begin
  struct buf line;    // the answer at hand
};

// Without an interpreter, `path` is started: itself where it is executable, else by python3 where its name ends with .py.
// *ret_program is legal for program_end in any case. Errors: STATUS_INPUT (no such file, nothing that runs), STATUS_SYSTEM.
enum status program_start(const struct program_command *command, struct program *ret_program,
                          struct error *err) MUST_CHECK;
// Sends `request` (`message` is its name, for errors) and waits for the line that answers it, which program->line holds
// until the next call. Errors: STATUS_INPUT (the program ended, or its answer is too long).
enum status program_ask(struct program *program, const char *message, const struct buf *request,
                        struct error *err) MUST_CHECK;
// Asks it to end, waits a little, kills it and what it started in its group.
void program_end(struct program *program);

#endif
