// SPDX-License-Identifier: Apache-2.0
// What comes through a pipe, for a program that is run several times: the first execution reads it as it comes, later ones
// read a copy of what was taken out of the pipe meanwhile.
#ifndef XSP_PROGRAMS_RUN_INPUT_H
#define XSP_PROGRAMS_RUN_INPUT_H

#include <stdbool.h>
#include <sys/types.h>

struct run_input {
  int copy;     // a file without a name; -1: there is none
  int original; // xsp's own stdin, while the pump stands in between; else -1
  pid_t pump;   // 0: none
};
// Puts a process between stdin, which is a pipe, and descriptor 0. Where that cannot be done, all stays as it was.
void run_input_begin(struct run_input *ret_input);
// After the first execution: descriptor 0 is the pipe again.
void run_input_end(struct run_input *input);
// A descriptor at the beginning of the copy; -1: there is none, or it is not whole.
int run_input_open(const struct run_input *input);
void run_input_done(struct run_input *input);

#endif
