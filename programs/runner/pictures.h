// SPDX-License-Identifier: Apache-2.0
// Pictures as a model's input, and the classes that its scores name: what `infer` adds to `predict`. Each step is a span at
// application level. One thread.
#ifndef XSP_PROGRAMS_RUNNER_PICTURES_H
#define XSP_PROGRAMS_RUNNER_PICTURES_H

#include "base/vector.h"
#include "programs/runner/code.h"
#include "programs/runner/inputs.h"

#define PICTURES_MOST 4096

struct pictures {       // of the coming inference
  VECTOR(char *) paths; // owned
};

// STATUS_USE: there are PICTURES_MOST already.
enum status pictures_add(struct pictures *pictures, const char *path, struct error *err) MUST_CHECK;
// Fills the inputs, by `code` last, which are prepared for as many items as there are pictures. STATUS_INPUT: a file that is no picture, or the manifest
// has no input, or several, with `type: image`.
enum status pictures_fill(const struct pictures *pictures, const struct runner_arguments *arguments, struct code *code,
                          struct inputs *inputs, struct error *err) MUST_CHECK;
// The input that pictures are for, prepared for `count` of them. Errors as above.
enum status pictures_input(const struct runner_arguments *arguments, const struct inputs *inputs, size_t count,
                           struct tensor **ret_tensor, struct error *err) MUST_CHECK;
void pictures_clear(struct pictures *pictures);

// Reads the output `name` of the last inference ("": the only one), lets `code` change it, and sends its best classes: a line "score ITEM PLACE VALUE" for each.
enum status scores_send(const struct predictor *predictor, struct predictor_model *model, const char *name,
                        const struct pictures *pictures, struct code *code, int fd, struct error *err) MUST_CHECK;

#endif
