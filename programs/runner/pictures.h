// SPDX-License-Identifier: Apache-2.0
// Pictures as a model's input: what `infer` does before `predict`. Each step is a span at application level. One thread.
#ifndef XSP_PROGRAMS_RUNNER_PICTURES_H
#define XSP_PROGRAMS_RUNNER_PICTURES_H

#include "base/vector.h"
#include "programs/runner/code.h"
#include "programs/runner/inputs.h"

#define PICTURES_MOST 4096

struct picture_item {
  char *label;                // a picture with the class of each pixel; NULL: none. Owned
  struct picture_place place; // by pictures_fill
};
struct pictures {                    // of the coming inference
  VECTOR(char *) paths;              // owned
  VECTOR(struct picture_item) items; // as many
};

// STATUS_USE: there are PICTURES_MOST already. `label` may be NULL.
enum status pictures_add(struct pictures *pictures, const char *path, const char *label, struct error *err) MUST_CHECK;
// Fills the inputs, by `code` last, which are prepared for as many items as there are pictures. STATUS_INPUT: a file that is no picture, or the manifest
// has no input, or several, with `type: image`.
enum status pictures_fill(struct pictures *pictures, const struct runner_arguments *arguments, struct code *code,
                          struct inputs *inputs, struct error *err) MUST_CHECK;
// The input that pictures are for, prepared for `count` of them. Errors as above.
enum status pictures_input(const struct runner_arguments *arguments, const struct inputs *inputs, size_t count,
                           struct tensor **ret_tensor, struct error *err) MUST_CHECK;
void pictures_clear(struct pictures *pictures);

// The whole file; at most 256 MiB. `bytes` starts as {0}, and is the caller's also after an error.
enum status picture_read_file(const char *path, struct buf *bytes, struct error *err) MUST_CHECK;

#endif
