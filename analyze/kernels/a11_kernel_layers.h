// SPDX-License-Identifier: Apache-2.0
// A11's answer, which A14 gives with the roofs and what stands beside them. Private to analyze.
#ifndef XSP_ANALYZE_KERNELS_A11_KERNEL_LAYERS_H
#define XSP_ANALYZE_KERNELS_A11_KERNEL_LAYERS_H

#include "analyze/kernels/kernels.h"

enum {
  KERNEL_LAYER_INDEX,
  KERNEL_LAYER_NAME,
  KERNEL_LAYER_TYPE,
  KERNEL_LAYER_LATENCY,
  KERNEL_LAYER_KERNELS,
  KERNEL_LAYER_PCT,
  KERNEL_LAYER_COUNT,
  KERNEL_LAYER_METRICS,
  KERNEL_LAYER_SPREAD = KERNEL_LAYER_METRICS + METRIC_COLUMN_COUNT,
  KERNEL_LAYER_PARTIAL = KERNEL_LAYER_SPREAD + 4,
  KERNEL_LAYER_FROM,
  KERNEL_LAYER_LAYER_FROM,
  KERNEL_LAYER_MODEL_FROM,
  KERNEL_LAYER_COLUMN_COUNT
};
#define KERNEL_LAYER_COLUMNS                                                                                           \
  COLUMN("layer_index", "", "index"), COLUMN("layer_name", "", "layer"), COLUMN("layer_type", "", "type"),             \
      COLUMN("layer_latency_ms", "ms", "latency"), COLUMN("kernel_latency_ms", "ms", "kernels"),                       \
      COLUMN("latency_pct", "%", "of model"), COLUMN("count", "", "count"), METRIC_COLUMNS, SPREAD_COLUMNS,            \
      COLUMN("partial", "", "partial"), COLUMN("latency_from", "", "from"),                                            \
      COLUMN("layer_latency_from", "", "layer from"), COLUMN("model_latency_from", "", "model from")

// Rows with these columns, further ones being left null: row i is layer i. Summary and notes.
enum status kernel_layers_told(struct question *question, const struct table_column *columns, size_t column_count,
                               struct kernels *ret_kernels, struct roofs *ret_roofs, struct error *err) MUST_CHECK;
void kernel_layers_drop_empty(struct question *question);

#endif
