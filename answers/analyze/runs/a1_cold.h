// SPDX-License-Identifier: Apache-2.0
// A1's figures of first inferences: of the experiment's first one, and of fresh processes (`xsp profile --cold`). Private to
// analyze.
#ifndef XSP_ANALYZE_RUNS_A1_COLD_H
#define XSP_ANALYZE_RUNS_A1_COLD_H

#include "analyze/view.h"

double analyze_cold_median_ms(struct question *question, int64_t batch_size); // NaN: not measured
// The figures of the smallest batch size that has cold runs; those of loading are over the processes of all batch sizes.
enum status analyze_cold_summarize(struct question *question, struct error *err) MUST_CHECK;

#endif
