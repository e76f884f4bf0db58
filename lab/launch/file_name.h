// SPDX-License-Identifier: Apache-2.0
// Names of output files of `xsp run`: patterns that differ between the ranks of a parallel program, and a default.
#ifndef XSP_LAUNCH_FILE_NAME_H
#define XSP_LAUNCH_FILE_NAME_H

#include "base/arena.h"
#include "base/error.h"

// %h host, %p process number of xsp, %q{NAME} the variable NAME of the environment, %% a percent sign. STATUS_USE: another
// character after '%', a variable that is not set, an empty name. In `arena`.
enum status file_name_expand(const char *pattern, struct arena *arena, const char **ret_name,
                             struct error *err) MUST_CHECK;
// "train.xsp" for `python3 -u train.py`, "prog.xsp" for `./prog`: in the current folder.
const char *file_name_default(char *const *command, struct arena *arena);
// What the program is called in traces, "python3 train.py": the command without its folder, and the script.
void file_name_program(char *const *command, char *name, size_t size);

#endif
