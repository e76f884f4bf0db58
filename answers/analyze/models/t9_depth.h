// SPDX-License-Identifier: Apache-2.0
// One experiment in T9, for T10 as well.
#ifndef XSP_ANALYZE_MODELS_T9_DEPTH_H
#define XSP_ANALYZE_MODELS_T9_DEPTH_H

#include "analyze/kernels/a15_kernel_models.h"
#include "analyze/models/survey.h"

struct analytic_work { // of all layers that compute
  bool is_known;
  double flops, bytes, intensity, throughput_flops_per_s; // NaN: unknown
  const char *bound, *traffic_stage, *flops_stage;        // NULL: unknown
  struct roof roof;                                       // of the layer with most flops
  size_t layers, unknown_layers;
};
struct model_depth { // all of one batch size; NaN, NULL: unknown
  bool has_any, has_model, has_kernels, has_layers, has_alloc;
  int64_t batch_size;
  bool has_optimal;
  int64_t optimal_batch;
  double latency_ms;
  struct figure latency; // its values are valid until survey_next
  struct kernel_model kernels;
  double flops;
  const char *flops_from; // "measured", "analytic"
  const char *latency_stage, *memory_stage, *flops_stage, *traffic_stage;
  const char *precision;
  struct roof roof;
  struct analytic_work analytic;
  const char *from, *layer_from, *kernel_from;
};

enum status model_depth_load(struct survey *survey, const struct survey_item *item, struct model_depth *ret,
                             struct error *err) MUST_CHECK;

// STATUS_NO: no experiment has_any.
enum status model_depth_lacks(const struct survey *survey, struct error *err);

#endif
