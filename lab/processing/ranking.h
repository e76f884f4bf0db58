// SPDX-License-Identifier: Apache-2.0
// The classes with the highest scores.
#ifndef XSP_PROCESSING_RANKING_H
#define XSP_PROCESSING_RANKING_H

#include <stddef.h>

struct ranked {
  size_t place; // of the class
  float score;
};
// The highest first; of equal scores the lower place first, as a stable sort of falling scores has them. NaN comes last. Returns
// min(count, most).
size_t ranking_top(const float *scores, size_t count, size_t most, struct ranked *ret_top);

#endif
