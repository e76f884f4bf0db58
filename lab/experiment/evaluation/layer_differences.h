// SPDX-License-Identifier: Apache-2.0
// Where two models part on the same pictures: at their prepared inputs, at a layer, or at their outputs. Each model runs twice, as
// it is and with the tensors between its layers handed out, in runner processes; nothing is recorded. One thread.
#ifndef XSP_EXPERIMENT_EVALUATION_LAYER_DIFFERENCES_H
#define XSP_EXPERIMENT_EVALUATION_LAYER_DIFFERENCES_H

#include "launch/launch.h"

struct layer_differences_options {
  struct runner_options runners[2];      // of both models
  const char *names[2];                  // of the models, for notes
  const struct runner_picture *pictures; // of the one inference
  size_t count;
  double tolerance; // largest difference of a tensor, relative to the largest absolute value of the first model's
};

enum difference_kind { DIFFERENCE_INPUT, DIFFERENCE_LAYER, DIFFERENCE_OUTPUT };
struct layer_difference { // a tensor of both models
  enum difference_kind kind;
  const char *names[2]; // in each model
  const char *type;     // of the operator that makes it in the first model; NULL: unknown
  const char *shape;    // in the first model, "1,64,56,56"; NULL: not read
  const char *problem;  // why it is not compared; NULL: it is
  double largest, mean; // absolute difference of values; NaN: not compared
  double relative;      // largest ÷ the largest absolute value of the first model's
  bool is_beyond;       // the tolerance
};
struct layer_differences {
  struct arena arena; // of all texts and arrays here
  struct profile_found found[2];
  struct layer_difference *rows; // inputs, layers in the first model's order, outputs
  size_t count;
  size_t first; // the first row beyond the tolerance; SIZE_MAX: none
  const char
      *relation;    // of the inputs, where they differ (input_relation.h); NULL: they do not, or nothing is to be said
  size_t layers[2]; // tensors between layers that each hands out
  double opened[2]; // relative difference of the outputs that handing them out made; NaN: it was not done
  const char *problems[2]; // why a model's layers cannot be read; NULL: they can
  bool is_paired_by_order; // the models share few names
};

// Errors: of runners, as those of evaluations. On error ret_differences is {0}.
enum status layer_differences_find(const struct layer_differences_options *options,
                                   struct layer_differences *ret_differences, struct error *err) MUST_CHECK;
void layer_differences_done(struct layer_differences *differences);

#endif
