// SPDX-License-Identifier: Apache-2.0
// Inputs made from the model's description: shapes from the batch size, --dim and --input, values from the seed or
// from --input files. The same arguments give the same bytes on every machine. Rules: docs/internals/predictors.md.
#ifndef XSP_PROGRAMS_RUNNER_INPUTS_H
#define XSP_PROGRAMS_RUNNER_INPUTS_H

#include "base/error.h"
#include "frameworks/frameworks.h"
#include "manifests/expect.h"
#include "programs/runner/arguments.h"

// Compares the model with what its manifest expects, and fills in what the framework leaves open, and names that the manifest leaves
// out. Errors: STATUS_INPUT, with
// the manifest's line.
enum status expect_apply(struct predictor_model *model, struct expectation *expectations, size_t count,
                         struct error *err) MUST_CHECK;

// Values of an input that was not given: by a rule, or from the input's name and type. The same on every machine.
void fill_tensor(struct tensor *tensor, const struct fill_rule *rule, uint64_t seed);
// Why the rule cannot fill this type; NULL: it can.
const char *fill_rule_problem(const struct fill_rule *rule, enum tensor_type type);

struct inputs {
  struct tensor *tensors; // as many as the model has inputs; owned, with their data
  size_t count;
  int64_t batch; // 0: nothing is prepared
};

// Replaces what `inputs` (starts as {0}) held. Errors: STATUS_USE (an option that fits no input), STATUS_INPUT (files,
// free dimensions without a size), STATUS_MEMORY. On error nothing is prepared.
enum status inference_inputs_prepare(struct inputs *inputs, const struct predictor_model *model,
                                     const struct runner_arguments *arguments, int64_t batch,
                                     struct error *err) MUST_CHECK;
void inference_inputs_done(struct inputs *inputs);

#endif
