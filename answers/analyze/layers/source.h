// SPDX-License-Identifier: Apache-2.0
// Which set answers for layer latencies, and on which basis. docs/analyses.md, "Asynchronous layers".
#ifndef XSP_ANALYZE_LAYERS_SOURCE_H
#define XSP_ANALYZE_LAYERS_SOURCE_H

#include "analyze/layers/rows.h"

struct layer_source {
  const struct view_set *set; // NULL: no set has layers
  const char *from;           // latency_from; NULL: the set that the level rule names
  bool on_device;             // a layer's latency is its executions, and its time on the host without any
  double asynchronous_pct;    // of the device time in layers: after they returned on the host; NaN: none, or not asked
};

// Chooses the batch size, among those with layers (and kernels, for the device basis).
enum status layer_source_batch(struct question *question, struct error *err) MUST_CHECK;
// STATUS_NO where the request wants the device basis and no run has both layers and kernels.
enum status layer_source_choose(struct question *question, int64_t batch_size, struct layer_source *ret,
                                struct error *err) MUST_CHECK;
// "device" or "host"
const char *layer_source_basis(const struct layer_source *source);
// The rows' latency_basis, and the summary's, with asynchronous_pct.
void layer_put_basis(struct table_builder *table, const struct layer_source *source);
void layer_source_summarize(struct question *question, const struct layer_source *source);
// The request's mode of counting layers, else the default of the set's runs, else outermost. STATUS_USE: unknown.
#define LAYER_AUTOGRAD_NAME "autograd" // as a request's `layer`: A16's own
enum status layer_mode_choose(const struct question *question, const struct view_set *set, enum layer_mode *ret_mode,
                              struct error *err) MUST_CHECK;

#endif
