// SPDX-License-Identifier: Apache-2.0
// A set's latencies as answers/analyze/intervals.h takes them: of its models, or of one of their parts.
#ifndef XSP_ANALYZE_RUNS_SAMPLES_H
#define XSP_ANALYZE_RUNS_SAMPLES_H

#include "analyze/intervals.h"
#include "analyze/view.h"

// Every latency `factor` times, in ms. Runs without a counted observation are left out. The arrays are in question->scratch.
struct sample analyze_sample_of_set(struct question *question, const struct view_set *set, double factor);

// The same of a part, such as a layer: a value per observation of the set, NaN where the part is absent. Statistics that leave
// out observations count it as 0 there, as question_figure does; the others leave it out.
struct sample analyze_sample_of_values(struct question *question, const struct view_set *set, const double *values,
                                       double factor);

#endif
