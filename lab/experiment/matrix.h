// SPDX-License-Identifier: Apache-2.0
// The order of an experiment's observations, whatever is measured.
#ifndef XSP_EXPERIMENT_MATRIX_H
#define XSP_EXPERIMENT_MATRIX_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

// A lane is what takes turns with others: a variant at a level set, a program at a level set.
struct matrix {
  size_t first_lane, lane_count; // those that take turns
  size_t batch_count;            // measured one after the other
  unsigned repetitions; // of each lane at each batch size, warm-up included; at most, where the source has is_enough
};

// What is measured. All functions but is_over may be NULL or fail; `context` is the source's own.
struct matrix_source {
  enum status (*begin)(void *context, size_t lane, size_t batch,
                       struct error *err); // before the batch size's repetitions
  enum status (*observe)(void *context, size_t lane, size_t batch, unsigned repetition, struct error *err);
  enum status (*end)(void *context, size_t lane, size_t batch, struct error *err); // after them, unless it is over
  bool (*is_over)(const void *context);                                            // asked before each observation
  // Asked after each repetition of a batch size; NULL: never.
  enum status (*is_enough)(void *context, size_t batch, unsigned repetition, bool *ret_is_enough, struct error *err);
};

// Every repetition visits every lane, beginning with another one each time, so that a drift of the machine's speed falls on all
// lanes alike. The first batch size always begins. *ret_batches: how many began; may be NULL.
enum status matrix_measure(const struct matrix *matrix, const struct matrix_source *source, void *context,
                           size_t *ret_batches, struct error *err) MUST_CHECK;

#endif
