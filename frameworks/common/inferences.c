// SPDX-License-Identifier: Apache-2.0
// See inferences.h. Called by predictors within an inference's span, so growing is rare.
#include "frameworks/common/inferences.h"

#include <stdlib.h>

bool inferences_add(struct inferences *inferences, struct inference inference)
{
  if (inferences->count == inferences->capacity) {
    size_t capacity = inferences->capacity == 0 ? 256 : inferences->capacity * 2;
    struct inference *grown = reallocarray(inferences->items, capacity, sizeof *grown);
    if (grown == NULL)
      return false;
    inferences->items = grown;
    inferences->capacity = capacity;
  }
  inferences->items[inferences->count++] = inference;
  return true;
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
  free(inferences->items);
  *inferences = (struct inferences){0};
}
