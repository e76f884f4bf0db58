// SPDX-License-Identifier: Apache-2.0
// Tags of layers that are in the model's file and in no profile of its framework.
#ifndef XSP_EXPERIMENT_WINDOWS_H
#define XSP_EXPERIMENT_WINDOWS_H

#include "frameworks/frameworks.h"
#include "store/store.h"

// Gives the layers of all runs of the experiment the tags kernel_shape, group, size and mode, where the model's file has an
// operator of their name. A file that cannot be read has none, nor has a predictor without `windows`.
enum status profile_windows(struct store *store, int64_t experiment_id, const struct predictor *predictor,
                            const char *model_path, struct error *err) MUST_CHECK;

#endif
