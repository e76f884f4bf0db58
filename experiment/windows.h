// SPDX-License-Identifier: Apache-2.0
// Tags of layers that are in the model's file and in no profile of ONNX Runtime.
#ifndef XSP_EXPERIMENT_WINDOWS_H
#define XSP_EXPERIMENT_WINDOWS_H

#include "store/store.h"

// Gives the layers of all runs of the experiment the tags kernel_shape, group, size and mode, where the .onnx file has a node of their name.
// A file that cannot be read or understood gives none.
enum status profile_windows(struct store *store, int64_t experiment_id, const char *model_path,
                            struct error *err) MUST_CHECK;

#endif
