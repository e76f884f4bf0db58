// SPDX-License-Identifier: Apache-2.0
// `xsp run --json FILE`: what the summary says, for scripts.
#ifndef XSP_PROGRAMS_XSP_RUN_JSON_H
#define XSP_PROGRAMS_XSP_RUN_JSON_H

#include "experiment/experiment.h"
#include "programs/xsp/verb.h"

// Before the program runs: STATUS_USE where the file is there and may not be replaced.
enum status run_json_check(const struct invocation *invocation, struct error *err) MUST_CHECK;
// Nothing without --json.
enum status run_json_write(const struct invocation *invocation, const struct run_experiment_options *options,
                           const struct run_experiment_result *result, struct error *err) MUST_CHECK;

#endif
