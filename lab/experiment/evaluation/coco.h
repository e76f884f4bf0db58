// SPDX-License-Identifier: Apache-2.0
// A data set of pictures with true boxes and masks, from a JSON file as COCO has it. For data_set_read.c.
#ifndef XSP_EXPERIMENT_EVALUATION_COCO_H
#define XSP_EXPERIMENT_EVALUATION_COCO_H

#include "experiment/evaluation/data_set.h"

#define COCO_CATEGORIES_MOST 65536

// Everything lives in `arena`. Images in the order of their ids; their file_name is relative to the file's folder.
// `with_masks`: segmentations are read, too, and a wrong one is an error.
// STATUS_INPUT: unreadable, malformed, without images, or an annotation of an image or category that the file does not have.
enum status coco_read(const char *path, bool with_masks, struct arena *arena, struct data_set *ret_set,
                      struct error *err) MUST_CHECK;
// The same, of its text; `path` is for errors and the folder.
enum status coco_parse(const char *text, size_t length, const char *path, bool with_masks, struct arena *arena,
                       struct data_set *ret_set, struct error *err) MUST_CHECK;

#endif
