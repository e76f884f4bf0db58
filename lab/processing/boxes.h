// SPDX-License-Identifier: Apache-2.0
// Boxes of objects in a model's output: read in the forms that detectors have, thinned out by non-maximum suppression, moved back onto
// the picture, with a mask each where the model has masks. Single precision, as models have it. No function keeps state; any thread may call them.
#ifndef XSP_PROCESSING_BOXES_H
#define XSP_PROCESSING_BOXES_H

#include "base/vector.h"
#include "processing/mask_runs.h"
#include "processing/picture.h"

#include <stdbool.h>
#include <stddef.h>

#define BOXES_MOST 1000            // of a picture, after suppression
#define BOX_CLASSES_MOST (1 << 24) // whole numbers up to here are exact in single precision

enum box_format { BOX_XYXY, BOX_YXYX, BOX_XYWH, BOX_CXCYWH };
enum box_column {        // what a box's values are, in their order
  BOX_COLUMN_BOX,        // four
  BOX_COLUMN_OBJECTNESS, // a factor of the scores
  BOX_COLUMN_SCORES,     // of each class: all that the others leave
  BOX_COLUMN_SCORE,      // of its class
  BOX_COLUMN_CLASS,      // a number
  BOX_COLUMN_ITEM,       // the place of its picture in the batch: boxes of all pictures are in one list
  BOX_COLUMNS
};
extern const char *const box_format_names[]; // "xyxy", …, NULL
extern const char *const box_column_names[]; // "box", …, NULL

struct boxes_form {
  enum box_format format;
  bool is_normalized;                   // coordinates are parts of the input's sides, else its pixels
  bool is_transposed;                   // scores of a box are not side by side: [values, boxes]
  enum box_column columns[BOX_COLUMNS]; // of one output
  unsigned column_count;                // 0: scores are an output of their own, as may be classes
  const char *scores, *classes;         // names of these outputs; "": none
  float score_threshold, iou_threshold; // kept above, suppressed above; an iou_threshold below 0: no suppression
  unsigned most;                        // boxes of a picture
  bool is_class_agnostic;               // boxes of other classes are suppressed, too
  const char *masks;                    // name of the output with a mask for each box; "": none
  float mask_threshold;                 // a pixel above it is the object's
  bool are_masks_of_input;              // a mask lies on the whole input, else on its box
};

struct box {
  size_t place; // of its class
  size_t row;   // in the model's output
  float score;
  float left, top, right, bottom;
};
struct boxes {
  VECTOR(struct box) list;
};

struct box_values {   // one column, or several side by side
  const float *first; // NULL: there is none
  size_t row_stride, column_stride;
};
struct boxes_source { // what rows of boxes are made of
  struct box_values box, scores, objectness, classes, items;
  size_t rows, score_count; // scores of a row: of each class; 1: of `classes`, or of the only class
};
// One output of `rows` x `columns` values. False: `columns` is no number of values that the form has.
bool boxes_source_of_one(const struct boxes_form *form, const float *values, size_t rows, size_t columns,
                         struct boxes_source *ret_source);

// Adds the boxes of picture `item` whose score is above the threshold, in the order of rows and classes, on an input of width x height.
// A score that is not a number, a class that is none, a coordinate that is not finite or an end before its start: no box.
void boxes_decode(const struct boxes_form *form, const struct boxes_source *source, size_t item, unsigned width,
                  unsigned height, struct boxes *boxes);
// Sorts by falling score, equal ones in their order, and keeps at most form->most. Greedy: a box goes where its overlap with a kept
// one of its class is above the threshold.
void boxes_suppress(const struct boxes_form *form, struct boxes *boxes);
// Where the mask of a box lies in the picture: before boxes_place, since a mask is of the whole box. `width`, `height`: of the input.
struct mask_frame boxes_mask_frame(const struct boxes_form *form, const struct picture_place *place,
                                   const struct box *box, unsigned width, unsigned height);
// From the input's pixels to the picture's, cut at its edges.
void boxes_place(const struct picture_place *place, struct boxes *boxes);
void boxes_done(struct boxes *boxes);

#endif
