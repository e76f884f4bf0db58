// SPDX-License-Identifier: Apache-2.0
// The pixels of an annotation as COCO's files have them: polygons, or lengths of runs. For coco.c.
#ifndef XSP_EXPERIMENT_EVALUATION_COCO_MASKS_H
#define XSP_EXPERIMENT_EVALUATION_COCO_MASKS_H

#include "base/arena.h"
#include "base/json_read.h"
#include "processing/processing.h"

struct coco_polygon {
  const double *points; // x, y, x, y …
  size_t count;         // points
  const struct coco_polygon *next;
};
struct coco_mask {
  const struct coco_polygon *polygons;
  const uint32_t *lengths; // outside and inside in turns; NULL: polygons
  size_t length_count;
  unsigned width, height; // of the picture that the lengths are of
};

// Reads the value of `segmentation`. Everything lives in `arena`. Returns why it is none; NULL: it is.
const char *coco_mask_read(struct json_reader *json, struct arena *arena, struct coco_mask *ret_mask);
// The pixels, in a picture of width x height, as pycocotools has them. Returns why there are none; NULL: there are.
const char *coco_mask_runs(const struct coco_mask *mask, unsigned width, unsigned height, struct arena *arena,
                           struct mask_runs *ret_runs);

#endif
