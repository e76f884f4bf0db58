// SPDX-License-Identifier: Apache-2.0
// A history: the model latency of experiments in order of creation, and where it changed. Binary segmentation: the split with the
// largest t is a change where its interval says so, then both parts are split. Called by programs/xsp/verb_compare.c.
#include "analyze/compare/compare.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CONFIDENCE 0.95
#define LEAST_POINTS 4 // of a part that is split: two segments, and two degrees of freedom

static const struct analysis analysis_history = {.id = "history", .title = "latency over time"};

struct point { // an experiment
  const struct experiment_runs *of;
  double latency_ms;
  int64_t batch_size;
  size_t count; // observations
  struct level_set levels;
  // Of the first point of a segment: the difference to the segment before, in ms; else NaN.
  double difference_ms, low_ms, high_ms;
  double segment_ms; // mean of its segment
  bool is_change;
};
struct history {
  const struct compare_request *request;
  struct arena *arena;
  struct table_builder table;
  struct point *points;
  size_t count;
};

// ---- changes --------------------------------------------------------------------------------------------------------
static double mean_of(const struct point *points, size_t count)
{
  double sum = 0;
  for (size_t i = 0; i < count; i++)
    sum += points[i].latency_ms;
  return sum / (double)count;
}

static double squares_of(const struct point *points, size_t count)
{
  double mean = mean_of(points, count), sum = 0;
  for (size_t i = 0; i < count; i++)
    sum += (points[i].latency_ms - mean) * (points[i].latency_ms - mean);
  return sum;
}

struct split {
  size_t at;
  struct estimate difference; // of the part after it and the one before it, with one variance for both
};

static struct split split_at(const struct point *points, size_t count, size_t at)
{
  double variance = (squares_of(points, at) + squares_of(points + at, count - at)) / (double)(count - 2);
  double difference = mean_of(points + at, count - at) - mean_of(points, at);
  double shares = 1 / (double)at + 1 / (double)(count - at);
  return (struct split){at, {difference, variance * shares, (double)(count - 2)}};
}

static double size_of(const struct split *split) // t
{
  double difference = fabs(split->difference.mean);
  return difference > 0 ? difference / sqrt(split->difference.squared_error) : 0;
}

// For all splits of so many points together: each has its share of the doubt.
static double reach_of(const struct split *split, size_t count)
{
  return estimate_reach(split->difference, 1 - (1 - CONFIDENCE) / (double)(count - 1));
}

static void find_changes(const struct history *history, struct point *points, size_t count)
{
  if (count < LEAST_POINTS)
    return;
  struct split best = split_at(points, count, 1);
  for (size_t at = 2; at < count; at++) {
    struct split split = split_at(points, count, at);
    best = size_of(&split) > size_of(&best) ? split : best;
  }
  double least_ms = mean_of(points, best.at) * history->request->least_pct / 100;
  if (!(fabs(best.difference.mean) - reach_of(&best, count) > least_ms))
    return;
  points[best.at].is_change = true;
  find_changes(history, points, best.at);
  find_changes(history, points + best.at, count - best.at);
}

// Differences of neighbouring segments, by the interval of their two means.
static void measure_segments(struct history *history)
{
  for (size_t before = 0, first = 0; first < history->count;) {
    size_t end = first + 1;
    while (end < history->count && !history->points[end].is_change)
      end++;
    for (size_t i = first; i < end; i++)
      history->points[i].segment_ms = mean_of(history->points + first, end - first);
    if (first > 0) {
      struct point *point = &history->points[first];
      struct split split = split_at(history->points + before, end - before, first - before);
      double reach = end - before > 2 ? estimate_reach(split.difference, CONFIDENCE) : NAN;
      point->difference_ms = split.difference.mean;
      point->low_ms = point->difference_ms - reach;
      point->high_ms = point->difference_ms + reach;
    }
    before = first;
    first = end;
  }
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
  XSP_TRY(view_load(of, asked->cold, scratch, &view, err));
  XSP_TRY(question_start(&question, &analysis_history, asked, &view, history->arena, scratch, err));
  if (first == NULL || first->batch_size > 0)
    XSP_TRY(question_batch(&question, has_observations, "observations", err));
  const struct view_set *set = latency_set(&question);
  if (set != NULL && first != NULL)
    set = view_find(&view, question.batch_size, first->levels);
  if (set == NULL)
    return question_lacks(&question, err, "it has no latency at the levels and batch size of the first file");
  *point = (struct point){.of = of,
                          .latency_ms = question_model_latency(&question, set),
                          .batch_size = question.batch_size,
                          .count = set->observation_count,
                          .levels = set->levels,
                          .difference_ms = NAN,
                          .low_ms = NAN,
                          .high_ms = NAN};
  return STATUS_OK;
}

static int compare_created(const void *left, const void *right)
{
  const struct experiment_runs *const *a = left, *const *b = right; // of one array
  int64_t a_ns = (*a)->experiment->created_ns, b_ns = (*b)->experiment->created_ns;
  return a_ns != b_ns ? (a_ns < b_ns ? -1 : 1) : (*a > *b) - (*a < *b);
}

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
      return error_set(err, STATUS_USE, "cannot compare", path, "files of one model, or FILE:EXPERIMENT for each side",
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
static const char *time_text(int64_t created_ns, struct arena *arena)
{
  time_t seconds = created_ns / 1000000000;
  struct tm parts;
  char text[32];
  if (created_ns <= 0 || gmtime_r(&seconds, &parts) == NULL ||
      strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
    return NULL;
  return arena_format(arena, "%s", text);
}

static void put_row(struct history *history, const struct point *point, int64_t segment)
{
  struct table_builder *table = &history->table;
  const struct store_experiment *experiment = point->of->experiment;
  double before_ms = point->segment_ms - point->difference_ms;
  table_row(table);
  table_put(table, "file", "", "file", cell_text(store_path(point->of->store)));
  table_put(table, "created", "", "created", cell_text(time_text(experiment->created_ns, history->arena)));
  table_put(table, "framework_version", "", "version", cell_text(experiment->framework_version));
  table_put(table, "latency_ms", "ms", "latency", cell_real(point->latency_ms));
  table_put(table, "n", "", "n", cell_int((int64_t)point->count));
  table_put(table, "segment", "", "segment", cell_int(segment));
  table_put(table, "segment_ms", "ms", "mean of it", cell_real(point->segment_ms));
  table_put(table, "change_pct", "%", "change", cell_real(point->difference_ms / before_ms * 100));
  table_put(table, "low_pct", "%", "low", cell_real(point->low_ms / before_ms * 100));
  table_put(table, "high_pct", "%", "high", cell_real(point->high_ms / before_ms * 100));
}

// Without a change: the same where a change at the last file could not have been large.
static void judge_last(const struct history *history, struct compare_answer *ret)
{
  struct split last = split_at(history->points, history->count, history->count - 1);
  double before_ms = mean_of(history->points, history->count - 1), reach = NAN;
  if (history->count >= LEAST_POINTS)
    reach = reach_of(&last, history->count);
  double same_ms = before_ms * history->request->same_within_pct / 100;
  bool is_same = fabs(last.difference.mean) + reach < same_ms;
  ret->verdict = is_same ? VERDICT_SAME : VERDICT_NOT_DECIDED;
  ret->model.reason = is_same ? NULL : isnan(reach) ? "too few files" : "noise";
  ret->model.a_ms = before_ms;
  ret->model.b_ms = history->points[history->count - 1].latency_ms;
  ret->model.difference_pct = last.difference.mean / before_ms * 100;
  ret->model.low_pct = (last.difference.mean - reach) / before_ms * 100;
  ret->model.high_pct = (last.difference.mean + reach) / before_ms * 100;
}

static enum status judge(const struct history *history, struct compare_answer *ret, struct error *err)
{
  size_t change = history->count;
  while (change > 0 && !history->points[change - 1].is_change)
    change--;
  ret->slower_pct = ret->slower_row_pct = ret->model.further_observations = NAN;
  if (change == 0) {
    judge_last(history, ret);
    return systems_answer(history->points[0].of, history->points[history->count - 1].of, history->arena, ret, err);
  }
  const struct point *point = &history->points[change - 1];
  ret->verdict = point->difference_ms > 0 ? VERDICT_SLOWER : VERDICT_FASTER;
  ret->model.b_ms = point->segment_ms;
  ret->model.a_ms = point->segment_ms - point->difference_ms;
  ret->model.difference_pct = point->difference_ms / ret->model.a_ms * 100;
  ret->model.low_pct = point->low_ms / ret->model.a_ms * 100;
  ret->model.high_pct = point->high_ms / ret->model.a_ms * 100;
  if (ret->verdict == VERDICT_SLOWER)
    ret->slower_pct = ret->model.difference_pct;
  return systems_answer(history->points[change - 2].of, point->of, history->arena, ret, err);
}

static void answer_rows(struct history *history, struct compare_answer *ret)
{
  int64_t segment = 1, changes = 0;
  for (size_t i = 0; i < history->count; i++) {
    changes += history->points[i].is_change;
    put_row(history, &history->points[i], segment + changes);
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
  find_changes(&history, history.points, history.count);
  measure_segments(&history);
  XSP_TRY(judge(&history, ret, err));
  if (!(ret->model.a_ms > 0)) { // percentages are of it
    ret->verdict = VERDICT_NOT_COMPARABLE;
    ret->model.reason = "a's time is 0";
    ret->model.difference_pct = ret->model.low_pct = ret->model.high_pct = ret->slower_pct = NAN;
  }
  answer_rows(&history, ret);
  return STATUS_OK;
}
