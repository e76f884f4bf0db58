// SPDX-License-Identifier: Apache-2.0
// Labelled inputs of an evaluation: a folder with a folder for each class, a table of files and labels (CSV), pictures with boxes (JSON as
// COCO has it), or one file that has them all (lab/data/data_file.h).
#ifndef XSP_EXPERIMENT_EVALUATION_DATA_SET_H
#define XSP_EXPERIMENT_EVALUATION_DATA_SET_H

#include "base/arena.h"
#include "base/error.h"
#include "data/data.h"
#include "launch/launch.h"
#include "processing/processing.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define DATA_NO_CLASS SIZE_MAX // the label is none of the model's classes

struct data_item {
  const char *path;  // as it can be opened
  const char *label; // as written; NULL: not labelled
  size_t place;      // of its class among the model's scores, by data_set_resolve; DATA_NO_CLASS: unknown
  const struct data_file_item *part; // of the file at `path`; NULL: all of it
  unsigned width, height;            // of the picture, as the true masks have it; 0: no masks
};
static inline const char *data_item_name(const struct data_item *item) // for people
{
  return item->part != NULL ? item->part->name : item->path;
}
struct data_category { // of boxes
  int64_t id;
  const char *name;
  size_t place; // among the model's classes, by data_set_resolve; DATA_NO_CLASS: the model does not have it
};
struct data_box { // in pixels of the picture
  size_t item, category;
  double left, top, width, height;
  bool is_crowd; // many objects
  struct mask_runs runs;
};
struct data_set {
  const char *path;   // as given
  const char *place;  // of what is read: `path`, or what was fetched from there
  const char *sha256; // of the file, where it was compared; NULL
  struct data_item *items;
  size_t count;
  size_t left_out;     // files that are no pictures by their names
  size_t unreadable;   // items that data_set_leave_out removed
  const char **labels; // distinct ones, sorted
  size_t label_count;
  bool has_boxes;         // items are labelled with boxes, maybe none
  bool has_masks;         // each box has its pixels in `runs`
  struct data_box *boxes; // in the order of items
  size_t box_count;
  struct data_category *categories; // by id
  size_t category_count;
};

// Everything lives in `arena`. FOLDER/LABEL/*.png, .jpg and .jpeg, by name; pictures in FOLDER itself have no label. A file that ends
// with .csv: "FILE,LABEL" on each line, quoted as RFC 4180 has it, paths relative to its folder; a first line "file,label" is a
// head, a byte order mark is skipped. A file that ends with .json: coco.h,
// whose masks are read where they are wanted. One that begins as a data set in one file is that. STATUS_INPUT: unreadable, malformed,
// or without any item.
enum status data_set_read(const char *path, bool with_masks, struct arena *arena, struct data_set *ret_set,
                          struct error *err) MUST_CHECK;
// Removes an item that turned out to be no picture, with its boxes.
void data_set_leave_out(struct data_set *set, size_t item);
// How many different labels the first `count` items have.
size_t data_set_labels_among(const struct data_set *set, size_t count);
// What the runner is asked for; without a label.
struct runner_picture data_item_picture(const struct data_item *item);
// The label of an item as a file: relative to the data set's folder, or to that of its file. In `arena`; NULL: not labelled.
const char *data_label_path(const struct data_set *set, const struct data_item *item, struct arena *arena);
// A line for each class, in the model's order; empty lines count. A byte order mark is skipped. In `arena`.
enum status data_labels_read(const char *path, struct arena *arena, const char ***ret_labels, size_t *ret_count,
                             struct error *err) MUST_CHECK;

// Moves `file` over the mark of UTF-8 that some editors put first.
void data_set_skip_mark(FILE *file);

enum data_resolution {
  DATA_BY_NAME,   // labels are lines of the model's labels, or their first words (n01440764)
  DATA_BY_NUMBER, // labels are places
  DATA_BY_ORDER,  // neither: the sorted labels are the places, as torchvision's ImageFolder has them
  DATA_UNLABELLED,
};
// Finds the place of each item's label. `labels`: the model's; NULL: they have no names. Places of categories are by name; of a model whose
// classes have no names, by id.
enum data_resolution data_set_resolve(struct data_set *set, const char *const *labels, size_t label_count);

#endif
