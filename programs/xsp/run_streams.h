// SPDX-License-Identifier: Apache-2.0
// stdin, stdout and stderr of a program that is run several times: the first execution has the real ones, so that a user
// and a pipe see one program; the others have the same input where it can be had twice, and their output is dropped.
#ifndef XSP_PROGRAMS_RUN_STREAMS_H
#define XSP_PROGRAMS_RUN_STREAMS_H

#include "base/buf.h"
#include "base/error.h"
#include "programs/xsp/run_input.h"

#include <stdbool.h>
#include <sys/types.h>

struct run_streams {
  int saved[3];       // xsp's own descriptors (main makes sure that there are three)
  int talk;           // what a repetition writes to stderr; a file without a name
  off_t input_at;     // stdin is a file, read from here on
  bool input_is_file; // later executions read it again
  bool input_is_lost; // no file, and no copy of it: later executions find it empty
  bool is_redirected;
  struct run_input input; // stdin is a pipe: a copy of it
};
// Before and after the first execution, where others may follow.
void run_streams_begin(struct run_streams *streams);
void run_streams_first_ended(struct run_streams *streams);
// Around each later one. Between the two xsp must write nothing to stdout or stderr.
enum status run_streams_redirect(struct run_streams *streams, struct error *err) MUST_CHECK;
void run_streams_restore(struct run_streams *streams);
// The last lines that the execution wrote to stderr.
void run_streams_said(const struct run_streams *streams, struct buf *out);
void run_streams_done(struct run_streams *streams);

#endif
