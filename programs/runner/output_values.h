// SPDX-License-Identifier: Apache-2.0
// Values of a model's outputs, whatever their type, for what reads boxes, masks and texts from them. One thread.
#ifndef XSP_PROGRAMS_RUNNER_OUTPUT_VALUES_H
#define XSP_PROGRAMS_RUNNER_OUTPUT_VALUES_H

#include "programs/runner/pictures.h"

struct sending { // what the parts of an answer are made of; borrowed
  const struct predictor *predictor;
  struct predictor_model *model;
  const struct expectation *expectation; // of the output
  const struct picture *input;
  const struct pictures *pictures;
  struct code *code; // changes the output
  int fd;
  struct buf *lines; // of the answer
};

struct output_values {     // of an output, in single precision
  struct tensor_info info; // its type, and its shape with the sizes that it has
  const float *numbers;    // NULL: of no output
  float *converted;        // owned; NULL: they are the tensor's
  size_t count;
  size_t item_count; // of an item
};
// Of the output `name` after an inference. `are_mixed`: the items of the batch are not one after the other. STATUS_INPUT: no
// such output, of a type that is no number, or its first dimension is not the batch. output_values_done also after an error.
enum status output_values_read(const struct sending *sending, const char *name, bool are_mixed,
                               struct output_values *ret_values, struct error *err) MUST_CHECK;
void output_values_done(struct output_values *values);
size_t output_values_dimension(const struct output_values *values,
                               unsigned from_end); // 0: the last one; 1 beyond the first
bool output_values_are_integers(const struct output_values *values);
// An error about the output, with its shape and type.
enum status output_values_wrong(const struct output_values *values, const char *advice, struct error *err,
                                const char *why);

// Each adds the lines of one kind of output.
enum status results_send_boxes(const struct sending *sending, struct error *err) MUST_CHECK;
enum status results_send_masks(const struct sending *sending, struct error *err) MUST_CHECK;

#endif
