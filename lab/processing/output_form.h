// SPDX-License-Identifier: Apache-2.0
// What a model's output is, with its parameters. One text, from xsp to the runner.
#ifndef XSP_PROCESSING_OUTPUT_FORM_H
#define XSP_PROCESSING_OUTPUT_FORM_H

#include "base/buf.h"
#include "processing/boxes.h"
#include "processing/mask.h"
#include "processing/text.h"

enum output_kind { OUTPUT_TENSOR, OUTPUT_SCORES, OUTPUT_BOXES, OUTPUT_MASK, OUTPUT_TEXT, OUTPUT_INSTANCES };
// "tensor", "feature", "boxes", "mask", "text", "instances", NULL
extern const char *const output_form_kind_names[];
static inline bool output_form_has_boxes(enum output_kind kind)
{
  return kind == OUTPUT_BOXES || kind == OUTPUT_INSTANCES;
}

struct output_form {
  enum output_kind kind;   // of a tensor and of scores there are no parameters
  struct boxes_form boxes; // of instances, too
  struct mask_form mask;
  struct text_form text;
};

void output_form_format(const struct output_form *form, struct buf *out);
// Changes `text`; names are borrowed from it. False: malformed, or a value is out of range.
bool output_form_parse(char *text, struct output_form *ret_form);

#endif
