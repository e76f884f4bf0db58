// SPDX-License-Identifier: Apache-2.0
// How far a model's outputs are from those of another model on the same items, pair by pair: nothing of an item is kept.
// Divergences are in nats, of outputs as distributions over classes.
#ifndef XSP_EXPERIMENT_EVALUATION_DIVERGENCE_H
#define XSP_EXPERIMENT_EVALUATION_DIVERGENCE_H

#include <stdbool.h>
#include <stddef.h>

struct divergence { // starts as {0}; sums until divergence_finish, means afterwards
  size_t items;     // compared
  size_t left_out;  // with an output that is not finite in either model
  size_t values;    // of all compared items
  double largest;   // difference of two values; of item `largest_item`
  size_t largest_item;
  double mean;           // difference of values
  double cosine;         // similarity, mean over items with values other than 0
  size_t directions;     // of these
  double kl, kl_largest; // KL(first ‖ other)
  size_t kl_infinite;    // items whose first model has a class that the other gives probability 0; in no figure of KL
  double js, js_largest; // Jensen-Shannon divergence
  bool is_first_softmaxed, is_other_softmaxed;
  size_t unlike; // items whose outputs have another number of values
};

// Values of one item in both. Those of a model whose first item is not a distribution (not negative, with a sum of 1 within
// 1 %) go through softmax, others are divided by their sum.
void divergence_add(struct divergence *divergence, size_t item, const double *first, size_t first_count,
                    const double *other, size_t other_count);
void divergence_finish(struct divergence *divergence); // figures of nothing are NaN

#endif
