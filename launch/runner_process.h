// SPDX-License-Identifier: Apache-2.0
// The child's half of starting a runner. Used by runner.c only.
#ifndef XSP_LAUNCH_RUNNER_PROCESS_H
#define XSP_LAUNCH_RUNNER_PROCESS_H

#include "launch/runner.h"

#define RUNNER_ARGUMENTS_MAXIMUM 1024

// Fills `arguments`, ended by NULL, with texts in `arena`; returns their number.
size_t runner_arguments(const struct runner_options *options, const struct runner *runner, int control_fd,
                        struct arena *arena, char **arguments);
// In the forked child: becomes the runner. `output` takes its stdout and stderr. Does not return.
_Noreturn void runner_become(char **arguments, const char *session_directory, const char *tracers, int output,
                             int control);

#endif
