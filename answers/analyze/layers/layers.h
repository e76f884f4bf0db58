// SPDX-License-Identifier: Apache-2.0
// The layers of one set, paired across its observations.
#ifndef XSP_ANALYZE_LAYERS_LAYERS_H
#define XSP_ANALYZE_LAYERS_LAYERS_H

#include "analyze/layers/source.h"

struct layer {        // one layer of the workload: a row of A2
  uint32_t name;      // string id
  int64_t index;      // recorded, else its position in the observation that has most layers
  bool is_indexed;    // its index is recorded
  uint32_t iteration; // which execution of equal index and name in an observation, from 1; 0: the only one
  const char *name_text, *type, *shape; // NULL: unknown
  const char *module;                   // path of the torch.nn.Module that it is part of; NULL: unknown
  const char *source_layers;            // the model's nodes that became it, comma-separated; NULL: unknown
  const char *operation;                // the model's operator, where the type names an implementation; NULL: unknown
  const char *source;                   // the program's operations that it was made of, and their lines; NULL: unknown
  int64_t turns;                        // of a loop, in the first observation that has it; 0: it is none
  // One value per observation, those of the first set first; NaN: absent, or not measured.
  double *latency_ms, *alloc_bytes, *kernels;
  // Where a part is on the device basis (else NULL): the span's duration, the union of its executions, and its time on the host
  // while no device works for its process. The latter two add up to latency_ms.
  double *host_ms, *executed_ms, *alone_ms;
  size_t present; // observations of the first set that have it
  bool is_listed; // a listed set has it
};
struct layers_part { // a set whose layers are paired with those of others
  const struct view_set *set;
  struct device_rows_wanted wanted;
  bool on_device;           // the basis of its latencies
  bool is_unlisted;         // layers that only such sets have are no rows
  size_t first_observation; // filled in
};
struct layers_run { // one run of a part, as it was loaded
  const struct layers_part *part;
  const struct view_run *run;
  const struct layer_rows *rows;
  uint32_t *observation_of; // by observation of the run: where its values are; ROW_NONE: warm-up
  uint32_t *layer_of;       // by item of `rows`: which of the paired layers it is; ROW_NONE: of a warm-up
};
struct layers {
  const struct view_set *set; // the first
  enum layer_mode mode;
  struct layer_source source;
  struct layer *items; // in execution order; those that no listed set has come last
  size_t count, listed;
  size_t observation_count; // of the first set, or of the chosen part
  size_t first_observation; // of the chosen part; 0
  double *kernels;          // per observation: all category kernel, in layers or not
  double *covered_ms;       // per observation, on the device basis: while some layer is on the host or executes
  size_t outside, open;     // layers left out: in no observation, never finished
  bool alloc_is_outputs;    // alloc_bytes are of the layers' outputs, which more runs have than what layers allocated
  struct layers_run *runs;  // of all parts
  size_t run_count;
};

enum layer_value { LAYER_LATENCY, LAYER_ONE, LAYER_ALLOC, LAYER_KERNELS, LAYER_HOST, LAYER_EXECUTED, LAYER_ALONE };
enum layers_use {
  LAYERS_FOR_LATENCY,
  LAYERS_FOR_COUNT,
  LAYERS_FOR_MEMORY
}; // count and memory: by the level rule alone

// Loads the layers of sets, which pair with each other. The mode is the request's, else the first set's default. The parts
// must live as long as the layers.
enum status layers_load_parts(struct question *question, struct layers_part *parts, size_t part_count,
                              struct layers *ret_layers, struct error *err) MUST_CHECK;
// Chooses the batch size and the set, loads its layers, fills the question's run set and notes.
enum status layers_answer(struct question *question, enum layers_use use, struct layers *ret_layers,
                          struct error *err) MUST_CHECK;
// The set that model latencies come from which layers are compared with: that of the layers themselves on the device basis.
const struct view_set *layers_model_set(const struct question *question, const struct layers *layers,
                                        const char **ret_from);

// The layers as one part of them has them: sums and latencies are then of its observations.
struct layers layers_of_part(const struct layers *layers, const struct layers_part *part);

struct figure layer_latency(struct question *question, const struct layers *layers, const struct layer *layer);
void layer_put(struct table_builder *table, const struct layer *layer); // the columns index, name and type
// Another value; NaN: unknown.
double layer_value(struct question *question, const struct layers *layers, const struct layer *layer,
                   enum layer_value which);

// One sum per (group, observation), row by row; NaN where no layer of the group has the value. Layers that lack it are
// left out. `group_of`: each layer's group (NULL: all are in group 0).
double *layers_sums(const struct question *question, const struct layers *layers, const uint32_t *group_of,
                    size_t group_count, enum layer_value which);
double layers_total(struct question *question, const struct layers *layers, enum layer_value which);

struct thirds {      // of the layers, by position in execution order
  double pct[3];     // of the total; NaN: unknown
  const char *stage; // "B", "M" or "E", the largest; NULL: unknown
};
struct thirds layers_thirds_of(const double pct[3]);
struct thirds layers_thirds(struct question *question, const struct layers *layers, enum layer_value which);
void thirds_summarize(struct table_builder *table, struct thirds thirds); // beginning_pct, middle_pct, end_pct, stage

// ---- memory.c
void layers_note_alloc(struct question *question,
                       const struct layers *layers); // where it comes from, or why none has it
// STATUS_NO where no layer has alloc_bytes; notes how many have not.
enum status layers_need_alloc(struct question *question, const struct layers *layers, struct error *err) MUST_CHECK;
void layers_put_alloc_from(struct table_builder *table, const struct layers *layers); // the column alloc_from

#endif
