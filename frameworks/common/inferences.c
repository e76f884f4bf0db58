// SPDX-License-Identifier: Apache-2.0
// See inferences.h. Called by predictors within an inference's span, so growing is rare.
#include "frameworks/common/inferences.h"

#include "base/vector.h"

void inferences_add(struct inferences *inferences, struct inference inference)
{
  *vector_add(inferences) = inference;
}

void inferences_clear(struct inferences *inferences)
{
  for (size_t i = 0; i < inferences->count; i++)
    free(inferences->items[i].durations_ns);
  inferences->count = 0;
}

void inferences_free(struct inferences *inferences)
{
  inferences_clear(inferences);
  vector_done(inferences);
}
