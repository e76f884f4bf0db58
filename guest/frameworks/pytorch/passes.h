// SPDX-License-Identifier: Apache-2.0
// How many samples a training step learns from, where it has several backward passes: gradients are accumulated over micro-batches.
// A pass counts if it begins as the first one did. Two losses of one batch, or of two models (a GAN's), add none. Pure.
#ifndef XSP_FRAMEWORKS_PYTORCH_PASSES_H
#define XSP_FRAMEWORKS_PYTORCH_PASSES_H

#include <stdbool.h>
#include <stdint.h>

struct passes {
  int64_t sum;                // 0: unknown
  const void *module;         // the first model that a pass called; NULL: none yet
  bool is_after_prediction;   // the first pass that was counted is
  struct {                    // since the last backward pass
    const void *module;       // the first model that was called
    bool is_counted;          // in `sum`
    bool is_after_prediction; // such as that of a GAN's generator
  } pass;
  bool is_in_optimizer; // whose closure may pass over one batch many times
};

// `module`: NULL where it is no model. `batch_size`: not above 0: unknown.
void passes_forward(struct passes *passes, const void *module, int64_t batch_size);
void passes_prediction(struct passes *passes);
void passes_backward_ended(struct passes *passes);
void passes_optimizer_begins(struct passes *passes); // when it ends, so does the step: all is zero again

#endif
