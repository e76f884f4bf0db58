// SPDX-License-Identifier: Apache-2.0
// A class for each pixel in a model's output, and how it compares with a picture of class numbers. No function keeps state; any thread
// may call them.
#ifndef XSP_PROCESSING_MASK_H
#define XSP_PROCESSING_MASK_H

#include "processing/picture.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MASK_CLASSES_MOST 256 // a label picture has 8 bits

struct mask_form {
  bool has_threshold; // one channel: class 1 above it, else 0
  float threshold;
  bool channels_last; // height, width, channel; else channel, height, width
  int ignored;        // this class in a label picture is not compared; -1: none
};
struct mask {
  unsigned width, height;
  uint8_t *classes; // row by row; owned
};

// Of an output's `channels` x height x width values: the channel with the highest one, the first of equals; NaN is below all. One channel
// without a threshold has the classes themselves. False, and nothing is owned: a value is no class.
bool mask_decode(const struct mask_form *form, const float *values, unsigned channels, unsigned width, unsigned height,
                 struct mask *ret_mask);
void mask_done(struct mask *mask);

// Pixels of a label picture, which is as large as the picture, by label and class found: counts[label * MASK_CLASSES_MOST +
// found]. Each takes the class of the output's pixel that its middle is in; ignored ones and those that the input was cut off
// by are not counted. `width` and `height`: of the input.
void mask_compare(const struct mask_form *form, const struct mask *mask, const struct picture_place *place,
                  unsigned width, unsigned height, const struct image *label, uint64_t *counts);

#endif
