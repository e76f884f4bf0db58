// SPDX-License-Identifier: Apache-2.0
// stdin, stdout and stderr of repeated programs. The first execution has the real ones, so that a user and a pipe see
// one program. Later ones get the same input if it can be read twice, and their output is dropped.
#ifndef XSP_LAUNCH_STREAMS_H
#define XSP_LAUNCH_STREAMS_H

#include "base/buf.h"
#include "base/child.h"
#include "base/error.h"

#include <stdbool.h>
#include <sys/types.h>

struct streams {
  int saved[3];       // xsp's own descriptors (main makes sure that there are three)
  int errors;         // what a repetition writes to stderr; a file without a name
  off_t input_at;     // stdin is a file, read from here on
  bool input_is_file; // later executions read it again
  bool input_is_lost; // no file, and no copy of it: later executions find it empty
  bool is_redirected;
  // stdin is a pipe:
  int copy;          // of what was taken out of it; a file without a name; -1: there is none
  int pipe;          // the pipe itself, while the pump runs; else -1
  struct child pump; // its process is 0: none
};
#define STREAMS_NONE ((struct streams){.saved = {-1, -1, -1}, .errors = -1, .copy = -1, .pipe = -1})
// Before and after the first execution, where others may follow.
void streams_begin(struct streams *streams);
void streams_first_ended(struct streams *streams);
// Around each later one. Between the two xsp must write nothing to stdout or stderr.
enum status streams_redirect(struct streams *streams, struct error *err) MUST_CHECK;
void streams_restore(struct streams *streams);
// The last lines that the execution wrote to stderr.
void streams_last_lines(const struct streams *streams, struct buf *out);
void streams_done(struct streams *streams);

#endif
