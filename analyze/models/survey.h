// SPDX-License-Identifier: Apache-2.0
// Questions about all experiments of all files at once: the papers' tables (T8 to T11). They ask the analyses of one
// experiment (A1, A6, A15 …) and put what these answer side by side, so that a figure here is the one that they print.
// Private to analyze.
#ifndef XSP_ANALYZE_MODELS_SURVEY_H
#define XSP_ANALYZE_MODELS_SURVEY_H

#include "analyze/view.h"

struct survey_item { // an experiment of one of the files
  struct experiment_runs of;
  const struct store_system_value *system, *workload;
  size_t system_count, workload_count;
  const char *model_name;  // as its workload names it, else by the workload's file, else the experiment's name
  const char *system_name; // tells it from the other systems of the survey; NULL: nothing is known of it
  size_t system_number;    // equal systems have the same, from 0
};
struct survey_note;
struct survey {
  const struct analysis *analysis;
  const struct analyze_request *request;
  struct arena *arena; // of the answer
  struct store *const *stores;
  size_t store_count;
  struct survey_item *items; // in the order of the files
  size_t count;
  struct table_builder table;
  int64_t observations; // behind the model latencies told
  // what is asked of one experiment, until survey_next
  struct arena asked;
  struct analyze_cache *cache;
  struct survey_note *notes; // by first mention
  size_t note_count;
  struct store *broken; // whose file turned out to be, where the answer fails with STATUS_INPUT
};

// Answers `analysis` about all experiments of the stores.
enum status survey_run(const struct analysis *analysis, struct store *const *stores, size_t store_count,
                       const struct analyze_request *request, struct arena *arena, struct table **ret_tables,
                       size_t *ret_count, struct error *err) MUST_CHECK;

// ---- asking ----------------------------------------------------------------------------------------------------------
// The answer of `analysis` for one experiment; *ret_has is false where it lacks what is needed. batch 0: the default rule.
// Valid until survey_next.
enum status survey_ask(struct survey *survey, const struct survey_item *item, const struct analysis *analysis,
                       int64_t batch, bool computing_only, struct table *ret_table, bool *ret_has,
                       struct error *err) MUST_CHECK;
// Another table over the same files: one whose rows are the items, in their order.
enum status survey_table(struct survey *survey, const struct analysis *analysis, struct table *ret_table,
                         struct error *err) MUST_CHECK;
void survey_next(struct survey *survey); // gives back what was asked
// Cells of an answer, kept for the survey's own table. Null where there is no such key, row or answer.
struct table_cell survey_cell(struct survey *survey, const struct table *table, size_t row, const char *key);
struct table_cell survey_summary(struct survey *survey, const struct table *table, const char *key);
// A value of the workload's table; NULL: not there.
const struct store_system_value *survey_workload(const struct survey_item *item, const char *key);
struct table_cell survey_workload_cell(struct survey *survey, const struct survey_item *item, const char *key);
// `text` concerns this experiment: one note names all that it concerns.
void survey_note(struct survey *survey, const struct survey_item *item, const char *text);
// STATUS_NO: nothing of what was asked is in any of the files.
enum status survey_lacks(const struct survey *survey, struct error *err, const char *why);

#endif
