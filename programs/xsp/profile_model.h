// SPDX-License-Identifier: Apache-2.0
// What `xsp profile` is given: a model's file or folder, or a manifest.
#ifndef XSP_PROGRAMS_PROFILE_MODEL_H
#define XSP_PROGRAMS_PROFILE_MODEL_H

#include "experiment/experiment.h"
#include "manifests/manifests.h"
#include "programs/xsp/verb.h"

// Fills what follows from the model argument: runner.model_path, inputs, dims and expectations, name, variants, workload, and
// batches where the command line has none. Finds or makes a manifest's model. Everything lives in `arena`.
enum status profile_model(const struct invocation *invocation, struct profile_options *profile, struct arena *arena,
                          struct error *err) MUST_CHECK;

// `frameworks`: names separated by commas, NULL: by the model's name. A framework has as many variants as it has --library
// options, at least one. `variants` has room for PROFILE_VARIANTS_MAXIMUM.
enum status variants_choose(const struct invocation *invocation, const char *frameworks, const char *model_path,
                            struct arena *arena, struct profile_variant *variants, size_t *ret_count,
                            struct error *err) MUST_CHECK;

#endif
