// SPDX-License-Identifier: Apache-2.0
// How pictures become an input of a model: the steps in their order, with their parameters. One text, from xsp to the runner.
#ifndef XSP_PROCESSING_PICTURE_H
#define XSP_PROCESSING_PICTURE_H

#include "base/buf.h"
#include "processing/image.h"

struct picture {
  enum image_color color;
  enum image_filter filter;
  unsigned width, height;               // of the input: what remains in the middle after the resizing
  unsigned resize_width, resize_height; // 0: as shorter_side
  unsigned shorter_side;                // keeps the aspect. 0 and no resize_width: the picture is not resized
  bool is_letterbox; // instead: the whole picture, with its aspect, as large as the input can have it
  uint8_t pad;       // around a picture that is smaller than the input
  struct image_tensor tensor;
};

unsigned picture_channels(const struct picture *picture); // 3, or 1 of gray
void picture_format(const struct picture *picture, struct buf *out);
// False: malformed, or sizes out of range.
bool picture_parse(const char *text, struct picture *ret_picture);

// The steps between decoding and the tensor, one at a time so that each can be a span. STATUS_INPUT: the picture would become too
// large; `name` is for errors.
enum status picture_resize(const struct picture *picture, struct image *image, const char *name,
                           struct error *err) MUST_CHECK;
void picture_crop(const struct picture *picture, struct image *image); // to width x height

// Where a picture lies on the input, for what is found there.
struct picture_place {
  unsigned width, height;                 // its own
  unsigned resized_width, resized_height; // after the resizing
  int64_t left, top;                      // of the resized picture, where the input begins; negative where it is padded
};
// After picture_resize has succeeded: `width` and `height` were the picture's before, `resized` is what it made.
struct picture_place picture_place(const struct picture *picture, unsigned width, unsigned height,
                                   const struct image *resized);

#endif
