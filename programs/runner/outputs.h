// SPDX-License-Identifier: Apache-2.0
// Tensors of the last inference for xsp: inputs, outputs, and those between layers. One thread.
#ifndef XSP_PROGRAMS_RUNNER_OUTPUTS_H
#define XSP_PROGRAMS_RUNNER_OUTPUTS_H

#include "programs/runner/arguments.h"
#include "programs/runner/inputs.h"

// The output of this name, or the tensor between layers; "": the first output. STATUS_INPUT: there is none.
enum status inference_output_find(const struct predictor_model *model, const char *name, size_t *ret_number,
                                  struct error *err) MUST_CHECK;
// Answers `read` (trace/format/protocol.h). What the framework has no values for is an answer, not an error.
enum status results_send_tensor(const struct predictor *predictor, struct predictor_model *model,
                                const struct inputs *inputs, const char *kind, const char *name,
                                const struct runner_arguments *arguments, struct error *err) MUST_CHECK;
// A line for each tensor between layers.
void inference_layers_describe(const struct predictor_model *model, int control_fd);

#endif
