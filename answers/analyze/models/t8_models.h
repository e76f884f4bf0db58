// SPDX-License-Identifier: Apache-2.0
// One experiment in T8, for T10 as well.
#ifndef XSP_ANALYZE_MODELS_T8_MODELS_H
#define XSP_ANALYZE_MODELS_T8_MODELS_H

#include "analyze/models/survey.h"

struct model_summary { // NaN, NULL, 0: unknown
  bool has_latency, has_layers;
  double online_ms, maximum_per_s;
  double joules_per_input;              // at the optimal batch size, else at 1
  struct figure online;                 // its values are valid until survey_next
  int64_t maximum_batch, optimal_batch; // 0: none
  bool has_maximum, has_optimal;
  const char *from;
  int64_t layer_batch;
  double convolution_pct;
  const char *dominant_type;
  double dominant_pct;
  const char *layer_from;
};

// Adds the observations of the model latencies to the survey's.
enum status model_summary_load(struct survey *survey, const struct survey_item *item, struct model_summary *ret,
                               struct error *err) MUST_CHECK;

#endif
