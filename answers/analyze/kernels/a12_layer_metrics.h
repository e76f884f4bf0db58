// SPDX-License-Identifier: Apache-2.0
// Where in the model flops and DRAM traffic go: A12's thirds, for T9 as well.
#ifndef XSP_ANALYZE_KERNELS_A12_LAYER_METRICS_H
#define XSP_ANALYZE_KERNELS_A12_LAYER_METRICS_H

#include "analyze/kernels/kernels.h"

enum metric_series { SERIES_FLOPS, SERIES_DRAM_READ, SERIES_DRAM_WRITE, SERIES_DRAM, SERIES_COUNT };

struct layer_metrics {
  struct thirds thirds[SERIES_COUNT];
};

// Of kernels loaded with KERNELS_BY_LAYER.
void layer_metrics_find(struct question *question, const struct kernels *kernels, struct layer_metrics *ret);

#endif
