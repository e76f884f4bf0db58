// SPDX-License-Identifier: Apache-2.0
// Ended inferences whose layers the framework has not handed over yet: what a predictor records of each until flush.
#ifndef XSP_FRAMEWORKS_COMMON_INFERENCES_H
#define XSP_FRAMEWORKS_COMMON_INFERENCES_H

#include <xsp/span.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct inference {
  struct xsp_context model;  // its span
  uint64_t start_ns, end_ns; // of the framework's call, on the clock that its profile has; 0: not needed
  uint64_t *durations_ns;    // of each node, 0: not reported; owned by the list from inferences_add on, or NULL
};
struct inferences { // starts as {0}
  struct inference *items;
  size_t count, capacity;
};

void inferences_add(struct inferences *inferences, struct inference inference);
void inferences_clear(struct inferences *inferences); // keeps its memory for the next
void inferences_free(struct inferences *inferences);

#endif
