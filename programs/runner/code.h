// SPDX-License-Identifier: Apache-2.0
// A manifest's own Python code around a prediction, in a process of its own that ends with the runner. One thread.
#ifndef XSP_PROGRAMS_RUNNER_CODE_H
#define XSP_PROGRAMS_RUNNER_CODE_H

#include "base/child.h"
#include "programs/runner/arguments.h"

struct code {
  bool runs_before, runs_after; // a prediction
  struct child child;           // its process is 0: none
  int socket;                   // requests and replies, a line each
  int memory;                   // a memfd, through which values go both ways
  float *scores;                // of the last code_after; owned
  unsigned rank;                // the same
};

// Starts the interpreter where there is code, else does nothing. STATUS_SYSTEM: no Python, or it lacks NumPy; STATUS_INPUT: the code cannot
// be loaded.
enum status code_start(struct code *code, const struct runner_arguments *arguments, struct error *err) MUST_CHECK;
void code_stop(struct code *code);
// Replaces the tensor's values by those of `preprocess`; `files` are the pictures. STATUS_INPUT: the code failed, or made another shape.
enum status code_before(struct code *code, const char *const *files, size_t file_count, struct tensor *tensor,
                        struct error *err) MUST_CHECK;
// Replaces an output by what `postprocess` makes of it: float32 of `code->rank` dimensions, whatever its info has; valid until
// the next call.
enum status code_after(struct code *code, const char *const *files, size_t file_count, struct tensor *output,
                       struct error *err) MUST_CHECK;

#endif
