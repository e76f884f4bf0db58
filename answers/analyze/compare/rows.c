// SPDX-License-Identifier: Apache-2.0
// The rows of a comparison: differences, their intervals and verdicts, as tables. Called by compare.c.
#include "analyze/compare/compare.h"

#include "analyze/runs/samples.h"

#include "base/sorted.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- one row --------------------------------------------------------------------------------------------------------
static const char *why_not_decided(const struct row *row, bool has_drift)
{
  return row->from == INTERVAL_NONE ? "too few values" : has_drift ? "drift" : "noise";
}

static void judge(const struct comparing *comparing, struct row *row)
{
  double a_ms = row->a.latency, first_ms, last_ms;
  double least_ms = a_ms * comparing->request->least_pct / 100;
  double same_ms = fmax(a_ms * comparing->request->same_within_pct / 100, least_ms); // else there is a gap between them
  const struct verdict_limits limits = {least_ms, -same_ms, same_ms};
  struct interval interval = interval_of_difference(&row->b, &row->a);
  bool has_drift = interval.from != INTERVAL_PAIRED_RUNS && // pairs cancel it
                   (analyze_sample_has_drift(&row->a, same_ms, &first_ms, &last_ms) ||
                    analyze_sample_has_drift(&row->b, same_ms, &first_ms, &last_ms));
  row->difference_ms = row->b.latency - a_ms;
  row->low_ms = interval.low;
  row->high_ms = interval.high;
  row->from = interval.from;
  row->verdict = has_drift ? VERDICT_NOT_DECIDED : verdict_of(&interval, &limits);
  if (row->verdict != VERDICT_NOT_DECIDED)
    return;
  row->reason = why_not_decided(row, has_drift);
  if (has_drift || interval.from == INTERVAL_NONE)
    return;
  double size_ms = fabs(row->difference_ms);
  double needed = interval_needs(&row->b, &row->a, fmax(size_ms - least_ms, same_ms - size_ms));
  bool is_of_runs = interval.from != INTERVAL_OBSERVATIONS;
  double of_a = (double)row->a.count / (double)row->a.run_count, of_b = (double)row->b.count / (double)row->b.run_count;
  row->observations_needed = is_of_runs ? ceil(needed * fmax(of_a, of_b)) : needed; // enough runs on either side
}

// Only its figures outlive the row.
static struct sample figures_of(struct sample sample)
{
  return (struct sample){.latency = sample.latency, .count = sample.count, .run_count = sample.run_count};
}

void compare_rows_add(struct comparing *comparing, const struct side sides[2], const struct view_set *a_set,
                      const double *a_ms, const struct view_set *b_set, const double *b_ms, bool are_comparable,
                      struct row row)
{
  struct arena arena SCOPED(arena_done) = {0}, *scratch = sides[0].questions[0]->scratch;
  struct question *a = sides[0].questions[0], *b = sides[1].questions[0];
  a->scratch = b->scratch = &arena;
  row.experiment = comparing->experiment;
  row.difference_ms = row.low_ms = row.high_ms = row.observations_needed = NAN;
  row.a = analyze_sample_of_values(a, a_set, a_ms, 1);
  row.b = analyze_sample_of_values(b, b_set, b_ms, 1);
  if (are_comparable && row.a.latency > 0 && row.b.latency >= 0) {
    judge(comparing, &row);
  } else {
    bool are_zero = are_comparable && row.a.latency == 0 && row.b.latency == 0;
    row.verdict = are_zero ? VERDICT_SAME : VERDICT_NOT_COMPARABLE;
    row.reason = are_zero ? NULL : !are_comparable ? "other batch sizes or levels" : "a's time is 0";
  }
  row.a = figures_of(row.a);
  row.b = figures_of(row.b);
  *vector_add(&comparing->rows) = row;
  a->scratch = b->scratch = scratch;
}

void compare_rows_add_unpaired(struct comparing *comparing, const struct side sides[2], unsigned which,
                               const struct view_set *set, const struct item *item, const char *kind)
{
  const struct compare_part *layers = &sides[which].layers;
  *vector_add(&comparing->unpaired[which]) = (struct unpaired_row){
      .kind = kind,
      .experiment = comparing->experiment,
      .name = item->name,
      .type = item->type,
      .layer = item->layer == ITEM_NONE ? NULL : layers->items[item->layer].name,
      .index = item->index,
      .latency_ms = question_value(sides[which].questions[0], set, item->values_ms),
  };
}

// ---- tables ---------------------------------------------------------------------------------------------------------
// Models, layers, kernels.
static int rank_of(const char *kind)
{
  return kind[0] == 'm' ? 0 : kind[0] == 'l' ? 1 : 2;
}

SORTED_BY(compare_rows, struct row,
          ORDER(rank_of(a->kind), rank_of(b->kind)) ?: ORDER(isnan(a->difference_ms), isnan(b->difference_ms))
              ?: ORDER(fabs(b->difference_ms), fabs(a->difference_ms)) ?: RISING(index) ?: strcmp(a->name, b->name))

SORTED_BY(compare_unpaired, struct unpaired_row,
          ORDER(rank_of(a->kind), rank_of(b->kind)) ?: FALLING(latency_ms) ?: strcmp(a->name, b->name))

static double percent(const struct row *row, double ms)
{
  return row->a.latency > 0 ? ms / row->a.latency * 100 : NAN;
}

static void put_row(struct table_builder *table, const struct row *row)
{
  double needed = row->observations_needed;
  table_row(table);
  table_put_optional(table, "experiment", cell_text(row->experiment));
  table_put(table, "kind", cell_text(row->kind));
  table_put(table, "name", cell_text(row->name));
  table_put_optional(table, "b_name", cell_text(row->b_name));
  table_put(table, "layer_index", cell_int_if(row->index >= 0, row->index));
  table_put(table, "layer_type", cell_text(row->type));
  table_put_optional(table, "layer_name", cell_text(row->layer));
  table_put(table, "a_ms", cell_real(row->a.latency));
  table_put(table, "b_ms", cell_real(row->b.latency));
  table_put(table, "difference_ms", cell_real(row->difference_ms));
  table_put(table, "difference_pct", cell_real(percent(row, row->difference_ms)));
  table_put(table, "low_pct", cell_real(percent(row, row->low_ms)));
  table_put(table, "high_pct", cell_real(percent(row, row->high_ms)));
  table_put(table, "verdict", cell_text(verdict_name(row->verdict)));
  table_put_optional(table, "reason", cell_text(row->reason));
  table_put(table, "observations_needed", cell_number(needed));
  table_put(table, "interval_from", cell_text(interval_from_name(row->from)));
  table_put(table, "a_n", cell_int((int64_t)row->a.count));
  table_put(table, "b_n", cell_int((int64_t)row->b.count));
  table_put(table, "matched_by", cell_text(row->matched_by));
}

static void put_unpaired(struct table_builder *table, const struct unpaired_row *row)
{
  table_row(table);
  table_put_optional(table, "experiment", cell_text(row->experiment));
  table_put(table, "kind", cell_text(row->kind));
  table_put(table, "name", cell_text(row->name));
  table_put(table, "layer_index", cell_int_if(row->index >= 0, row->index));
  table_put(table, "layer_type", cell_text(row->type));
  table_put_optional(table, "layer_name", cell_text(row->layer));
  table_put(table, "latency_ms", cell_real(row->latency_ms));
}

static bool is_wanted(const struct comparing *comparing, const char *kind, size_t place_in_kind)
{
  const struct compare_request *request = comparing->request;
  return (request->kind == NULL || strcmp(request->kind, kind) == 0) &&
         (request->analyze.top == 0 || place_in_kind < (size_t)request->analyze.top);
}

static void answer_rows(struct comparing *comparing, struct compare_answer *ret)
{
  struct table_builder *table = &comparing->table;
  size_t place = 0;
  put_row(table, &(struct row){.index = -1, .kind = "", .a.latency = NAN});
  table_declared(table, comparing->rows.count);
  for (size_t i = 0; i < comparing->rows.count; i++) {
    const struct row *row = &comparing->rows.items[i];
    place = i > 0 && strcmp(row->kind, comparing->rows.items[i - 1].kind) == 0 ? place + 1 : 0;
    if (is_wanted(comparing, row->kind, place))
      put_row(table, row);
    if (row->verdict == VERDICT_SLOWER)
      ret->slower_row_pct = fmax(ret->slower_row_pct, percent(row, row->difference_ms));
  }
}

static void answer_unpaired(struct comparing *comparing, unsigned which, struct table *ret)
{
  struct table_builder table;
  size_t count = comparing->unpaired[which].count, place = 0;
  struct unpaired_row *rows = comparing->unpaired[which].items;
  table_start(&table, comparing->arena);
  put_unpaired(&table, &(struct unpaired_row){.index = -1});
  table_declared(&table, count);
  if (count > 0)
    qsort(rows, count, sizeof *rows, compare_unpaired);
  for (size_t i = 0; i < count; i++) {
    place = i > 0 && strcmp(rows[i].kind, rows[i - 1].kind) == 0 ? place + 1 : 0;
    if (is_wanted(comparing, rows[i].kind, place))
      put_unpaired(&table, &rows[i]);
  }
  *ret = (struct table){.id = "unpaired", .title = which == 0 ? "only in a" : "only in b"};
  table_answer(&table, ret);
}

// What the verdict of one of several models means for the whole: the smallest counts.
static int weight_of(enum verdict verdict)
{
  static const int weights[] = {[VERDICT_SLOWER] = 0,
                                [VERDICT_NOT_COMPARABLE] = 1,
                                [VERDICT_NOT_DECIDED] = 2,
                                [VERDICT_SAME] = 3,
                                [VERDICT_FASTER] = 4};
  return weights[verdict];
}

// Rows of models come first.
static void answer_models(struct comparing *comparing, struct compare_answer *ret)
{
  const struct row *worst = &comparing->rows.items[0];
  for (size_t i = 0; i < comparing->rows.count && rank_of(comparing->rows.items[i].kind) == 0; i++) {
    const struct row *row = &comparing->rows.items[i];
    worst = weight_of(row->verdict) < weight_of(worst->verdict) ? row : worst;
    if (row->verdict == VERDICT_SLOWER)
      ret->slower_pct = fmax(ret->slower_pct, percent(row, row->difference_ms));
    if (row->from == INTERVAL_OBSERVATIONS)
      table_note(&comparing->table, "interval from observations: differences between runs are not in it");
  }
  size_t larger = worst->a.count > worst->b.count ? worst->a.count : worst->b.count;
  ret->verdict = worst->verdict;
  ret->model.a_ms = worst->a.latency;
  ret->model.b_ms = worst->b.latency;
  ret->model.difference_pct = percent(worst, worst->difference_ms);
  ret->model.low_pct = percent(worst, worst->low_ms);
  ret->model.high_pct = percent(worst, worst->high_ms);
  ret->model.further_observations = worst->observations_needed - (double)larger;
  ret->model.reason = worst->reason;
}

void compare_summarize(struct table_builder *table, const struct compare_request *request,
                       const struct compare_answer *answer, int64_t batch_size)
{
  table_summary(table, "verdict", cell_text(verdict_name(answer->verdict)));
  table_summary(table, "a_ms", cell_real(answer->model.a_ms));
  table_summary(table, "b_ms", cell_real(answer->model.b_ms));
  table_summary(table, "difference_pct", cell_real(answer->model.difference_pct));
  table_summary(table, "low_pct", cell_real(answer->model.low_pct));
  table_summary(table, "high_pct", cell_real(answer->model.high_pct));
  table_summary(table, "further_observations", cell_number(answer->model.further_observations));
  table_summary(table, "batch_size", cell_int_if(batch_size > 0, batch_size));
  table_summary(table, "threshold_pct", cell_real(request->least_pct));
  table_summary(table, "same_within_pct", cell_real(request->same_within_pct));
}

void compare_rows_answer(struct comparing *comparing, struct compare_answer *ret)
{
  ret->slower_pct = ret->slower_row_pct = NAN;
  vector_sort(&comparing->rows, compare_rows); // has a model
  answer_models(comparing, ret);
  answer_rows(comparing, ret);
  compare_summarize(&comparing->table, comparing->request, ret, comparing->batch_size);
  ret->rows = (struct table){.id = "compare",
                             .title = "b compared with a",
                             .batch_size = comparing->batch_size,
                             .statistic = question_statistic_name(&comparing->request->analyze)};
  table_answer(&comparing->table, &ret->rows);
  for (unsigned which = 0; which < 2; which++)
    answer_unpaired(comparing, which, &ret->unpaired[which]);
}
