// SPDX-License-Identifier: Apache-2.0
// What `xsp run` prints when the program has ended.
#ifndef XSP_PROGRAMS_XSP_RUN_PRINT_H
#define XSP_PROGRAMS_XSP_RUN_PRINT_H

#include "experiment/experiment.h"

// The tables, on stderr: what ran, L0 where there are level sets, the layers and kernels that took most.
enum status run_print_summary(const struct run_experiment_options *options, const struct run_experiment_result *result,
                              struct error *err) MUST_CHECK;

#endif
