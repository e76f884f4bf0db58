// SPDX-License-Identifier: Apache-2.0
// The pixels of one object in a picture, as runs. No function keeps state; any thread may call them.
#ifndef XSP_PROCESSING_MASK_RUNS_H
#define XSP_PROCESSING_MASK_RUNS_H

#include "base/vector.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Where a walk over the picture, column by column and each from its top, enters the object, leaves it, enters it again …: rising
// places (x * height + y), an even number of them. COCO's order.
struct mask_runs {
  const uint32_t *borders;
  size_t count;
};
struct mask_borders { // runs that are being made
  VECTOR(uint32_t) list;
};

// A border at or after the last one; two at one place are none.
void mask_border_add(struct mask_borders *borders, uint32_t place);
uint64_t mask_runs_pixels(const struct mask_runs *runs);
uint64_t mask_runs_common(const struct mask_runs *a, const struct mask_runs *b);
// Adds the pixels that are in one or the other.
void mask_runs_unite(const struct mask_runs *a, const struct mask_runs *b, struct mask_borders *ret_borders);

struct mask_grid { // columns x rows values, row by row; any bits
  const float *values;
  unsigned columns, rows;
};
struct mask_frame { // where the grid lies in the picture, in its pixels; it may reach beyond
  float left, top, right, bottom;
};
// Adds the pixels of a picture of width x height that are above the threshold: a pixel has the bilinear value at its middle, with zeros
// around the grid, and none further than half a grid cell away from it. Single precision, as Detectron2 pastes masks.
void mask_paste(const struct mask_grid *grid, const struct mask_frame *frame, float threshold, unsigned width,
                unsigned height, struct mask_borders *borders);

#endif
