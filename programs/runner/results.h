// SPDX-License-Identifier: Apache-2.0
// What a model found in pictures, read from its outputs and sent to xsp: what `infer` does after `predict`. Each step is a span at
// application level. One thread.
#ifndef XSP_PROGRAMS_RUNNER_RESULTS_H
#define XSP_PROGRAMS_RUNNER_RESULTS_H

#include "programs/runner/pictures.h"

// Of the last inference, which was made of the pictures. Where an output of the manifest is of boxes, a mask or a text, it is read; else
// the output `name` ("": the only one) has scores of classes. `code` changes that output first. Lines as trace/format/protocol.h has them.
enum status results_send(const struct predictor *predictor, struct predictor_model *model,
                         const struct runner_arguments *arguments, const struct pictures *pictures, struct code *code,
                         const char *name, struct error *err) MUST_CHECK;

// scores.c: adds the best classes of each item to `lines`, as control_add does.
enum status results_send_scores(const struct predictor *predictor, struct predictor_model *model, const char *name,
                                const struct pictures *pictures, struct code *code, int fd, struct buf *lines,
                                struct error *err) MUST_CHECK;

#endif
