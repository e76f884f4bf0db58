// SPDX-License-Identifier: Apache-2.0
// What `xsp run` could not see in a program, and how to see it. Called by run_print.c.
#ifndef XSP_PROGRAMS_XSP_RUN_UNSEEN_H
#define XSP_PROGRAMS_XSP_RUN_UNSEEN_H

#include "base/buf.h"
#include "experiment/experiment.h"

// Appends a line for each part of the program of which nothing was recorded, and the ways to record it. `is_unrecorded`: much of
// its time is in no span.
void run_unseen(const struct run_experiment_options *options, const struct run_experiment_result *result,
                const struct run_facts *facts, bool is_unrecorded, struct buf *out);

#endif
