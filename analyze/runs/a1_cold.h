// SPDX-License-Identifier: Apache-2.0
// A1's figures of first inferences: of the experiment's first one, and of fresh processes (`xsp profile --cold`). Private to
// analyze.
#ifndef XSP_ANALYZE_RUNS_A1_COLD_H
#define XSP_ANALYZE_RUNS_A1_COLD_H

#include "analyze/view.h"

struct cold_batch { // cold runs of one batch size
  int64_t batch_size;
  double *latencies_ms;
  size_t count;
};
struct cold {
  double
      first_ms; // the earliest warm-up observation of a run without metrics, of a cold one only where there is no other
  struct cold_batch *batches; // by batch size
  size_t batch_count;
  double load_median_ms, start_median_ms; // over the processes of all batch sizes; NaN: not recorded
};

enum status cold_load(struct question *question, struct cold *ret_cold, struct error *err) MUST_CHECK;
double cold_median_ms(struct question *question, const struct cold *cold, int64_t batch_size); // NaN: not measured
// The figures of the smallest batch size that has cold runs; loading does not depend on it.
void cold_summarize(struct question *question, const struct cold *cold);

#endif
