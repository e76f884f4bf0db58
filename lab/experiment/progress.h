// SPDX-License-Identifier: Apache-2.0
// How far a measurement is, as one line for the user.
#ifndef XSP_EXPERIMENT_PROGRESS_H
#define XSP_EXPERIMENT_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

// Shows `text`, which replaces the line shown before; NULL removes that line. is_last: no other line follows. The callee
// decides where and how often to show it.
typedef void (*progress_fn)(const char *text, bool is_last);

struct progress {
  progress_fn show; // NULL: nothing is shown
  const char *name; // what is measured
  const char *unit; // what is counted: "observation"
  bool shows_each;  // else a few a second
  unsigned done, total;
  double started_s, shown_s;
};

double progress_now_s(void); // CLOCK_MONOTONIC
// Counts one more of `total`; 0: how many is not known yet. `variant`: NULL for the only one. `batch`: 0 without batches.
// `what`: the level set or "cold".
void progress_step(struct progress *progress, const char *variant, int64_t batch, const char *what);
double progress_left_s(const struct progress *progress, double now_s); // at the pace so far
void progress_clear(const struct progress *progress); // removes the line of an experiment that ends early

#endif
