// SPDX-License-Identifier: Apache-2.0
// Ended inferences whose layers the framework has not handed over yet: what a predictor records of each until flush.
#ifndef XSP_FRAMEWORKS_COMMON_INFERENCES_H
#define XSP_FRAMEWORKS_COMMON_INFERENCES_H

#include "base/vector.h"
#include <xsp/span.h>

struct inference {
  struct xsp_context model;  // its span
  uint64_t start_ns, end_ns; // of the framework's call, on the clock that its profile has; 0: not needed
  uint64_t *durations_ns;    // of each node, 0: not reported; owned by the list, or NULL
};
struct inferences { // starts as {0}; growing is rare, since items are added within an inference's span
  struct inference *items;
  size_t count, capacity;
};

static inline void inferences_clear(struct inferences *inferences) // keeps its memory for the next
{
  for (size_t i = 0; i < inferences->count; i++)
    free(inferences->items[i].durations_ns);
  inferences->count = 0;
}

static inline void inferences_free(struct inferences *inferences)
{
  inferences_clear(inferences);
  vector_done(inferences);
}

#endif
