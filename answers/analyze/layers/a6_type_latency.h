// SPDX-License-Identifier: Apache-2.0
// Latency by layer type, for A6 and T8.
#ifndef XSP_ANALYZE_LAYERS_A6_TYPE_LATENCY_H
#define XSP_ANALYZE_LAYERS_A6_TYPE_LATENCY_H

#include "analyze/layers/types.h"

struct type_latencies {
  struct layers layers;
  struct types types;
  size_t by_operation; // layers that only the model's operator shows to be convolutions
  const char *model_from;
  double convolution_pct_of_layers, convolution_pct_of_model; // NaN: unknown
};

// As layers_answer: STATUS_NO without the layer level.
enum status type_latencies_load(struct question *question, struct type_latencies *ret, struct error *err) MUST_CHECK;

#endif
