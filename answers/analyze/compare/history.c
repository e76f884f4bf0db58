// SPDX-License-Identifier: Apache-2.0
// A history: the model latency of experiments in order of creation, and where it changed. Called by programs/xsp/verb_compare.c.
#include "analyze/compare/compare.h"

#include "base/sorted.h"
#include "base/time_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct analysis analysis_history = {.id = "history", .title = "latency over time"};

struct point { // an experiment
  const struct experiment_runs *of;
  double latency_ms;
  int64_t batch_size;
  size_t count; // observations
  struct level_set levels;
};
struct history {
  const struct compare_request *request;
  struct arena *arena;
  struct table_builder table;
  struct point *points;
  struct series_point *series; // latencies of the points, in ms
  size_t count;
};

static struct series_limits limits_of(const struct compare_request *request)
{
  return (struct series_limits){request->least_pct, request->same_within_pct};
}

// ---- points ---------------------------------------------------------------------------------------------------------
// The first point chooses batch size and levels. STATUS_NO: the experiment has no latency at these.
static enum status load_point(struct history *history, struct analyze_request *asked, const struct experiment_runs *of,
                              struct arena *scratch, struct point *point, struct error *err)
{
  struct question question;
  struct view view;
  const struct point *first = history->count > 0 ? &history->points[0] : NULL;
  asked->batch = first != NULL ? first->batch_size : asked->batch;
  const struct view_choice choice = view_choice_of(asked);
  XSP_TRY(view_load(of, &choice, scratch, &view, err));
  XSP_TRY(question_start(&question, &analysis_history, asked, &view, history->arena, scratch, err));
  if (first == NULL || first->batch_size > 0)
    XSP_TRY(question_batch(&question, side_has_observations, "observations", err));
  const struct view_set *set = side_latency_set(&question);
  if (set != NULL && first != NULL)
    set = view_find(&view, question.batch_size, first->levels);
  if (set == NULL)
    return question_lacks(&question, err, "it has no latency at the levels and batch size of the first file");
  *point = (struct point){.of = of,
                          .latency_ms = question_model_latency(&question, set),
                          .batch_size = question.batch_size,
                          .count = set->observation_count,
                          .levels = set->levels};
  return STATUS_OK;
}

SORTED_BY(compare_created, struct experiment_runs *const,
          ORDER((*a)->experiment->created_ns, (*b)->experiment->created_ns) ?: ORDER(*a, *b))

static enum status load_points(struct history *history, const struct experiment_runs *experiments, size_t count,
                               struct error *err)
{
  struct analyze_request asked = history->request->analyze;
  const struct experiment_runs **in_order = arena_alloc_array(history->arena, count, sizeof *in_order);
  for (size_t i = 0; i < count; i++)
    in_order[i] = &experiments[i];
  qsort(in_order, count, sizeof *in_order, compare_created);
  asked.cache = NULL;
  history->points = arena_alloc_array(history->arena, count, sizeof *history->points);
  for (size_t i = 0; i < count; i++) {
    struct arena scratch = {0};
    struct error why = {0};
    enum status status = load_point(history, &asked, in_order[i], &scratch, &history->points[history->count], &why);
    arena_done(&scratch);
    if (status == STATUS_NO)
      table_note(&history->table, "left out: %s: %s", store_path(in_order[i]->store), why.why);
    else if (status != STATUS_OK && err != NULL)
      *err = why;
    if (status != STATUS_NO)
      XSP_TRY(status);
    history->count += status == STATUS_OK;
  }
  if (history->count >= 2)
    return STATUS_OK;
  return error_set(err, STATUS_INPUT, "cannot compare", NULL, "xsp info FILE, which lists levels and batch sizes",
                   "fewer than two of %zu experiments have a model latency at one batch size", count);
}

// One model's: a history of several would change with each. So would one of files with several frameworks each; but from one
// file to the next, the framework may be what changed.
static enum status check_names(const struct experiment_runs *experiments, size_t count, struct error *err)
{
  const char *name = NULL;
  for (size_t i = 0; i < count; i++) {
    const struct store_experiment *one = experiments[i].experiment;
    const struct store_experiment *before = i > 0 ? experiments[i - 1].experiment : one;
    const char *path = store_path(experiments[i].store);
    if (name != NULL && one->name != NULL && strcmp(one->name, name) != 0)
      return error_set(err, STATUS_USE, "cannot compare", path,
                       "files of one model, or xsp compare A B with FILE:EXPERIMENT for each side",
                       "a history is of one model: %s, not %s", name, one->name);
    name = name == NULL ? one->name : name;
    if (i > 0 && experiments[i - 1].store == experiments[i].store && one->framework != NULL &&
        before->framework != NULL && strcmp(one->framework, before->framework) != 0)
      return error_set(err, STATUS_USE, "cannot compare", path, "files of one framework each",
                       "a history is of one framework: the file has %s and %s", before->framework, one->framework);
  }
  return STATUS_OK;
}

// ---- the answer -----------------------------------------------------------------------------------------------------
static void put_row(struct history *history, size_t at, int64_t segment)
{
  struct table_builder *table = &history->table;
  const struct point *point = &history->points[at];
  const struct series_point *of = &history->series[at];
  const struct store_experiment *experiment = point->of->experiment;
  double before_ms = of->segment - of->difference;
  table_row(table);
  table_put(table, "file", cell_text(store_path(point->of->store)));
  table_put(table, "created", cell_text(time_text(experiment->created_ns, history->arena)));
  table_put(table, "framework_version", cell_text(experiment->framework_version));
  table_put(table, "latency_ms", cell_real(point->latency_ms));
  table_put(table, "n", cell_int((int64_t)point->count));
  table_put(table, "segment", cell_int(segment));
  table_put(table, "segment_ms", cell_real(of->segment));
  table_put(table, "change_pct", cell_real(of->difference / before_ms * 100));
  table_put(table, "low_pct", cell_real(of->low / before_ms * 100));
  table_put(table, "high_pct", cell_real(of->high / before_ms * 100));
}

static enum status judge(const struct history *history, struct compare_answer *ret, struct error *err)
{
  struct series_limits limits = limits_of(history->request);
  struct series_verdict last = series_judge(history->series, history->count, &limits);
  ret->verdict = last.verdict;
  ret->model.reason = last.reason;
  ret->model.a_ms = last.a;
  ret->model.b_ms = last.b;
  ret->model.difference_pct = last.difference_pct;
  ret->model.low_pct = last.low_pct;
  ret->model.high_pct = last.high_pct;
  ret->slower_pct = last.verdict == VERDICT_SLOWER ? last.difference_pct : NAN;
  ret->slower_row_pct = ret->model.further_observations = NAN;
  bool is_steady = last.change == history->count;
  size_t a = is_steady ? 0 : last.change - 1, b = is_steady ? history->count - 1 : last.change;
  struct experiment_runs sides[2] = {*history->points[a].of, *history->points[b].of};
  const struct experiments of[2] = {{&sides[0], 1}, {&sides[1], 1}};
  return analyze_systems_answer(of, history->arena, ret, err);
}

static void answer_rows(struct history *history, struct compare_answer *ret)
{
  int64_t segment = 1, changes = 0;
  for (size_t i = 0; i < history->count; i++) {
    changes += history->series[i].is_change;
    put_row(history, i, segment + changes);
  }
  compare_summarize(&history->table, history->request, ret, history->points[0].batch_size);
  table_summary(&history->table, "changes", cell_int(changes));
  ret->rows = (struct table){.id = analysis_history.id,
                             .title = analysis_history.title,
                             .batch_size = history->points[0].batch_size,
                             .statistic = question_statistic_name(&history->request->analyze)};
  table_answer(&history->table, &ret->rows);
}

enum status analyze_history(struct store *const *stores, size_t store_count, const struct compare_request *request,
                            struct arena *arena, struct compare_answer *ret, struct error *err)
{
  struct history history = {.request = request, .arena = arena};
  struct experiment_runs *experiments;
  struct statistic unused;
  size_t count;
  *ret = (struct compare_answer){0};
  XSP_TRY(question_statistic_check(&request->analyze, &unused, err));
  XSP_TRY(experiments_list(stores, store_count, arena, &experiments, &count, NULL, err));
  XSP_TRY(check_names(experiments, count, err));
  table_start(&history.table, arena);
  XSP_TRY(load_points(&history, experiments, count, err));
  history.series = arena_alloc_array(arena, history.count, sizeof *history.series);
  for (size_t i = 0; i < history.count; i++)
    history.series[i].value = history.points[i].latency_ms;
  struct series_limits limits = limits_of(request);
  series_find_changes(history.series, history.count, &limits);
  XSP_TRY(judge(&history, ret, err));
  answer_rows(&history, ret);
  return STATUS_OK;
}
