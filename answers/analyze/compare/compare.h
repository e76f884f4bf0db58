// SPDX-License-Identifier: Apache-2.0
// What the files of this folder share: the sides of a comparison, their parts, rows. Front door: answers/analyze/analyze.h.
#ifndef XSP_ANALYZE_COMPARE_COMPARE_H
#define XSP_ANALYZE_COMPARE_COMPARE_H

#include "analyze/experiments.h"
#include "analyze/layers/source.h"
#include "base/interner.h"
#include "base/vector.h"

#define ITEM_NONE SIZE_MAX

struct item {                      // a layer, or the kernels of one name in a layer
  const char *name, *type, *shape; // NULL: unknown
  const char *operation;           // the model's operator, where the type names an implementation; NULL
  uint32_t name_id;                // of comparing.names
  int64_t index;                   // of a layer
  size_t layer;                    // of kernels: its place among the side's layers; ITEM_NONE
  double *values_ms;               // per observation of the part's set; NaN: absent
};
struct compare_part {  // what a side has at one level. No items: of the model, the set's latencies
  struct view_set set; // pooled over the side's experiments; observation_count 0: there is none
  struct item *items;
  size_t count;
};
struct side { // experiments whose runs are pooled
  const struct experiment_runs **experiments;
  struct question **questions; // one per experiment
  size_t count;
  struct compare_part model, layers, kernels;
};
struct row {
  const char *kind; // "model", "layer", "kernel"
  const char *experiment;
  const char *name, *b_name, *type, *matched_by, *layer; // NULL: does not apply
  int64_t index;                                         // of a's layer; -1: none
  struct sample a, b;
  double difference_ms, low_ms, high_ms, observations_needed; // NaN: unknown
  enum interval_from from;
  enum verdict verdict;
  const char *reason; // of a verdict that is not decided, or not comparable; else NULL
};
struct unpaired_row {
  const char *kind, *experiment, *name, *type, *layer;
  int64_t index;
  double latency_ms;
};
struct comparing {
  const struct compare_request *request;
  struct arena *arena;          // of the answer
  struct arena *scratch;        // of one case
  struct analyze_request asked; // of the questions
  struct interner names;
  int64_t batch_size;      // of the last case; 0: unknown
  const char *experiment;  // of the case; NULL: the only one
  VECTOR(struct row) rows; // of all cases
  VECTOR(struct unpaired_row) unpaired[2];
  VECTOR(struct compare_run) runs[2];
  struct table_builder table;   // with the notes of all cases
  struct table_builder scaling; // jobs of other numbers of ranks
};

// ---- side.c: what the two sides have that can be compared -----------------------------------------------------------
// Chooses a batch size that all experiments have. *ret_are_comparable: false where there is none; each then has its own.
enum status sides_choose_batch(struct comparing *comparing, struct side sides[2], bool *ret_are_comparable,
                               struct error *err) MUST_CHECK;
// These fill a part of both sides, of equal levels and on one basis. *ret_are_comparable: false where there are none.
enum status sides_load_models(struct comparing *comparing, struct side sides[2], bool *ret_are_comparable,
                              struct error *err) MUST_CHECK;
enum status sides_load_layers(struct comparing *comparing, struct side sides[2], bool *ret_are_comparable,
                              struct error *err) MUST_CHECK;
enum status sides_load_kernels(struct comparing *comparing, struct side sides[2], bool *ret_are_comparable,
                               struct error *err) MUST_CHECK;
bool side_has_observations(const struct view *view, int64_t batch_size); // that are no warm-up
// Whose observations are compared as models. Without a model level those of the highest level that there is; NULL: none.
const struct view_set *side_latency_set(const struct question *question);
// The runs of several sets as one, in question->scratch. Figures over it are to be asked of `question`.
struct view_set side_sets_pool(struct question *question, const struct view_set *const *sets, size_t count);

// ---- pairs.c --------------------------------------------------------------------------------------------------------
// Adds a row for each model, layer and kernel that both sides have.
enum status compare_pairs_of_sides(struct comparing *comparing, struct side sides[2], struct error *err) MUST_CHECK;

// ---- scaling.c ------------------------------------------------------------------------------------------------------
// Adds rows where both sides are jobs, of other numbers of ranks.
enum status compare_scaling(struct comparing *comparing, const struct side sides[2], struct error *err) MUST_CHECK;

// ---- rows.c ---------------------------------------------------------------------------------------------------------
// Adds a row, and fills its samples, difference and verdict. Values as of item; NULL: the set's own latencies.
void compare_rows_add(struct comparing *comparing, const struct side sides[2], const struct view_set *a_set,
                      const double *a_ms, const struct view_set *b_set, const double *b_ms, bool are_comparable,
                      struct row row);
void compare_rows_add_unpaired(struct comparing *comparing, const struct side sides[2], unsigned which,
                               const struct view_set *set, const struct item *item, const char *kind);
// Sorts the rows, and makes the tables.
void compare_rows_answer(struct comparing *comparing, struct compare_answer *ret);
// The summary of an answer whose verdict and model are filled.
void compare_summarize(struct table_builder *table, const struct compare_request *request,
                       const struct compare_answer *answer, int64_t batch_size);

// ---- systems.c ------------------------------------------------------------------------------------------------------
struct experiments { // of one side
  struct experiment_runs *items;
  size_t count;
};
// What differs between the sides: the values of each fact in all experiments of one, and of the other.
enum status analyze_systems_answer(const struct experiments of[2], struct arena *arena, struct compare_answer *ret,
                                   struct error *err) MUST_CHECK;

#endif
