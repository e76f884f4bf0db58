// SPDX-License-Identifier: Apache-2.0
// Questions asked of a correlated file. One file = one analysis, all in the table `analyses[]`; definitions: analyses.md
// in docs/. Each returns a typed table; report/ renders it. Front door of analyze.
#ifndef XSP_ANALYZE_ANALYZE_H
#define XSP_ANALYZE_ANALYZE_H

#include "analyze/intervals.h"
#include "analyze/options.h"
#include "analyze/series.h"
#include "base/headway.h"
#include "correlate/correlate.h"
#include "format/detail.h"
#include "table/table.h"

// ---- the question ---------------------------------------------------------------------------------------------------
// What several questions about the same open stores share: experiments, their views (answers/analyze/view.h), their findings, columns
// of runs, and layer rows. Starts as {.bytes_most = …}, the most that columns and rows take between two questions;
// analyze_cache_done empties it.
struct analyze_cache {
  size_t bytes_most;
  bool findings_follow;          // their table is asked for after the cause, whose question then answers it
  struct arena arena;            // of columns and rows
  struct analyze_shared *shared; // in it; NULL: nothing yet
  struct arena lasting;          // of the others
  struct experiment_runs *experiments;
  size_t experiment_count;
  struct view **views,
      **views_of_all;              // one per experiment, of its main and of all kinds of calls; NULL: not loaded yet
  struct kept_findings **findings; // of findings/kept.c, one per experiment; NULL: not asked yet
};
void analyze_cache_done(struct analyze_cache *cache);
struct analyze_request {
  int64_t batch;         // 0: the default rule
  const char *layer;     // "outermost", "innermost", "module"; NULL: the run's default
  const char *signature; // of the kind of calls: a part of it, or its number; NULL: the one with the most time
  const char *statistic; // "mean", "median", "min", "max", "pNN", "trimmed:F", "trimmed-each:F"; NULL: trimmed:0.2
  const char *sort;      // key or label; NULL: the analysis's own order, with `top` the order by its main figure
  int64_t top;           // 0: all
  const char *by;        // L0: "layer"; A10: "batch", "system", "framework", "experiment"; A22: "line", …
  double optimal_threshold_pct;      // 5
  const char *optimal;               // "latency<=10ms", or NULL
  double latency_threshold_pct;      // 5
  double asynchronous_threshold_pct; // 5
  double small_overhead_pct;         // 5, of the latency before: L0 finds no overhead that is surely smaller
  const char *latency_basis;         // of layers: "host" or "device"; NULL: by that threshold
  const char *kernel_level;          // "kernel" or "library": whose spans are the kernels; NULL: kernel
  const char *const *metrics; // further metrics of kernels, by their tags: --metric; at most ANALYZE_METRICS_MOST
  size_t metric_count;
  bool partial_metrics;        // sums of metrics over those kernels that have them, where others lack them
  struct analyze_cache *cache; // NULL: none
  const char *base;            // T10: the framework that others are normalised to, "NAME" or "NAME==VERSION"; else NULL
  bool reads_source;           // findings: titles may have a line of the program's source; never of a server's answer
  bool cold;                   // the first inferences of fresh processes, in place of all other runs
  bool computing_only;         // layers of category constant, variable, input, output and control are left out
  const char *const *only;     // findings: ids or keys of those that are asked for; none: all
  size_t only_count;
  bool only_has_own;             // names that no built-in finding has are the caller's own
  double least_gain_pct;         // 2; findings: of the program's time
  const char *const *thresholds; // findings: "NAME=VALUE" each
  size_t threshold_count;
  const char *const *left_out; // files that could not be opened, "PATH: why"; the answer's notes name them
  size_t left_out_count;
  struct headway_watcher watcher;     // of the rules of findings
  struct headway_watcher run_watcher; // of the runs that are read, of other analyses
};
void analyze_request_init(struct analyze_request *request);
// Takes an option of options.h by its name; value "" of a flag. Texts are borrowed, lists are in `arena`. STATUS_USE: no such
// option, or not a value of it.
enum status analyze_option_read(const char *name, const char *value, struct arena *arena,
                                struct analyze_request *request, struct error *err) MUST_CHECK;
// `options`: names and values in turn, then NULL; or NULL.
enum status analyze_options_read(const char *const *options, struct arena *arena, struct analyze_request *ret_request,
                                 struct error *err) MUST_CHECK;

struct question;
struct survey;
struct analysis {
  const char *id;   // "A2"
  const char *name; // a word that names it as well; NULL: none
  const char *title;
  const char *summary;      // for help, where the title does not say enough; else NULL
  const char *needs;        // "L": for help and for the status-1 message
  const char *main_figure;  // key of the column that --top sorts by; NULL: its own order has the first rows first
  enum trace_detail detail; // so much of a trace gives the same answer as all of it
  bool is_of_program;       // about all kinds of calls together, where the request names none
  bool takes_folded;        // answers without spans: `xsp run --aggregate`
  // Fills one experiment's table; analyze_run asks it of each. struct question is the room's own (answers/analyze/view.h).
  enum status (*answer)(struct question *question, struct error *err);
  // Fills one table over all experiments of all files (answers/analyze/models/survey.h): instead of `answer` if that is NULL, else where
  // the request has `by`.
  enum status (*answer_all)(struct survey *survey, struct error *err);
};
extern const struct analysis *const analyses[]; // ends with NULL
bool analysis_is_over_all(const struct analysis *analysis, const struct analyze_request *request);
const struct analysis *analyze_find(const char *id); // or name; case-insensitive; NULL
// Names are the same where their letters and digits are, in any case: "ResNet50 v1", "resnet50_v1".
bool analyze_is_same_model(const char *a, const char *b);

// Runs one analysis, applies --sort and --top. Stores must be correlated (correlate_ensure). STATUS_NO where the files lack
// what it needs, STATUS_USE for a bad statistic, key or layer mode.
enum status analyze_run(const char *id, struct store *const *stores, size_t store_count,
                        const struct analyze_request *request, struct arena *arena, struct table **ret_tables,
                        size_t *ret_count, struct error *err) MUST_CHECK;

// Whether the system is this machine, by its name.
enum status analyze_is_here(struct store *store, int64_t system_id, struct arena *scratch, bool *ret_is_here,
                            struct error *err) MUST_CHECK;
const char *analyze_severity(double pct); // of what a finding could save, else of its share: "high", "medium", "low"
bool analyze_is_finding(
    const char *name); // an id ("F1", in any case) or a key ("hotspot") of answers/analyze/findings/
// STATUS_USE, with the nearest key after `option` ("--only") as advice.
enum status analyze_no_such_finding(const char *name, const char *option, struct error *err) MUST_CHECK;

// ---- the cause (answers/analyze/causes/) --------------------------------------------------------------------------------------
enum time_part { // of the observations' time, each without those before it: they add up to it. docs/analyses.md, "The cause"
  TIME_KERNELS,  // a device executes something other than copies
  TIME_COPIES,   // devices only copy or set memory
  TIME_LOADER,   // no device works, here and in all that follow; the observation's thread is in a data loader
  TIME_LAUNCHES, // the host is in a call that launches work
  TIME_CALLS,    // in another call of the device's interface: it allocates, waits, compiles
  TIME_LAYERS,   // in a layer
  TIME_RANGES,   // in another span within the observation
  TIME_REST,     // nothing was recorded
  TIME_PARTS
};
struct cause {
  const char *rule; // "data_loader", the key of the first rule that holds; report/ has a sentence for each
  // Of a program that `xsp run` recorded: the sentence itself, with what is most wrong, else where the time goes. text NULL: the
  // rule's sentence; file NULL, line 0: unknown.
  const char *text, *file;
  int64_t line;
  double share_pct; // of the program's loop
  struct store *store;
  int64_t experiment_id;
  const char *experiment; // name, unique in its file; NULL: the only one
  int64_t batch_size;     // 0: unknown, or the experiment has no other
  const char *levels;     // the set of runs that the figures come from
  double part_pct[TIME_PARTS];
  double idle_pct;     // no device works, not even after the observation's end; NaN: nothing was executed
  double loader_pct;   // in a data loader, whether or not a device works
  double kernel_ms;    // what a kernel takes on average; NaN: there is none
  double slower_times; // an observation's latency, over that of the runs at the model level alone; NaN: none
  const char *name;    // what the rule blames: a type of layers, a layer, a kernel; NULL: nothing particular
  double name_pct;     // its share of the layers' time (rule `kernels`: on devices), or of the kernels'; NaN: unknown
  const char *call;    // the call with most of TIME_CALLS; NULL: none has most
  const char *launch;  // one call that takes more than half of launches and layers; NULL: none does
  double launch_ms;    // what it takes while no device works
  const char *host;    // without layers: the host's span, by name, with most time while no device works; NULL: none
  double host_pct;     // of the time
  double unattributed_pct;                      // of the kernels' time, in no layer; NaN: not asked
  bool has_devices, has_layers, name_is_kernel; // has_devices: several
  bool is_of_program;                           // `xsp run` recorded it
};
// While no device works: the host runs layers and launches what they need, or is outside of them.
static inline double cause_operators_pct(const struct cause *of)
{
  return of->part_pct[TIME_LAUNCHES] + of->part_pct[TIME_LAYERS];
}
static inline double cause_outside_pct(const struct cause *of)
{
  return of->part_pct[TIME_RANGES] + of->part_pct[TIME_REST];
}
// The cause of each experiment for which a rule holds, in the order of the files; fewer than experiments where the figures show
// none. Of the request, `batch` and `cache` count.
enum status analyze_causes(struct store *const *stores, size_t store_count, const struct analyze_request *request,
                           struct arena *arena, struct cause **ret_causes, size_t *ret_count,
                           struct error *err) MUST_CHECK;

// ---- comparisons (answers/analyze/compare/) -----------------------------------------------------------------------------------
struct compare_side { // runs of experiments of one name, framework and version are pooled
  struct store *const *stores;
  size_t store_count;
  const char *experiment; // id, name or framework of the only one that counts; NULL: all
};
struct compare_request {
  struct analyze_request analyze; // batch, layer, statistic, basis; top: rows of each kind
  double least_pct;               // of a: smaller differences do not count
  double same_within_pct;         // of a: both are the same where the interval is within this
  const char *kind;               // "model", "layer" or "kernel": only these rows; NULL: all
};
struct compare_run {
  struct store *store;
  const struct store_run *run;
};
struct compare_answer {
  enum verdict verdict; // over all models
  struct {              // the model that decides; NaN: unknown
    double a_ms, b_ms, difference_pct, low_pct, high_pct;
    double further_observations; // on each side, that would probably decide
    const char *reason;          // why it is not decided, or not comparable; NULL
  } model;
  double slower_pct, slower_row_pct; // difference of the slowest model, and row, among those that are slower; NaN: none
  struct table rows;                 // its summary is of the comparison as a whole
  struct table unpaired[2];          // layers and kernels that only this side has
  struct table systems;              // what differs: key, a, b
  struct table scaling;        // parts of a step of jobs with other numbers of ranks; without rows: they are not that
  struct compare_run *runs[2]; // of all experiments that were compared, by side; file by file
  size_t run_counts[2];
};
void compare_request_init(struct compare_request *request);
// Compares b with a. Stores must be correlated. STATUS_USE where a side names no experiment, or several.
enum status analyze_compare(const struct compare_side *a, const struct compare_side *b,
                            const struct compare_request *request, struct arena *arena, struct compare_answer *ret,
                            struct error *err) MUST_CHECK;

// The latency of one model in all experiments of the stores, in order of creation, and where it changed: `rows` are experiments,
// `model` is the segment after the last change, b, against the one before it, a; `systems` what differs at that change. STATUS_USE
// where they are of several models.
enum status analyze_history(struct store *const *stores, size_t store_count, const struct compare_request *request,
                            struct arena *arena, struct compare_answer *ret, struct error *err) MUST_CHECK;

// ---- latencies (answers/analyze/runs/latencies.c), for histories -----------------------------------------------------------------
struct latency_point { // of an experiment at a batch size, as A1 has it
  struct store *store;
  int64_t experiment_id;
  int64_t batch_size;         // 0: unknown
  const char *levels;         // of the runs that it comes from
  size_t observations;        // without warm-up
  double throughput_per_s;    // NaN: unknown
  struct estimate latency_ms; // the statistic, and its error
  bool has_drift;             // by more than `same_within_pct`, as in a comparison
};
// In the order of the files, experiments and batch sizes; experiments without latencies have none. Runs of scenarios do not count.
// Stores must be correlated.
enum status analyze_latencies(struct store *const *stores, size_t store_count, const struct compare_request *request,
                              struct arena *arena, struct latency_point **ret_points, size_t *ret_count,
                              struct error *err) MUST_CHECK;

// ---- statistics (answers/analyze/statistics.c), also for `xsp profile`'s verdict --------------------------------------------
struct statistic {
  int kind;
  int64_t numerator, denominator; // the part that is trimmed, or a percentile
};                                // private to statistics.c
bool statistic_parse(const char *text, struct statistic *ret_statistic);
// STATUS_USE where the request's statistic is none.
enum status question_statistic_check(const struct analyze_request *request, struct statistic *ret_statistic,
                                     struct error *err) MUST_CHECK;
// True for the default, `mean` and `trimmed:F`: whole observations are left out, by their own latency, and every figure is the
// mean over the others, so that figures add up. False: each figure is the statistic of its own values.
bool statistic_trims_observations(const struct statistic *statistic);
// How many of `count` observations, or values, are left out at each end.
size_t statistic_cut(const struct statistic *statistic, size_t count);
// Over `count` values by themselves (reordered in place). NaN for count 0.
double statistic_apply(const struct statistic *statistic, double *values, size_t count);
double statistic_named(const char *name, double *values, size_t count); // the same, of "median", "p99", …
// Which part of the values is at most the figure: 0.5 for the median, 0 for the smallest; NaN for means.
double statistic_quantile(const struct statistic *statistic);
double statistic_cv_pct(const double *values, size_t count); // sample deviation / mean * 100; NaN for count < 2

#endif
