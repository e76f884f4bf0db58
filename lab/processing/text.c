// SPDX-License-Identifier: Apache-2.0
// Greedy decoding; see text.h. Called by the runner after an inference.
#include "processing/text.h"

#include "processing/ranking.h"

void text_best(const float *values, size_t steps, size_t classes, size_t *ret_tokens)
{
  for (size_t step = 0; step < steps; step++) {
    struct ranked best = {0};
    (void)ranking_top(values + step * classes, classes, 1, &best);
    ret_tokens[step] = best.place;
  }
}

size_t text_decode(const struct text_form *form, size_t *tokens, size_t count)
{
  size_t kept = 0, before = SIZE_MAX;
  for (size_t i = 0; i < count; i++) {
    size_t token = tokens[i];
    if (!form->is_ctc && form->stop >= 0 && token == (size_t)form->stop)
      break;
    if (!form->is_ctc || (token != form->blank && token != before))
      tokens[kept++] = token;
    before = token;
  }
  return kept;
}
