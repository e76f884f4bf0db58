// SPDX-License-Identifier: Apache-2.0
// Pictures in memory: decoded, resized, cut, and made a tensor. Same results as Pillow and NumPy: docs/evaluate.md states each
// step's tolerance. No function keeps state; any thread may call them.
#ifndef XSP_PROCESSING_IMAGE_H
#define XSP_PROCESSING_IMAGE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IMAGE_SIDE_MAXIMUM 65500u                // of JPEG
#define IMAGE_PIXELS_MAXIMUM ((uint64_t)1 << 26) // a larger picture is refused before it is decoded

static inline bool image_size_is_possible(uint64_t width, uint64_t height)
{
  return width > 0 && height > 0 && width <= IMAGE_SIDE_MAXIMUM && height <= IMAGE_SIDE_MAXIMUM &&
         width * height <= IMAGE_PIXELS_MAXIMUM;
}

enum image_color { IMAGE_RGB, IMAGE_BGR, IMAGE_GRAY };
enum image_filter { // Pillow's, with its support scaled by the reduction ("antialias"); nearest is not
  IMAGE_NEAREST,
  IMAGE_BOX,
  IMAGE_BILINEAR,
  IMAGE_HAMMING,
  IMAGE_BICUBIC,
  IMAGE_LANCZOS
};
extern const char *const image_color_names[];  // "RGB", …, NULL
extern const char *const image_filter_names[]; // "nearest", …, NULL

struct image {
  unsigned width, height, channels; // 3 or 1 channels
  uint8_t *pixels;                  // row by row, channels together; owned
};

// A JPEG or PNG file in memory. Alpha is left out; 16 bits become 8; `color` decides channels and their order. `name` is for errors.
// On an error *ret_image is empty. STATUS_INPUT: not such a file, damaged, cut off, or too large.
enum status image_decode(const void *bytes, size_t size, enum image_color color, const char *name,
                         struct image *ret_image, struct error *err) MUST_CHECK;
// A PNG whose pixels are numbers of classes: one channel of up to 8 bits, gray or with a palette; the values as they are
// stored. Errors as above.
enum status image_decode_classes(const void *bytes, size_t size, const char *name, struct image *ret_image,
                                 struct error *err) MUST_CHECK;
// To a possible size. Replaces the pixels.
void image_resize(struct image *image, unsigned width, unsigned height, enum image_filter filter);
// The size whose shorter side is `side`, with the same aspect: the longer one is rounded down, as torchvision does. It may exceed
// IMAGE_SIDE_MAXIMUM.
void image_size_of_shorter_side(const struct image *image, unsigned side, uint64_t *ret_width, uint64_t *ret_height);
// The size with the same aspect that fits into width x height and has one of its sides, as Pillow's ImageOps.contain has it.
void image_size_within(const struct image *image, unsigned width, unsigned height, unsigned *ret_width,
                       unsigned *ret_height);
// The middle; a part outside of the picture has the value `pad`. Halves are rounded to even, as torchvision does.
void image_crop_center(struct image *image, unsigned width, unsigned height, uint8_t pad);
// Where that begins along a side; negative where the picture is smaller.
int64_t image_crop_start(unsigned side, unsigned wanted);
void image_done(struct image *image); // empties it

// ---- as a tensor
#define IMAGE_CHANNELS_MAXIMUM 3
struct image_tensor {
  bool channels_last;                  // height, width, channel; else channel, height, width
  float mean[IMAGE_CHANNELS_MAXIMUM];  // (value - mean) / scale, in single precision
  float scale[IMAGE_CHANNELS_MAXIMUM]; // not 0
};
// `values` has width * height * channels of them.
void image_to_floats(const struct image *image, const struct image_tensor *how, float *values);
// The same without arithmetic.
void image_to_bytes(const struct image *image, bool channels_last, uint8_t *values);

#endif
