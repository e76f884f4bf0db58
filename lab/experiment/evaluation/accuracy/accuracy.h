// SPDX-License-Identifier: Apache-2.0
// How right boxes, masks and texts are, by the labels of a data set.
#ifndef XSP_EXPERIMENT_EVALUATION_ACCURACY_ACCURACY_H
#define XSP_EXPERIMENT_EVALUATION_ACCURACY_ACCURACY_H

#include "base/arena.h"
#include "experiment/evaluation/accuracy/predictions.h"
#include "experiment/evaluation/data_set.h"

struct class_accuracy { // of a mask's class, or of a category of the data set
  const char *name;     // of a category; NULL: none
  size_t place;         // among the model's classes; DATA_NO_CLASS: the model does not have it
  uint64_t wanted;      // true boxes that are no crowds; pixels with this label
  double ap, ap_at_50;  // of boxes
  double mask_ap;       // of instances
  double iou;           // of a mask: pixels of both, of those of either
};
struct text_accuracy { // of an item
  const char *text;    // as found
  size_t edits;        // characters to insert, remove or replace until it is the label
};
struct accuracy {  // parts of 1; NaN: of another kind of output, or nothing is labelled
  size_t labelled; // items
  double ap, ap_at_50, ap_at_75;
  double mask_ap, mask_ap_at_50, mask_ap_at_75; // of instances
  double iou, pixels; // mean over classes that are in labels or found; of labelled pixels with their class
  double exact, character_errors;
  struct class_accuracy *classes;
  size_t class_count;
  struct text_accuracy *texts; // of each item; NULL: no texts
  size_t unknown_tokens;       // that the vocabulary lacks: they are in no text
};
extern const struct accuracy accuracy_unknown; // all NaN

// The runs of masks are places in a picture: an error where one of the items from `first` on has another size than the data set says.
enum status accuracy_check_sizes(const struct predictions *predictions, const struct data_set *set, size_t first,
                                 struct error *err) MUST_CHECK;

// Of the first `item_count` items. All that these fill lives in `arena`.
// `have_masks`: of instances, whose pixels are rated, too, if those of all true boxes are known.
void accuracy_of_boxes(const struct predictions *predictions, const struct data_set *set, size_t item_count,
                       bool have_masks, struct arena *arena, struct accuracy *ret_accuracy);
void accuracy_of_masks(const struct predictions *predictions, const struct data_set *set, size_t item_count,
                       struct arena *arena, struct accuracy *ret_accuracy);
// `vocabulary`: the tokens' texts.
void accuracy_of_texts(const struct predictions *predictions, const struct data_set *set, size_t item_count,
                       const char *const *vocabulary, size_t vocabulary_count, const char *separator,
                       struct arena *arena, struct accuracy *ret_accuracy);

// Characters (code points; a byte that is no UTF-8 is one) to insert, remove or replace until one text is the other.
size_t edit_distance(const char *text, const char *other);

#endif
