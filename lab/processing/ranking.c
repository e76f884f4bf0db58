// SPDX-License-Identifier: Apache-2.0
// Keeps the best so far in order: `most` is small. Called by the runner after a prediction.
#include "processing/ranking.h"

#include <math.h>

static float value_of(float score)
{
  return isnan(score) ? -INFINITY : score;
}

size_t ranking_top(const float *scores, size_t count, size_t most, struct ranked *ret_top)
{
  size_t kept = 0;
  for (size_t place = 0; place < count; place++) {
    size_t at = kept;
    while (at > 0 && value_of(ret_top[at - 1].score) < value_of(scores[place]))
      at--;
    if (at == most)
      continue;
    kept += kept < most;
    for (size_t i = kept - 1; i > at; i--)
      ret_top[i] = ret_top[i - 1];
    ret_top[at] = (struct ranked){place, scores[place]};
  }
  return kept;
}
