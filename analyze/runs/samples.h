// SPDX-License-Identifier: Apache-2.0
// A set's model latencies as analyze/intervals.h takes them.
#ifndef XSP_ANALYZE_RUNS_SAMPLES_H
#define XSP_ANALYZE_RUNS_SAMPLES_H

#include "analyze/intervals.h"
#include "analyze/view.h"

// Every latency `factor` times, in ms. Runs without a counted observation are left out. The arrays are in question->scratch.
struct sample sample_of_set(struct question *question, const struct view_set *set, double factor);

#endif
