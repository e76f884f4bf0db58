// SPDX-License-Identifier: Apache-2.0
// Pictures as a model's input: what `infer` does before `predict`. Each step is a span at application level. One thread.
#ifndef XSP_PROGRAMS_RUNNER_PICTURES_H
#define XSP_PROGRAMS_RUNNER_PICTURES_H

#include "base/vector.h"
#include "programs/runner/code.h"
#include "programs/runner/inputs.h"

#define PICTURES_MOST 4096

struct picture_item {         // texts are owned
  char *label;                // a picture with the class of each pixel; NULL: none
  char *name;                 // of a part of the file; NULL: it is all of it
  uint64_t offset, size;      // of the part
  uint32_t crc32;             // the same
  struct picture_place place; // by inference_pictures_fill
};
struct pictures {                    // of the coming inference; starts as {0}
  VECTOR(char *) paths;              // owned
  VECTOR(const char *) names;        // as many, for messages and a manifest's code: that of the part, else the path
  VECTOR(struct picture_item) items; // as many
  char *open_path;                   // of the last file with parts, which stays open; NULL: none
  int open_file;
  size_t unreadable; // of inference_pictures_fill: the one that cannot be read or decoded; SIZE_MAX: none
};

// `fields`: what the request `picture` has after that word. STATUS_USE: there are PICTURES_MOST already, or a part has no place.
enum status inference_pictures_add(struct pictures *pictures, char *const *fields, size_t count,
                                   struct error *err) MUST_CHECK;
// Fills the inputs, by `code` last, which are prepared for as many items as there are pictures. STATUS_INPUT: a file that is no
// picture, or the manifest has no input, or several, with `type: image`.
enum status inference_pictures_fill(struct pictures *pictures, const struct runner_arguments *arguments,
                                    struct code *code, struct inputs *inputs, struct error *err) MUST_CHECK;
// The input that pictures are for, prepared for `count` of them. Errors as above.
enum status inference_pictures_input(const struct runner_arguments *arguments, const struct inputs *inputs,
                                     size_t count, struct tensor **ret_tensor, struct error *err) MUST_CHECK;
void inference_pictures_clear(struct pictures *pictures); // before the next inference
void inference_pictures_done(struct pictures *pictures);

// The whole file; at most 256 MiB. `bytes` starts as {0}, and is the caller's also after an error.
enum status inference_picture_read_file(const char *path, struct buf *bytes, struct error *err) MUST_CHECK;

#endif
