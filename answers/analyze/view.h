// SPDX-License-Identifier: Apache-2.0
// One experiment as the analyses see it: runs pooled into sets of equal configuration, their observations, and the rules
// that say which set answers (docs/analyses.md, "Which run answers").
#ifndef XSP_ANALYZE_VIEW_H
#define XSP_ANALYZE_VIEW_H

#include "analyze/analyze.h"
#include "table/builder.h"

struct view_run {
  const struct store_run *run;
  const struct store_observation *observations; // warm-up included
  size_t observation_count;
  int64_t batch_size;        // the run's, else its models' tag; 0: unknown
  bool has_several_batches;  // its observations have different ones
  int64_t accumulated;       // samples of its steps beyond that size: of more micro-batches, without warm-up
  const bool *is_other_kind; // by observation: of a kind of calls that the view is not about; NULL: all are of one
  bool is_cold;              // first inferences of fresh processes: only in the sets of a view of them
  bool is_in_set;
  bool calls_are_kernels;    // calls of the library level count as kernels; `run` has its levels so
  struct level_set recorded; // as they were recorded
};
struct view_set { // runs of one configuration: their observations are pooled, sets never are
  struct level_set levels;
  int64_t batch_size;
  const char *levels_text;
  const struct view_run **runs;
  size_t run_count;
  size_t observation_count; // without warm-up
  double inputs;            // of those, all together; 0: unknown
  double *latencies_ms;     // of those, run by run
  bool *is_kept;            // of those: counts in figures (question_start, by the question's statistic)
  size_t kept_count;
  const struct view_set *whole; // with the runs of all ranks, where `runs` are of some (sets.c); else NULL
};
struct view_kind {               // observations of one model and one signature
  const char *model, *signature; // NULL: not recorded
  int64_t batch_size;            // 0: unknown, or several
  size_t observations;           // that are no warm-up
  double total_ms;               // of those
  size_t place;                  // in order of their first observation
};
struct experiment_runs {
  struct store *store;
  const struct store_experiment *experiment;
  const char *name;             // unique within its file
  const struct store_run *runs; // of its file
  size_t run_count;
};
struct view {
  struct experiment_runs of; // what it was loaded from
  struct view_kind *kinds;   // that with the most time first
  size_t kind_count;         // 0: no observation has a signature, and all are of one model
  size_t kind;               // which one the sets are of; kind_count: of all together
  struct store *store;
  const struct store_experiment *experiment;
  struct view_run *runs;
  size_t run_count;
  struct view_set *sets; // by batch size, then fewest levels, metrics last, a serialised one after its own levels
  size_t set_count;
};
// What questions have loaded. `arena` owns it.
struct analyze_shared {
  struct arena *arena;
  size_t bytes_most; // of the arena: columns are not shared once it holds more
  struct cached_columns *columns;
  struct cached_rows *rows;
  struct counted_rows *counted; // of flops/layers.c
  struct paired_layers *paired; // of layers/layers.c
};
// One analysis of one experiment.
struct question {
  const struct analysis *analysis;
  const struct analyze_request *request;
  struct view *view;
  struct statistic statistic;
  struct arena *arena;           // of the answer
  struct arena *scratch;         // of temporary memory
  struct table_builder table;    // the answer
  double *room;                  // a value per observation of the largest set
  struct analyze_shared *shared; // what was loaded, also by other questions (cache.c)
  const struct kernel_place
      *place;                     // device rows of others are left out; NULL: none are. Only where `shared` is its own
  const struct time_parts *parts; // of `parts_set`, in scratch (causes/time_parts.c)
  const struct view_set *parts_set; // NULL: not loaded
  // run_set, filled by question_uses and question_batch
  int64_t batch_size;
  bool has_several_batches;
  const struct view_set **used;
  size_t used_count;
  // levels whose latencies come from another set, filled by question_note_from; one note per set
  struct note_from {
    const char *from;
    const char *levels[3];
    size_t level_count, note; // note: its place in table.notes
  } noted[8];
  size_t noted_count;
};

// One value per observation of a set becomes a figure: by default the mean over the kept observations, where NaN (absent)
// counts as 0. NaN where no observation has the value, or `values` is NULL. docs/analyses.md, "Statistics".
struct figure {
  double value;
  const double
      *occurring; // values of the observations that have it, in question->room: until the next figure. NULL: not
                  // measured
  size_t count;
  size_t present;    // kept observations that have it
  double occurrence; // their mean; NaN without any
};

// The set that answers for `level` at a batch size: one whose deepest level it is, without metrics; else the next deeper.
// Never a serialised one: its latencies include the waits.
// NULL: none has the level. `*ret_from` is the row's latency_from: NULL where the set is the right one.
const struct view_set *view_rule(const struct view *view, int64_t batch_size, unsigned level, const char **ret_from);
// As above, for kernels: M/L/K, then M/K, then the fewest levels; sets with metrics last.
struct kernel_rule {
  uint32_t mask;               // levels that the set has
  const struct view_set *like; // a set of equal levels comes first; NULL
  bool for_model;              // M/K comes first
  bool with_metrics;           // only sets with metrics
  bool is_serial;              // serialised sets, instead of the others
};
const struct view_set *view_rule_kernels(const struct view *view, int64_t batch_size, const struct kernel_rule *rule);
// The set with layers and kernels, serialised or not; NULL.
const struct view_set *view_rule_by_layer(const struct view *view, int64_t batch_size, bool is_serial);
// Whether a span of the set has one of these tags, at most VIEW_TAGS_MOST names. False for no set.
#define VIEW_TAGS_MOST 8
bool view_has_tag(const struct view *view, const struct view_set *set, const char *const *names, size_t count);
const struct view_set *view_find(const struct view *view, int64_t batch_size, struct level_set levels);

// Model latency and throughput per batch size, from the sets that the rule gives.
struct batch_point {
  int64_t batch_size; // 0: unknown
  const struct view_set *set;
  const char *from;
  struct figure latency;   // in ms; its values are the set's
  double throughput_per_s; // NaN: unknown
  bool is_overlapping;     // predictions: throughput is that of all together
};
struct batches {
  struct batch_point *points; // by batch size
  size_t count;
  size_t optimal, maximum; // indices; SIZE_MAX: none
  const char *why_not_optimal;
};
enum status question_batches(struct question *question, struct batches *ret_batches, struct error *err) MUST_CHECK;
// All inputs over the time from the first start to the last end of each run. NaN: unknown, or runs took turns.
double batches_loop_throughput_per_s(const struct question *question, const struct batch_point *point);
const struct batch_point *batches_find(const struct batches *batches, int64_t batch_size); // NULL: not measured
// Whether the interval of (1 + threshold) * latency(2b) - 2 * latency(b) is at or above 0 at the optimal batch, and below 0 at each
// smaller one whose double was measured. `batches->optimal` must not be SIZE_MAX.
bool batches_are_certain(struct question *question, const struct batches *batches);
// The pure part: which batch is optimal and which of maximum throughput. threshold in per cent.
void batches_choose(struct batches *batches, double threshold_pct, double latency_limit_ms);

// Chooses the batch size: the request's, or by the default rule among those where `has_levels` is true.
enum status question_batch(struct question *question, bool (*has_levels)(const struct view *view, int64_t batch_size),
                           const char *needs, struct error *err) MUST_CHECK;
// The set with most levels, the first of several: others are the same work again. NULL: there is none.
const struct view_set *view_deepest(const struct view *view);
bool view_has_layers(const struct view *view, int64_t batch_size);

void question_uses(struct question *question, const struct view_set *set); // for run_set
// Notes that the figures of `level` come from a deeper set. `from` NULL: nothing.
void question_note_from(struct question *question, const char *level, const char *from);
// Model latency of a set: the statistic over its observations. NaN without any.
double question_model_latency(struct question *question, const struct view_set *set);
struct figure question_model_figure(struct question *question, const struct view_set *set);
// The statistic over the values that are not NaN, by themselves; NaN without any. Leaves `values` as they are.
double question_statistic(const struct question *question, const double *values, size_t count);
struct figure question_figure(struct question *question, const struct view_set *set, const double *values);
double question_value(struct question *question, const struct view_set *set, const double *values); // value alone
// Fills is_kept and kept_count of a set with latencies: leaves out the fastest and the slowest, if the statistic does.
void question_choose_observations(struct question *question, struct view_set *set);
// True where figures do not add up: each is the statistic of its own values.
bool question_is_by_value(const struct question *question);
// a - b, of figures of two runs. Negative: NaN, and a note naming `what`; within 0.5 ns: 0.
double question_difference_ms(struct question *question, double a_ms, double b_ms, const char *what);
double *analyze_unknowns(struct arena *arena, size_t count); // NaN, not measured yet; by observation, say
double analyze_share_pct(double part, double whole);         // NaN where the whole is not above 0, or either is unknown
double analyze_difference_of_runs_ms(double a_ms, double b_ms); // the same without the note

// ---- columns that several analyses share ----------------------------------------------------------------------------
void analyze_put_batch(struct table_builder *table, int64_t batch_size); // 0: null
void analyze_put_spread(struct table_builder *table,
                        const struct figure *figure); // n, min, max, cv, present; not measured: null
// Where figures do not add up: the statistic of the sums, the sum of the rows, and a note.
void analyze_summarize_sums(struct question *question, double sum_ms, double rows_sum_ms);
void analyze_put_partial(struct table_builder *table, bool is_partial); // optional: true or null
// `key` names the set that the figures come from where another should have answered. Optional.
void analyze_put_from(struct table_builder *table, const char *key, const char *from);

void analyze_note_above_100(struct table_builder *table); // why shares are above 100 %, where some are

enum status question_lacks(const struct question *question, struct error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#define VIEW_ALL_KINDS "all" // together, for what is about the program and not about its calls
struct view_choice {
  bool of_cold_runs; // the sets hold the first inferences of fresh processes, and nothing else
  // Of the kind of calls: a part of it, or its number by time, from 1; NULL: the one with the most time; VIEW_ALL_KINDS.
  const char *signature;
  bool of_library_calls; // kernels are the calls of the library level
  int64_t batch;         // without a signature, among those of this batch size, if there are any; 0: among all
};
// kinds.c: finds the kinds of a view whose runs are loaded, and chooses one. Observations of others become warm-ups of the view.
// STATUS_USE: the choice's signature is none of theirs.
enum status view_kinds_load(struct view *view, const struct view_choice *choice, struct arena *arena,
                            struct error *err) MUST_CHECK;
// sets.c: fills the sets, whose levels and batch sizes are known, with their runs. Where ranks of a job have more spans than fit into
// some 500 MB, runs at even steps stand for all of them: only analyses of ranks, which take one after the other, look at each.
enum status view_fill_sets(struct view *view, struct arena *arena, struct error *err) MUST_CHECK;
struct view_choice view_choice_of(const struct analyze_request *request);
enum status view_load(const struct experiment_runs *of, const struct view_choice *choice, struct arena *arena,
                      struct view *ret_view, struct error *err) MUST_CHECK;
// A question about a loaded view. `arena`: of the answer.
enum status question_start(struct question *question, const struct analysis *analysis,
                           const struct analyze_request *request, struct view *view, struct arena *arena,
                           struct arena *scratch, struct error *err) MUST_CHECK;
const char *question_statistic_name(const struct analyze_request *request); // as answers say it: "trimmed:0.2"
// Answers one question per experiment of the stores; experiments that lack a level are noted; STATUS_NO if all do.
enum status question_each(const struct analysis *analysis, struct store *const *stores, size_t store_count,
                          const struct analyze_request *request, struct arena *arena, struct table **ret_tables,
                          size_t *ret_count, struct error *err) MUST_CHECK;

#endif
