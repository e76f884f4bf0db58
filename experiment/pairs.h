// SPDX-License-Identifier: Apache-2.0
// Two variants compared repetition by repetition: a disturbance mostly hits both of a pair. Pure.
#ifndef XSP_EXPERIMENT_PAIRS_H
#define XSP_EXPERIMENT_PAIRS_H

#include "base/arena.h"

struct paired_ratio {
  double median;    // of own / first over the pairs; NaN: none
  double low, high; // of its 95 % interval; NaN: too few pairs for one
};

// `own[i]` and `first[i]` are of the same repetition.
void pairs_compare(const double *own, const double *first, size_t count, struct arena *arena,
                   struct paired_ratio *ret_ratio);

#endif
