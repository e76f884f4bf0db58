// SPDX-License-Identifier: Apache-2.0
// What people call the experiments of a file. Private to analyze.
#ifndef XSP_ANALYZE_EXPERIMENT_NAMES_H
#define XSP_ANALYZE_EXPERIMENT_NAMES_H

#include "analyze/view.h"

// A name each, told apart within the file: by the framework where a model was measured in several, by the experiment's id
// where that does not help. In `arena`; NULL: out of memory.
const char **experiment_names(const struct store_experiment *experiments, size_t count, struct arena *arena);

#endif
