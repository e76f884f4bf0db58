// SPDX-License-Identifier: Apache-2.0
// F20, growing graph: each backward pass goes through the graphs of earlier steps, too, so that steps run more and more backward
// operators.
#include "analyze/findings/rules.h"
#include "analyze/findings/shared.h"
#include "analyze/intervals.h"

#include <math.h>

#define OBSERVATIONS_LEAST 6

struct growing {
  double *counts, *others, *ms; // by observation, in order of start; others: operators of no backward pass
  size_t count;
};

// Autograd's wrappers are around backward operators and what follows them.
static bool is_in_backward(const struct run_columns *columns, uint32_t row, uint32_t backward, uint32_t wrapper)
{
  while (row != ROW_NONE && columns->spans.category[row] != backward && columns->spans.category[row] != wrapper)
    row = run_columns_row(columns, columns->derived.parent_id[row]);
  return row != ROW_NONE;
}

static enum status count_backward(struct findings *findings, const struct view_run *run, uint32_t backward,
                                  struct growing *ret, struct error *err)
{
  struct run_columns columns;
  struct arena arena SCOPED(arena_done) = {0};
  uint32_t wrapper = run_columns_category(findings->question->view->store, "wrapper");
  XSP_TRY(run_columns_load(findings->question, run, STORE_BIT(STORE_CATEGORY), &arena, &columns, err));
  double *counts = arena_alloc_array(&arena, run->observation_count + 1, sizeof *counts),
         *others = arena_alloc_array(&arena, run->observation_count + 1, sizeof *others);
  for (uint32_t row = 0; row < columns.spans.count; row++) {
    uint32_t observation;
    if (columns.spans.level[row] != XSP_LEVEL_LAYER || !run_columns_observation(&columns, row, &observation))
      continue;
    counts[observation] += columns.spans.category[row] == backward;
    others[observation] += !is_in_backward(&columns, row, backward, wrapper);
  }
  for (size_t i = 0; i < run->observation_count; i++)
    if (!run->observations[i].warmup) {
      ret->counts[ret->count] = counts[i];
      ret->others[ret->count] = others[i];
      ret->ms[ret->count++] = (double)run->observations[i].duration_ns / 1e6;
    }
  return STATUS_OK;
}

static void add(struct findings *findings, const struct growing *growing, double first, double last)
{
  struct finding *finding = findings_add(findings);
  size_t third = growing->count / 3;
  double first_ms = estimate_mean(growing->ms, third).mean,
         last_ms = estimate_mean(growing->ms + growing->count - third, third).mean;
  uint32_t place = findings_busiest_place(findings);
  if (place != PLACE_NONE)
    finding_at_place(findings, finding, place);
  finding->context = "the backward pass";
  finding->time_ms = estimate_mean(growing->ms, growing->count).mean;
  finding->share_pct = analyze_share_pct(finding->time_ms, findings->loop_ms);
  double least_ms = growing->ms[0]; // the very first also sets up
  for (size_t i = 1; i < third; i++)
    least_ms = fmin(least_ms, growing->ms[i]);
  finding->saving_ms = fmax(finding->time_ms - least_ms, 0);
  finding->saving_basis = "as if each step took as long as the shortest of the first third";
  finding->title =
      arena_format(findings->question->arena,
                   "the graph grows: each backward pass goes through earlier steps again, with %.0f operators in the "
                   "first third of the steps and %.0f in the last; a step takes %s, then %s",
                   first, last, findings_time(findings, first_ms), findings_time(findings, last_ms));
  finding->advice = "detach what is carried from step to step (hidden = hidden.detach()), and leave out "
                    "retain_graph=True; add losses "
                    "by .item() or .detach()";
  finding->confidence = CONFIDENCE_HIGH;
  finding_number(finding, "first_operators", first);
  finding_number(finding, "last_operators", last);
}

static enum status find(struct findings *findings, struct error *err)
{
  const struct view_set *set = findings->set;
  const struct places *places;
  struct arena *scratch = findings->question->scratch;
  struct growing growing = {.counts = arena_alloc_array(scratch, set->observation_count + 1, sizeof(double)),
                            .others = arena_alloc_array(scratch, set->observation_count + 1, sizeof(double)),
                            .ms = arena_alloc_array(scratch, set->observation_count + 1, sizeof(double))};
  uint32_t backward;
  if (!store_find_string(findings->question->view->store, "backward", 8, &backward) ||
      set->observation_count < OBSERVATIONS_LEAST || set->run_count != 1)
    return findings_lack(findings, err, "it has no run of at least six steps with backward operators");
  XSP_TRY(findings_places(findings, &places, err));
  XSP_TRY(count_backward(findings, set->runs[0], backward, &growing, err));
  size_t third = growing.count / 3;
  double first = estimate_mean(growing.counts, third).mean, middle = estimate_mean(growing.counts + third, third).mean,
         last = estimate_mean(growing.counts + growing.count - third, third).mean;
  double first_others = estimate_mean(growing.others, third).mean,
         last_others = estimate_mean(growing.others + growing.count - third, third).mean;
  double times = findings_threshold(findings, "growing_graph-times");
  bool have_more_work =
      first_others > 0 && last * first_others <= times * first * last_others; // longer sequences, such as episodes
  if (first > 0 && middle > first && last > middle && last > times * first && !have_more_work)
    add(findings, &growing, first, last);
  return STATUS_OK;
}

const struct finding_rule finding_f20 = {
    .id = "F20",
    .key = "growing_graph",
    .title = "backward passes through earlier steps",
    .thresholds = {{"growing_graph-times", "", 1.5,
                    "backward operators of the last third of steps, in those of the first, more than; their ratio to "
                    "the others, too"}},
    .explains_backward = true,
    .find = find,
};
