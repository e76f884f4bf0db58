// SPDX-License-Identifier: Apache-2.0
// First inferences of fresh processes (`xsp profile --cold N`): start, load, one inference, end; N times for each variant and
// batch size. They stand in runs of their own and are warm-ups, so that no statistic pools them with what follows a first.
#ifndef XSP_EXPERIMENT_COLD_H
#define XSP_EXPERIMENT_COLD_H

#include "experiment/model_experiment.h"
#include "experiment/progress.h"

// Adds runs from `first_run_id` on. An interrupted one keeps what it has.
enum status cold_measure(const struct profile_options *options, struct store *store, int64_t first_run_id,
                         struct progress *progress, struct error *err) MUST_CHECK;

#endif
