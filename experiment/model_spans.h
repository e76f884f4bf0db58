// SPDX-License-Identifier: Apache-2.0
// What needs all spans of a run of a model.
#ifndef XSP_EXPERIMENT_MODEL_SPANS_H
#define XSP_EXPERIMENT_MODEL_SPANS_H

#include "frameworks/frameworks.h"
#include "store/store.h"

// xsp's own share of the run's time, as measured by its runner inside the inferences: run->own_pct, where it is known.
enum status model_spans_own_share(struct store *store, struct store_run *run, struct error *err) MUST_CHECK;
// Gives the layers of all runs of the experiment the tags kernel_shape, group, size and mode, where the model's file has an
// operator of their name. A file that cannot be read has none, nor has a predictor without `windows`.
enum status model_spans_tag_windows(struct store *store, int64_t experiment_id, const struct predictor *predictor,
                                    const char *model_path, struct error *err) MUST_CHECK;

#endif
