// SPDX-License-Identifier: Apache-2.0
// A row of A11, which A14 has with the roofs and the analytic work.
#ifndef XSP_ANALYZE_KERNELS_A11_KERNEL_LAYERS_H
#define XSP_ANALYZE_KERNELS_A11_KERNEL_LAYERS_H

#include "analyze/kernels/kernels.h"

struct kernel_layer {
  const struct layer *layer;
  const char *launched_by; // the layer that launches the graph with its kernels; NULL: none does
  double layer_ms;
  struct kernel_figures figures; // of its kernels
  double latency_pct;
  struct kernel_point point;
  bool is_partial;
  const char *from, *layer_from, *model_from;
  const struct layer_source *source; // of layer_ms
  const struct analyze_request *request;
};

// Layer `index`; valid until the next call. `groups`: by layer.
struct kernel_layer kernel_layer(struct question *question, const struct kernels *kernels, struct kernel_groups *groups,
                                 const struct roofs *roofs, size_t index);
void kernel_layer_put(struct table_builder *table, const struct kernel_layer *row); // begins the row
// Loads what A11 and A14 answer from; their notes and summary.
enum status kernel_layers_load(struct question *question, bool needs_metrics, struct kernels *ret_kernels,
                               struct roofs *ret_roofs, struct error *err) MUST_CHECK;
void kernel_layers_summarize(struct question *question, const struct kernels *kernels);

#endif
