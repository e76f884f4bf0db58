// SPDX-License-Identifier: Apache-2.0
// Questions about all experiments of all files at once: the papers' tables (T8 to T11). They call the typed functions of
// the analyses of one experiment (A1, A6, A15 …), so that a figure is the same in both.
#ifndef XSP_ANALYZE_MODELS_SURVEY_H
#define XSP_ANALYZE_MODELS_SURVEY_H

#include "analyze/view.h"

struct survey_item { // an experiment of one of the files
  struct experiment_runs of;
  const struct store_system_value *system, *workload, *evaluation;
  size_t system_count, workload_count, evaluation_count;
  const char *model_name;  // as its workload names it, else by the workload's file, else the experiment's name
  const char *system_name; // unique in the survey; NULL: unknown
  size_t system_number;    // equal systems have the same, from 0
};
#define SURVEY_NAMES_MOST 8 // that a note lists
struct survey_note {        // a note and whom it concerns
  const char *text;
  const struct survey_item *items[SURVEY_NAMES_MOST];
  size_t count;
  const struct survey_item *last;
};
struct survey {
  const struct analysis *analysis;
  const struct analyze_request *request;
  struct arena *arena; // of the answer
  struct store *const *stores;
  size_t store_count;
  struct survey_item *items; // in the order of the files
  size_t count;
  struct table_builder table;
  int64_t observations;      // of the reported model latencies
  struct arena asked;        // what was loaded of one experiment, until survey_next
  struct view *view;         // of that experiment
  struct survey_note *notes; // by first mention
  size_t note_count;
  struct store *broken; // whose file turned out to be, where the answer fails with STATUS_INPUT
};

// Answers `analysis` about all experiments of the stores.
enum status survey_run(const struct analysis *analysis, struct store *const *stores, size_t store_count,
                       const struct analyze_request *request, struct arena *arena, struct table **ret_tables,
                       size_t *ret_count, struct error *err) MUST_CHECK;

// ---- asking ---------------------------------------------------------------------------------------------------------
// A question about one experiment, for the typed functions of the analyses. Their results live until survey_next.
enum status survey_question(struct survey *survey, const struct survey_item *item, int64_t batch, bool computing_only,
                            struct question **ret_question, struct error *err) MUST_CHECK;
// Returns `status`; STATUS_INPUT marks the item's file as broken.
enum status survey_check(struct survey *survey, const struct survey_item *item, enum status status) MUST_CHECK;
void survey_next(struct survey *survey);                          // frees what was loaded of the experiment
const char *survey_text(struct survey *survey, const char *text); // a copy that lives as long as the answer; NULL: NULL
// A value of the workload's table; NULL: not there.
const struct store_system_value *survey_workload(const struct survey_item *item, const char *key);
const struct store_system_value *survey_evaluation(const struct survey_item *item, const char *key); // the same
struct table_cell survey_workload_cell(const struct survey_item *item, const char *key);
// One note per `text`, a literal; it names all experiments that the text was noted for.
void survey_note(struct survey *survey, const struct survey_item *item, const char *text);
// STATUS_NO: nothing of what was asked is in any of the files.
enum status survey_lacks(const struct survey *survey, struct error *err, const char *why);

#endif
