// SPDX-License-Identifier: Apache-2.0
// When devices work for the layers of a run, by process: what a layer's time on the host overlaps, where launches return
// before the work is done. docs/analyses.md, "Asynchronous layers".
#ifndef XSP_ANALYZE_LAYERS_DEVICE_TIME_H
#define XSP_ANALYZE_LAYERS_DEVICE_TIME_H

#include "analyze/layers/layer_row.h"
#include "analyze/layers/start_order.h"

struct busy;
struct device_time {     // device_time_done frees it, also after an error
  struct map process_of; // by track id
  struct busy *of;       // by process: the union of its layers' executions, of all observations
  size_t process_count;
};

// `counts_as`: by row, of layers: the layer that it counts as; ROW_NONE. `arena`: of the intervals.
enum status device_time_load(const struct run_columns *columns, const uint32_t *counts_as, struct arena *arena,
                             struct device_time *ret, struct error *err) MUST_CHECK;
void device_time_done(struct device_time *of);
// How long a device works for layers of the track's process within [from, to).
int64_t device_time_within_ns(const struct device_time *of, uint32_t track_id, int64_t from_ns, int64_t to_ns);
// Fills the items' executed_ns, and the rows' late_ms, executed_ms and covered_ms. `layers`: all layers that count, in
// observations or not.
void device_time_finish(const struct run_columns *columns, const struct layer_span *layers, size_t layer_count,
                        const struct device_time *of, struct arena *arena, struct layer_rows *rows);

#endif
