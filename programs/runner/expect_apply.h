// SPDX-License-Identifier: Apache-2.0
// What a manifest expects of a model, against the opened model.
#ifndef XSP_PROGRAMS_RUNNER_EXPECT_APPLY_H
#define XSP_PROGRAMS_RUNNER_EXPECT_APPLY_H

#include "manifests/expect.h"

// Compares, and fills in what the framework leaves open. Errors: STATUS_INPUT, with the manifest's line.
enum status expectations_apply(struct predictor_model *model, const struct expectation *expectations, size_t count,
                               struct error *err) MUST_CHECK;

#endif
