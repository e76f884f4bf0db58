// SPDX-License-Identifier: Apache-2.0
// What a profile's file says besides its spans: experiments, their systems and models, notes.
#ifndef XSP_EXPERIMENT_MODEL_ROWS_H
#define XSP_EXPERIMENT_MODEL_ROWS_H

#include "experiment/model_experiment.h"

// The experiment's id is the variant's number, from 1.
static inline int64_t experiment_id_of(size_t variant)
{
  return (int64_t)variant + 1;
}

enum status rows_add_experiment(struct store *store, const struct profile_options *options, size_t variant,
                                const struct profile_found *found, struct error *err) MUST_CHECK;
// What is said of the whole: noise, an early end. With one variant also what it said of itself; with several that stands at
// the runs of each (rows_note_run).
enum status rows_note_file(struct store *store, const struct profile_options *options,
                           const struct profile_result *result, struct error *err) MUST_CHECK;
enum status rows_note_run(struct store *store, int64_t run_id, const struct profile_found *found,
                          struct error *err) MUST_CHECK;

#endif
