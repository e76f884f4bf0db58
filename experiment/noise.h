// SPDX-License-Identifier: Apache-2.0
// Can these figures be trusted? A verdict from the spread of the latencies and from disturbances of the machine.
#ifndef XSP_EXPERIMENT_NOISE_H
#define XSP_EXPERIMENT_NOISE_H

#include "base/buf.h"
#include "experiment/system.h"

enum noise_grade { NOISE_QUIET, NOISE_FAIR, NOISE_NOISY };

struct noise {
  enum noise_grade grade;
  double spread_pct; // largest over batches: (75th − 25th percentile) / median of the model latency; NaN: fewer than 4
  int64_t spread_batch; // where it was; 0: there are no batches
  double steal_pct;     // of the machine's CPU time while measuring
  double throttled_pct; // of wall time
  double other_pct;     // CPU time of others, of the machine's CPU time
  double quota_cpus;    // NaN: none
  char governor[64];
};

// Percentages at which a source alone makes the figures FAIR or NOISY. Spread: beyond 3 % differences of a few per cent
// between levels are lost; beyond 10 % only factors are significant.
#define NOISE_SPREAD_FAIR_PCT 3.0
#define NOISE_SPREAD_NOISY_PCT 10.0
#define NOISE_STOLEN_FAIR_PCT 0.5
#define NOISE_STOLEN_NOISY_PCT 3.0
#define NOISE_OTHER_FAIR_PCT 5.0
#define NOISE_OTHER_NOISY_PCT 20.0

void noise_start(struct noise *noise);
// Adds one batch size's model latencies (any unit, reordered in place).
void noise_add_latencies(struct noise *noise, int64_t batch, double *latencies, size_t count);
// Compares two readings taken around the measurement and grades.
void noise_finish(struct noise *noise, const struct disturbance *before, const struct disturbance *after);
const char *noise_grade_name(enum noise_grade grade);
// One to four lines for a person, each ending in a newline.
void noise_explain(const struct noise *noise, struct buf *out);

#endif
