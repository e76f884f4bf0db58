// SPDX-License-Identifier: Apache-2.0
// The experiments of all files of a question, with a name each.
#ifndef XSP_ANALYZE_EXPERIMENTS_H
#define XSP_ANALYZE_EXPERIMENTS_H

#include "analyze/view.h"

// In the order of the files; lives in `arena`. STATUS_NO: there is none. After STATUS_INPUT, *ret_broken (may be NULL) is the
// store that could not be read. Names are unique within a file: with the framework if a model was measured in several, with the
// experiment's id if that does not help. Runs of scenarios (xsp evaluate --scenario) are left out.
enum status experiments_list(struct store *const *stores, size_t store_count, struct arena *arena,
                             struct experiment_runs **ret_experiments, size_t *ret_count, struct store **ret_broken,
                             struct error *err) MUST_CHECK;

#endif
