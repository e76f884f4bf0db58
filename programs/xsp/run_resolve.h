// SPDX-License-Identifier: Apache-2.0
// Parents that parallel launches leave ambiguous, found in an execution whose launches went one after the other.
#ifndef XSP_PROGRAMS_RUN_RESOLVE_H
#define XSP_PROGRAMS_RUN_RESOLVE_H

#include "programs/xsp/run_experiment.h"

struct run_resolution {
  size_t before, after; // spans without a parent because two candidates cross
  bool was_needed;      // before > 0
  bool was_repeated;    // the serialised execution ran and ended as the first did
  char why_not[256];    // of what stayed ambiguous; "" where nothing did
};
// Reruns the program serialised, at the levels of run `run_id` of `store` (correlated, being written), into a file of its
// own beside `scratch_path` that is gone when this returns, and names in `run_id` the parents that were found there.
// The caller has redirected stdout and stdin, and correlates again where something was found.
enum status run_resolve(struct store *store, int64_t run_id, const struct run_options *options,
                        const char *scratch_path, struct run_resolution *ret_resolution, struct error *err) MUST_CHECK;

#endif
