// SPDX-License-Identifier: Apache-2.0
// Inputs made from the model's description: shapes from the batch size, --dim and --input, values from the seed or
// from --input files. The same arguments give the same bytes on every machine. Rules: docs/internals/predictors.md.
#ifndef XSP_PROGRAMS_RUNNER_INPUTS_H
#define XSP_PROGRAMS_RUNNER_INPUTS_H

#include "base/error.h"
#include "frameworks/frameworks.h"
#include "programs/runner/arguments.h"
#include "programs/runner/fill.h"

struct inputs {
  struct tensor *tensors; // as many as the model has inputs; owned, with their data
  size_t count;
  int64_t batch; // 0: nothing is prepared
};

// Replaces what `inputs` (starts as {0}) held. Errors: STATUS_USE (an option that fits no input), STATUS_INPUT (files,
// free dimensions without a size), STATUS_MEMORY. On error nothing is prepared.
enum status inputs_prepare(struct inputs *inputs, const struct predictor_model *model,
                           const struct runner_arguments *arguments, int64_t batch, struct error *err) MUST_CHECK;
void inputs_done(struct inputs *inputs);

#endif
