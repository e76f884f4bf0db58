// SPDX-License-Identifier: Apache-2.0
// What the tables of a history share. Inside this room only.
#ifndef XSP_HISTORY_TABLES_H
#define XSP_HISTORY_TABLES_H

#include "history/figures.h"
#include "table/builder.h"

struct table_cell figure_cell(const struct history_record *record, const char *key);

// How many levels were recorded while the latency was measured: their overhead is in it. A measurement that is no latency's own
// (serialised, with metrics) has more than any other. Unknown: as M.
unsigned history_level_count(const struct history_record *record);

// cross.c: the latest record of each model (row) in each framework, or on each host (column); of latencies the latest of those with
// the fewest levels.
enum status cross_table(const struct history *history, enum history_table_kind kind,
                        const struct history_request *request, struct table_builder *table,
                        struct error *err) MUST_CHECK;

// models.c: the records of a model of one version in one framework on one host.
struct history_model {
  const struct history_record **records; // latest first
  size_t count;                          // at least 1
};
struct history_model *history_models(const struct history *history, struct arena *arena, size_t *ret_count);
double history_model_number(const struct history_model *model, const char *key); // the latest; NaN: unknown
// The latest latency at batch size 1, and the largest of the latest throughputs at each batch size, at the smallest one that has it;
// each of the measurements with the fewest levels. NULL: unknown.
const struct history_record *history_model_online(const struct history_model *model);
const struct history_record *history_model_fastest(const struct history_model *model);
// The key of the first metric that was evaluated, else of the first that is reported, and its figures (NaN: unknown). NULL: none.
const char *history_model_accuracy(const struct history_model *model, double *ret_reported_pct,
                                   double *ret_evaluated_pct);
void history_models_put(const struct history *history, struct table_builder *table); // a row for each

// depth.c: figures of T9, at the optimal batch size of an experiment.
#define DEPTH_KEYS 25
#define HISTORY_DEPTH_PREFIX "depth."
// T9 of a file, a row for each experiment; without rows where it has none of the levels.
enum status history_depth_read(struct store *store, struct arena *arena, struct table *ret_table,
                               struct error *err) MUST_CHECK;
// The row's figures, if it is of this batch size: at most DEPTH_KEYS. Returns how many.
size_t history_depth_figures(const struct table *depth, size_t experiment, int64_t batch, struct arena *arena,
                             struct store_system_value *ret_figures);
const struct history_record *history_model_deep(const struct history_model *model); // the latest with them; NULL: none
// "arithmetic_intensity" of such a record; NaN: unknown.
double history_depth_number(const struct history_record *record, const char *name, struct arena *arena);
void history_depth_put(const struct history *history, struct table_builder *table); // a row for each model
// A row for each model in another framework than the base, on a host that has both. NULL: the base has most models.
enum status history_frameworks_put(const struct history *history, const char *base, struct table_builder *table,
                                   struct error *err) MUST_CHECK;

#endif
