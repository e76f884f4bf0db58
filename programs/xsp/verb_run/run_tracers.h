// SPDX-License-Identifier: Apache-2.0
// `xsp run`: which tracers go into the program, and how often the sampler looks at it.
#ifndef XSP_PROGRAMS_XSP_RUN_TRACERS_H
#define XSP_PROGRAMS_XSP_RUN_TRACERS_H

#include "base/arena.h"
#include "experiment/experiment.h"
#include "programs/xsp/verb.h"

// Fills run.tracers, in `arena`, by --tracer.
enum status run_tracers(const struct invocation *invocation, struct arena *arena,
                        struct run_experiment_options *experiment, struct error *err) MUST_CHECK;
// Fills run.sample_rate and run.sample_mode, once tracers and level sets are filled.
enum status run_sampling(const struct invocation *invocation, struct run_experiment_options *experiment,
                         struct error *err) MUST_CHECK;

#endif
