// SPDX-License-Identifier: Apache-2.0
// --remote-control of `xsp run`: the user of an xsp serve switches levels of the program while it runs.
#ifndef XSP_PROGRAMS_XSP_RUN_CONTROL_H
#define XSP_PROGRAMS_XSP_RUN_CONTROL_H

#include "base/arena.h"
#include "experiment/experiment.h"
#include "programs/xsp/verb.h"
#include "publish/control.h"

#define OPTION_REMOTE_CONTROL                                                                                          \
  {                                                                                                                    \
    "remote-control", 0, "LEVELS", NULL, 0,                                                                            \
        "With --publish to an xsp serve: who may use that server may switch levels on and off while the program "      \
        "runs, "                                                                                                       \
        "out of those of --levels. At first LEVELS are on, as in M/L; none: nothing is recorded yet."                  \
  }

// Checks the option, after all others of *experiment, and makes it ask the server. *ret_control is NULL where the option is not
// given; the caller ends with publish_control_close, before publish_close, also after an error.
enum status run_control(const struct invocation *invocation, const struct publisher *publisher,
                        struct run_experiment_options *experiment, struct arena *arena, struct control **ret_control,
                        struct error *err) MUST_CHECK;

#endif
