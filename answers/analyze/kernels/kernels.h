// SPDX-License-Identifier: Apache-2.0
// The kernels of one batch size, paired across observations and across the sets that answer for latencies and for
// metrics; groups of them, and their figures. Shared by A8 to A15.
//
//   kernels_answer (or question_batch + kernels_load) -> kernels_group_… -> kernel_groups_figures -> kernel_point
#ifndef XSP_ANALYZE_KERNELS_KERNELS_H
#define XSP_ANALYZE_KERNELS_KERNELS_H

#include "analyze/kernels/device_rows.h"
#include "analyze/layers/layers.h"

#define KERNEL_NO_LAYER UINT32_MAX

struct kernel {        // one kernel call of the workload: a row of A8
  const char *name;    // in full
  uint32_t layer;      // index into kernels.layers.items; KERNEL_NO_LAYER. Of a graph's node, what captured it
  uint32_t launched;   // the layer that launched the graph; KERNEL_NO_LAYER: none did, or it is in no graph
  uint32_t name_group; // index into kernels.names
  size_t present;      // observations that have it; 0: only metric runs have it
};
enum kernels_use {
  KERNELS_ALONE,    // A8, A9, A10: layers are known where the set has them
  KERNELS_BY_LAYER, // A11, A12, A14: the set has layers too
  KERNELS_IN_LAYER, // A13: the same, or the serialised set that answers for layer latencies
  KERNELS_BY_MODEL, // A15: M/K before M/L/K
};
struct kernel_calls { // executions in one set, by kernel: kernel k's are first[k] … first[k + 1] - 1, by observation
  size_t *first;
  uint32_t *observation;           // index within the set
  uint32_t *calls;                 // how many calls were added up to one execution; NULL: each is one
  int64_t *duration_ns;            // NULL in metric runs
  double *metrics[KERNEL_METRICS]; // NULL: of none
  size_t observation_count;
};
struct kernels {
  enum kernels_use use;
  int64_t batch_size;
  const struct view_set *set;        // whose latencies are reported
  const struct view_set *metric_set; // whose metrics are reported; NULL: none
  const struct view_set *layer_set;  // whose layer latencies are reported (by layer); NULL: none
  struct layer_source source;        // of these latencies
  const struct view_set *model_set;  // whose model latency is reported; NULL: none
  const char *from, *model_from;     // NULL: these are the sets that should answer
  struct kernel *items;              // in execution order; those that only metric runs have come last
  size_t count, measured;            // measured: with a latency
  const char **names;                // different kernel names
  size_t name_count;
  struct layers layers;               // paired over all sets at once
  struct layers layer_side;           // the same as layer_set has them
  size_t layers_listed;               // layers that `set` or `layer_set` has: they come first
  size_t observation_count;           // of `set`
  double *gpu_ms;                     // per observation: union of all kernels, copies and memory sets
  double *layer_gpu_ms;               // the same by layer and observation (by layer); NaN where the layer is not
  double *outside_ms, *outside_count; // per observation: kernels in no layer
  double model_latency_ms;            // NaN: unknown
  bool has_metric[KERNEL_METRICS];    // any kernel of the metric set has it
  size_t open, unobserved;            // kernels left out: never finished, in no observation
  struct kernel_calls calls;          // of `set`
  struct kernel_calls metric_calls;   // of `metric_set`
  // By kernel, where there is a metric set: its latency; what one call does, NaN: not measured. NULL: no kernel has the metric
  double *latency_ms, *metrics[KERNEL_METRICS];
  size_t lacking_precisions; // kernels without flops, since only some precisions were counted
  uint32_t lacking_example;  // bits of those that were, of one such kernel
};

// Chooses sets by the level rule, loads and pairs. `batch_size` has the level (kernels_exist, kernels_exist_by_layer).
enum status kernels_load(struct question *question, int64_t batch_size, enum kernels_use use,
                         struct kernels *ret_kernels, struct error *err) MUST_CHECK;
// Fills the sets and where figures come from; set is NULL where no run has the level (sets.c).
enum status kernel_sets_choose(struct question *question, int64_t batch_size, enum kernels_use use,
                               struct kernels *ret_kernels, struct error *err) MUST_CHECK;
static inline bool kernels_are_by_layer(enum kernels_use use)
{
  return use == KERNELS_BY_LAYER || use == KERNELS_IN_LAYER;
}
bool kernels_exist(const struct view *view, int64_t batch_size);
bool kernels_exist_by_layer(const struct view *view, int64_t batch_size);
bool kernels_exist_by_layer_with_metrics(const struct view *view, int64_t batch_size);
// Chooses the batch size (question_batch; `needs_metrics`: among those with metrics), loads, fills the question's run set and
// notes.
enum status kernels_answer(struct question *question, enum kernels_use use, bool needs_metrics,
                           struct kernels *ret_kernels, struct error *err) MUST_CHECK;
bool kernels_have_metrics(const struct kernels *kernels); // flops or DRAM traffic
enum status kernels_need_metrics(const struct question *question, const struct kernels *kernels,
                                 struct error *err) MUST_CHECK;              // else STATUS_NO
void kernels_note(struct question *question, const struct kernels *kernels); // what kernels_answer notes
void kernels_note_no_model(struct question *question);                       // that shares of the model are not given
// Notes which metrics a roofline needs and no kernel has.
void kernels_note_lacking(struct question *question, const struct kernels *kernels);
// Of condensed runs: replaces gpu_ms and layer_gpu_ms (condensed.c).
void kernels_take_condensed(struct kernels *kernels);
void kernels_measure(struct question *question, struct kernels *kernels); // fills latency_ms and metrics (metrics.c)
// Calls `add` for each batch size with the kernel level that the request wants, with scratch of its own. STATUS_NO: none.
enum status kernels_each_batch(struct question *question,
                               enum status (*add)(struct question *question, int64_t batch_size, void *context,
                                                  struct error *err),
                               void *context, size_t *ret_count, struct error *err) MUST_CHECK;
// kernels_without_layer, kernels_without_layer_ms
void kernels_summarize_outside(struct question *question, const struct kernels *kernels);
// The rows' latency_from: the set, if another one should have answered; else NULL.
const char *kernels_from(const struct kernels *kernels);

struct figure kernels_layer(struct question *question, const struct kernels *kernels, size_t layer); // of layer_set
double kernels_layer_gpu_ms(struct question *question, const struct kernels *kernels, size_t layer); // union; as A13

// ---- groups ---------------------------------------------------------------------------------------------------------
enum groups_kind {
  GROUPS_EACH,
  GROUPS_NAMES,
  GROUPS_LAYER_NAMES,
  GROUPS_LAYERS,
  GROUPS_THIRDS,
  GROUPS_ALL_LAYERS,
  GROUPS_ALL
};
struct kernel_groups {
  struct question *question;
  const struct kernels *kernels;
  size_t count;
  enum groups_kind kind;  // a layer, a third or a model without kernels has 0, not nothing
  const uint32_t *number; // GROUPS_LAYER_NAMES: by kernel; UINT32_MAX: in none
  uint32_t *first, *row;  // kernels of group g: row[first[g]] … row[first[g + 1] - 1]
  struct group_scratch *scratch;
};
struct kernel_figures {
  double count;                   // calls in an observation
  struct figure latency;          // in ms; its values are valid until the next call
  double metrics[KERNEL_METRICS]; // sums (metric_kind.is_mean: means weighted by latency); NaN: not measured
  double dram_bytes;              // reads and writes
  double intensity;               // flops/byte; of one kernel also where no kept observation has it
  double metric_latency_ms; // that throughput is over: with --partial-metrics of the kernels whose flops are known
  double coverage_pct;      // of the latency: kernels with all metrics; NaN: no metric set
  bool is_partial;          // some metric lacks kernels (--partial-metrics)
  bool is_mixed;            // and its sums are of different kernels: nothing follows from two of them
  double roof_flops[PRECISION_COUNT]; // by precision, that the roof is chosen by; of one kernel not scaled
};
extern const struct kernel_figures kernel_figures_none;
struct kernel_groups kernels_group_each(struct question *question, const struct kernels *kernels); // group = item
struct kernel_groups kernels_group_by_name(struct question *question, const struct kernels *kernels);
// Layer by layer, in the order in which a layer's kernels run first; without kernels that no latency set has, or that are in no layer.
struct kernel_groups kernels_group_by_layer_and_name(struct question *question, const struct kernels *kernels);
struct kernel_groups kernels_group_by_layer(struct question *question, const struct kernels *kernels);
void kernel_groups_figures(struct kernel_groups *groups, size_t group, struct kernel_figures *ret_figures);
// Of the layers, by position.
struct kernel_groups kernels_group_by_third(struct question *question, const struct kernels *kernels);
struct kernel_figures kernels_figures_of_all(struct question *question, const struct kernels *kernels);
struct kernel_figures kernels_figures_in_layers(struct question *question, const struct kernels *kernels);

// ---- a group under its roof -----------------------------------------------------------------------------------------
struct kernel_point {
  const struct roof *roof;
  double intensity, throughput_flops_per_s; // by kernel latency
  const char *bound, *precision;            // NULL: unknown
  struct table_cell is_latency_bound, above_roof;
};
void kernel_point(const struct question *question, const struct roofs *roofs, const struct kernel_figures *figures,
                  struct kernel_point *ret_point);
#define KERNELS_SUM_OF_MODEL "model, sum" // of gpu_pct: above 100 % where kernels run side by side
// Kernels added up, the union of device work, the rest of the latency; what gpu_pct is of is the analysis's own.
void kernel_put_gpu(struct table_builder *table, double kernel_ms, double gpu_ms, double non_gpu_ms, const char *of,
                    double gpu_pct);
void kernel_put_coverage(struct table_builder *table,
                         const struct kernel_figures *figures); // of the latency, by metrics
// A column for each further metric of the request.
void kernel_put_further(struct table_builder *table, const struct analyze_request *request,
                        const struct kernel_figures *figures);
// DRAM reads and writes, occupancy, and the point under the roof.
void kernel_put_traffic(struct table_builder *table, const struct kernel_figures *figures,
                        const struct kernel_point *point);
// The same, with flops before and more about the point after them.
void kernel_put_metrics(struct table_builder *table, const struct kernel_figures *figures,
                        const struct kernel_point *point);

#endif
