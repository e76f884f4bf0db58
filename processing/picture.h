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

#endif
