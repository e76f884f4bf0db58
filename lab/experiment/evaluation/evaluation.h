// SPDX-License-Identifier: Apache-2.0
// Models over a labelled data set: how often they are right, and what that takes. One runner process per model, one after the other;
// all in one file, an experiment for each model.
#ifndef XSP_EXPERIMENT_EVALUATION_EVALUATION_H
#define XSP_EXPERIMENT_EVALUATION_EVALUATION_H

#include "experiment/evaluation/accuracy/accuracy.h"
#include "experiment/evaluation/data_set.h"
#include "experiment/evaluation/outputs.h"
#include "experiment/evaluation/scenario.h"
#include "experiment/model_experiment.h"
#include "format/protocol.h"
#include "processing/processing.h"
#include "table/builder.h"

#define EVALUATION_MODELS_MOST 64
#define EVALUATION_RUNS_LEAST 10u // inferences, before a precision is looked at
#define EVALUATION_UNREADABLE "pictures that could not be read and were left out: %zu" // a note of table and file

struct evaluation_model {
  struct profile_options profile; // runner, the only variant, name, command, workload, levels: sets[0]
  enum output_kind kind;          // of what is evaluated
  const char *output;             // OUTPUT_SCORES: which one; "": the only one
  const char *const *labels;      // names of the classes, or the tokens' texts; NULL: none
  const char *separator;          // OUTPUT_TEXT: between tokens
  size_t label_count;
};
struct evaluation_options {
  const struct evaluation_model *models;
  size_t model_count;
  struct data_set *set; // resolved anew for each model
  size_t limit;         // only the first items; 0: all
  int64_t batch;
  unsigned warmups; // inferences before, with the first items
  double
      precision_pct; // goes on with the items until the 95 % interval of the latency is within this share of it; 0: each once
  unsigned runs_most;                  // with a precision: inferences
  const struct scenario *scenarios;    // measured after the items
  size_t scenario_count, sample_count; // at most SCENARIO_KINDS; pictures that are kept for them
  const char *output_path;
  bool force;
  bool keep_outputs;    // in the file
  progress_fn progress; // may be NULL
  message_fn warning;
  struct lane_watcher watcher;
  const volatile sig_atomic_t *interrupted;
};

struct evaluation_item { // what a model made of an item
  size_t count;          // of `best`; 0: not evaluated
  struct {
    size_t place;
    float score;
  } best[PROTOCOL_SCORES]; // the best one first
  size_t wanted;           // place of its label; DATA_NO_CLASS: unknown
};
struct evaluation_result { // of a model
  struct profile_found found;
  enum data_resolution resolution;
  struct evaluation_item *items; // as many as are evaluated of the set; owned
  size_t item_count;
  struct predictions predictions;            // unless OUTPUT_SCORES
  struct accuracy accuracy;                  // the same; in evaluation.arena
  size_t labelled, first_right, among_right; // items with a known class; those whose best, one of whose best is right
  size_t one_after, one_before;              // whose best is the class next to the label's
  unsigned inferences;                       // that are no warm-up
  double reach_pct;                          // with a precision: of the latency's interval; NaN: unknown
  double *latencies_ms;                      // of inferences that are no warm-up; owned
  size_t latency_count;
  struct divergence divergence;                     // from the first model; of the first model: {0}
  double preprocess_ms, postprocess_ms;             // of an item, mean without warm-up; NaN: none
  struct scenario_result scenarios[SCENARIO_KINDS]; // as the options have them
};
struct evaluation {
  struct arena arena;
  struct store *store; // finished, open for reading; owned
  struct evaluation_result results[EVALUATION_MODELS_MOST];
  bool was_interrupted;
};

// On error no output file appears and an old one is untouched. evaluation_done also after an error.
enum status evaluation_run(const struct evaluation_options *options, struct evaluation *ret_evaluation,
                           struct error *err) MUST_CHECK;
void evaluation_done(struct evaluation *evaluation);

// times.c: the latencies and the stages' means of a finished file.
enum status evaluation_times_read(struct store *store, const struct evaluation_options *options, size_t number,
                                  struct evaluation_result *result, struct error *err) MUST_CHECK;

// figures.c
// Outputs of several models are compared; but not boxes, of which a picture may have any number.
bool evaluation_compares(const struct evaluation_options *options);
// Puts the figures of a model into the current row. Table `evaluation` of the file gets each of them under its key, so that a figure
// is one line here.
void evaluation_put_figures(struct table_builder *table, const struct evaluation_options *options,
                            const struct evaluation *evaluation, size_t number);
// The same for a scenario that was measured.
void evaluation_put_scenario(struct table_builder *table, const struct scenario *scenario,
                             const struct scenario_result *result);
// Writes them into the file, with the data and the batch size that they hold for. Unknown ones are left out.
enum status evaluation_keep(struct store *store, const struct evaluation_options *options,
                            const struct evaluation *evaluation, size_t number, struct error *err) MUST_CHECK;

#endif
