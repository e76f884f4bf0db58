// SPDX-License-Identifier: Apache-2.0
// Rows of a profile's file other than spans: experiments, their systems and models, notes.
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
// What a framework reported about itself; run 0: the file, which has one variant only.
enum status rows_note_run(struct store *store, int64_t run_id, const struct profile_found *found,
                          struct error *err) MUST_CHECK;

#endif
