// SPDX-License-Identifier: Apache-2.0
// What a model found in items, where that is not scores of classes: boxes and their pixels, pixels of masks, tokens of texts. Filled from the
// runner's lines.
#ifndef XSP_EXPERIMENT_EVALUATION_ACCURACY_PREDICTIONS_H
#define XSP_EXPERIMENT_EVALUATION_ACCURACY_PREDICTIONS_H

#include "base/vector.h"
#include "processing/processing.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PREDICTED_NO_LABEL MASK_CLASSES_MOST // pixels of the output, whatever their label

struct predicted_box { // in pixels of the picture
  size_t item, place;
  float score, left, top, right, bottom;
  size_t first_border, border_count; // of its pixels, in `borders`; 0: none
  unsigned width, height;            // of the picture, where it has pixels
};
struct predicted_pixels {
  size_t item;
  unsigned label, found; // classes
  uint64_t count;
};
struct predicted_token {
  size_t item, token;
};
struct predictions { // each in the order of items
  VECTOR(struct predicted_box) boxes;
  struct mask_borders borders;
  VECTOR(struct predicted_pixels) pixels;
  VECTOR(struct predicted_token) tokens;
};

// Takes a line of item `item`, "box", "mask", "pixels" or "token", as trace/format/protocol.h has them. False: it is none of these, or malformed.
bool predictions_take(struct predictions *predictions, size_t item, char *const *fields, size_t count);
struct mask_runs predictions_runs(const struct predictions *predictions, const struct predicted_box *box);
void predictions_done(struct predictions *predictions);

#endif
