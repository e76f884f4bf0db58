// SPDX-License-Identifier: Apache-2.0
// Average precision of boxes, or of masks, as COCO defines it: at overlaps of 0.50, 0.55, … 0.95, at 101 points of recall, over the 100 best boxes of a
// class in a picture, boxes of all areas.
#ifndef XSP_EXPERIMENT_EVALUATION_ACCURACY_AVERAGE_PRECISION_H
#define XSP_EXPERIMENT_EVALUATION_ACCURACY_AVERAGE_PRECISION_H

#include "base/arena.h"
#include "processing/processing.h"

#include <stdbool.h>
#include <stddef.h>

struct rated_box {
  size_t item, category;
  double left, top, width, height; // sides are not negative
  double score;                    // of a found one; not NaN
  bool is_crowd;                   // of a true one: many objects, which any number of found boxes may lie in
  const struct mask_runs *runs;    // NULL: boxes overlap; else their pixels do. Of all boxes, or of none
};
struct average_precision {                 // parts of 1; NaN: no class has a true box
  double all, at_50, at_75;                // mean over classes; `all`: over the overlaps, too
  double *of_category, *of_category_at_50; // NaN: it has no true box, but maybe crowds. In the arena
};

// Each list in the order of items; boxes of equal score come in their order. Categories are below category_count.
void average_precision_measure(const struct rated_box *wanted, size_t wanted_count, const struct rated_box *found,
                               size_t found_count, size_t category_count, struct arena *arena,
                               struct average_precision *ret_precision);

#endif
