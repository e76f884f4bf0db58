// SPDX-License-Identifier: Apache-2.0
// Names for the experiments of a file.
#ifndef XSP_ANALYZE_EXPERIMENT_NAMES_H
#define XSP_ANALYZE_EXPERIMENT_NAMES_H

#include "analyze/view.h"

// A name each, unique within the file: with the framework where a model was measured in several, with the experiment's id
// where that does not help. In `arena`.
const char **experiment_names(const struct store_experiment *experiments, size_t count, struct arena *arena);

#endif
