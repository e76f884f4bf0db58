// SPDX-License-Identifier: Apache-2.0
// The latencies of several variants, compared.
#ifndef XSP_EXPERIMENT_COMPARE_H
#define XSP_EXPERIMENT_COMPARE_H

#include "analyze/analyze.h"
#include "experiment/model_experiment.h"

// Makes a table of the A1 among `tables` and appends it; `*count` grows by one where there is something to
// compare. The array has room for it.
enum status experiment_compare(const struct profile_options *options, const struct profile_result *result,
                               struct table *tables, size_t *count, struct arena *arena, struct error *err) MUST_CHECK;

#endif
