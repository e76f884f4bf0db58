// SPDX-License-Identifier: Apache-2.0
// Prepared pictures that stay in memory, for inferences that are timed without their preparation: `load` and `query`. One thread.
#ifndef XSP_PROGRAMS_RUNNER_SAMPLES_H
#define XSP_PROGRAMS_RUNNER_SAMPLES_H

#include "programs/runner/pictures.h"

struct samples {
  char *values; // of `count` pictures, one after the other; owned
  size_t count, item_bytes;
};

// Adds what inference_pictures_fill has just put into `tensor`, `count` pictures. STATUS_MEMORY.
enum status samples_add(struct samples *samples, const struct tensor *tensor, size_t count,
                        struct error *err) MUST_CHECK;
// Fills the tensor with `count` samples from `first` on; after the last one comes the first.
enum status samples_take(const struct samples *samples, size_t first, size_t count, struct tensor *tensor,
                         struct error *err) MUST_CHECK;
void samples_done(struct samples *samples);
// Waits until a time of CLOCK_MONOTONIC, in nanoseconds. One that has passed: returns at once.
void samples_wait(uint64_t until_ns);

#endif
