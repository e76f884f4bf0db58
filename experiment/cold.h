// SPDX-License-Identifier: Apache-2.0
// First inferences of fresh processes (`xsp profile --cold N`): start, load, one inference, end; N times per variant
// and batch size. They are runs of their own and warm-ups: no statistic pools them with later inferences.
#ifndef XSP_EXPERIMENT_COLD_H
#define XSP_EXPERIMENT_COLD_H

#include "experiment/model_experiment.h"
#include "experiment/progress.h"

// Adds runs from `first_run_id` on. An interrupted measurement keeps what was recorded.
enum status cold_measure(const struct profile_options *options, struct store *store, int64_t first_run_id,
                         struct progress *progress, struct error *err) MUST_CHECK;

#endif
