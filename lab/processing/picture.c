// SPDX-License-Identifier: Apache-2.0
// The steps of a picture, and their parameters as text. Called by manifests/ and the runner.
#include "processing/picture.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

// Here, so that xsp, which only reads manifests, links no decoder.
const char *const image_color_names[] = {"RGB", "BGR", "GRAY", NULL};
const char *const image_filter_names[] = {"nearest", "box", "bilinear", "hamming", "bicubic", "lanczos", NULL};

unsigned picture_channels(const struct picture *picture)
{
  return picture->color == IMAGE_GRAY ? 1 : 3;
}

void picture_format(const struct picture *picture, struct buf *out)
{
  const float *mean = picture->tensor.mean, *scale = picture->tensor.scale;
  buf_format(out, "%d %d %u %u %u %u %u %d %u %d", (int)picture->color, (int)picture->filter, picture->width,
             picture->height, picture->resize_width, picture->resize_height, picture->shorter_side,
             picture->is_letterbox, picture->pad, picture->tensor.channels_last);
  for (int i = 0; i < IMAGE_CHANNELS_MAXIMUM; i++)
    buf_format(out, " %.9g %.9g", (double)mean[i], (double)scale[i]);
}

bool picture_parse(const char *text, struct picture *ret_picture)
{
  struct picture picture = {0};
  int color = -1, filter = -1, is_letterbox = -1, is_last = -1;
  unsigned pad = 0;
  float *mean = picture.tensor.mean, *scale = picture.tensor.scale;
  if (sscanf(text, "%d %d %u %u %u %u %u %d %u %d %f %f %f %f %f %f", &color, &filter, &picture.width, &picture.height,
             &picture.resize_width, &picture.resize_height, &picture.shorter_side, &is_letterbox, &pad, &is_last,
             &mean[0], &scale[0], &mean[1], &scale[1], &mean[2], &scale[2]) != 16)
    return false;
  for (int i = 0; i < IMAGE_CHANNELS_MAXIMUM; i++)
    if (!isfinite(mean[i]) || !isfinite(scale[i]) || scale[i] == 0)
      return false;
  if (color < IMAGE_RGB || color > IMAGE_GRAY || filter < IMAGE_NEAREST || filter > IMAGE_LANCZOS || is_last < 0 ||
      is_last > 1 || is_letterbox < 0 || is_letterbox > 1 || pad > UINT8_MAX ||
      !image_size_is_possible(picture.width, picture.height) || picture.shorter_side > IMAGE_SIDE_MAXIMUM ||
      (picture.resize_width != 0 && !image_size_is_possible(picture.resize_width, picture.resize_height)))
    return false;
  picture.color = (enum image_color)color;
  picture.filter = (enum image_filter)filter;
  picture.is_letterbox = is_letterbox == 1;
  picture.pad = (uint8_t)pad;
  picture.tensor.channels_last = is_last == 1;
  *ret_picture = picture;
  return true;
}

enum status picture_resize(const struct picture *picture, struct image *image, const char *name, struct error *err)
{
  uint64_t width = picture->resize_width, height = picture->resize_height;
  if (picture->is_letterbox) {
    unsigned fitted_width, fitted_height;
    image_size_within(image, picture->width, picture->height, &fitted_width, &fitted_height);
    width = fitted_width;
    height = fitted_height;
  }
  if (width == 0 && picture->shorter_side == 0)
    return STATUS_OK;
  if (width == 0)
    image_size_of_shorter_side(image, picture->shorter_side, &width, &height);
  if (!image_size_is_possible(width, height))
    return error_set(err, STATUS_INPUT, "cannot resize the picture", name, "a resize to both sides, [height, width]",
                     "%u x %u pixels would become %" PRIu64 " x %" PRIu64, image->width, image->height, width, height);
  image_resize(image, (unsigned)width, (unsigned)height, picture->filter);
  return STATUS_OK;
}

void picture_crop(const struct picture *picture, struct image *image)
{
  if (image->width != picture->width || image->height != picture->height)
    image_crop_center(image, picture->width, picture->height, picture->pad);
}

struct picture_place picture_place(const struct picture *picture, unsigned width, unsigned height,
                                   const struct image *resized)
{
  return (struct picture_place){.width = width,
                                .height = height,
                                .resized_width = resized->width,
                                .resized_height = resized->height,
                                .left = image_crop_start(resized->width, picture->width),
                                .top = image_crop_start(resized->height, picture->height)};
}
