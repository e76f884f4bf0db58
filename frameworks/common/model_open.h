// SPDX-License-Identifier: Apache-2.0
// What opening a model is in every framework: the frame around a predictor's own part, and the errors they share.
#ifndef XSP_FRAMEWORKS_COMMON_MODEL_OPEN_H
#define XSP_FRAMEWORKS_COMMON_MODEL_OPEN_H

#include "frameworks/common/predictor.h"

// Fills model->state, which is zeroed memory of the size that was asked for. Where it fails, close is called.
typedef enum status model_open_fn(const struct predictor_options *options, struct arena *arena,
                                  struct predictor_model *model, struct error *err);
enum status model_open(const struct predictor_options *options, struct arena *arena, struct predictor_model *ret_model,
                       size_t state_size, model_open_fn *open, void (*close)(struct predictor_model *model),
                       struct error *err) MUST_CHECK;

// Are layers or what lies below them recorded?
bool model_has_layers(const struct predictor_options *options);
// That the path can be read and is a file, or else a folder where that may be. Advice: what to give instead.
enum status model_check_file(const char *path, bool may_be_folder, const char *advice, struct error *err) MUST_CHECK;
enum status model_no_memory(const struct predictor_options *options, struct error *err) MUST_CHECK;

#endif
