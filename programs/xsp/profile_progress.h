// SPDX-License-Identifier: Apache-2.0
// How far a measurement is, on stderr: a line that is renewed on a terminal, a line every few seconds elsewhere.
#ifndef XSP_PROGRAMS_PROFILE_PROGRESS_H
#define XSP_PROGRAMS_PROFILE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
  const char *name; // what is measured
  bool quiet;
  unsigned done, total; // observations
  double started_s, shown_s;
};

double progress_now_s(void); // CLOCK_MONOTONIC
// Counts one more observation. `what`: the level set or "cold"; `variant`: NULL where there is one only.
void progress_step(struct progress *progress, const char *variant, int64_t batch, const char *what);

#endif
