// SPDX-License-Identifier: Apache-2.0
// stdin from a pipe, for repeated programs: the first execution reads it as it comes, later ones read a copy of what
// was taken out of the pipe meanwhile.
#ifndef XSP_LAUNCH_STDIN_COPY_H
#define XSP_LAUNCH_STDIN_COPY_H

#include <stdbool.h>
#include <sys/types.h>

struct stdin_copy {
  int copy;     // a file without a name; -1: there is none
  int original; // xsp's own stdin, while the pump runs; else -1
  pid_t pump;   // 0: none
};
// Puts a process between stdin, which is a pipe, and descriptor 0. Where that cannot be done, all stays as it was.
void stdin_copy_begin(struct stdin_copy *ret_input);
// After the first execution: descriptor 0 is the pipe again.
void stdin_copy_end(struct stdin_copy *input);
// A descriptor at the beginning of the copy; -1: there is none, or it is not whole.
int stdin_copy_open(const struct stdin_copy *input);
void stdin_copy_done(struct stdin_copy *input);

#endif
