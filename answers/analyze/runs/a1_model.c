// SPDX-License-Identifier: Apache-2.0
// A1, model information: latency and throughput per batch size, the optimal batch, the cold inference.
#include "analyze/a_list.h"
#include "analyze/lines/python_time.h"
#include "analyze/runs/a1_cold.h"
#include "analyze/runs/a1_coverage.h"
#include "analyze/runs/a1_energy.h"
#include "analyze/runs/a1_kinds.h"
#include "analyze/runs/a1_stages.h"
#include "analyze/view.h"

#include <math.h>
#include <stdio.h>

#define MARK_STEPS                                                                                                     \
  "torch.profiler with schedule=... and p.step() after each step, or --model-range PATTERN of xsp run and xsp import"

// A run without model spans is one observation.
static void note_whole_runs(struct question *question, const struct view_set *set)
{
  for (size_t i = 0; i < set->run_count; i++)
    if (set->runs[i]->observation_count > 0 && set->runs[i]->observations[0].span_id == 0)
      table_note(&question->table,
                 "no step was recorded: the latency is that of a whole run; to mark steps: " MARK_STEPS);
}

static enum status lacks_models(struct question *question, struct error *err)
{
  enum status status = question_lacks(
      question, err, "there is no run with the model level: neither a step nor a prediction was recorded");
  if (err != NULL)
    snprintf(err->advice, sizeof err->advice, "`xsp analyze ranges` for what was recorded; to mark steps: " MARK_STEPS);
  return status;
}

static enum status summarize(struct question *question, const struct batches *batches, struct error *err)
{
  const struct batch_point *points = batches->points;
  const struct batch_point *online = batches_find(batches, 1);
  bool has_maximum = batches->maximum != SIZE_MAX;
  bool has_optimal = batches->optimal != SIZE_MAX;
  struct table_builder *table = &question->table;
  table_summary(table, "online_latency_ms", cell_real(online == NULL ? NAN : online->latency.value));
  table_summary(table, "maximum_throughput_per_s",
                cell_real(has_maximum ? points[batches->maximum].throughput_per_s : NAN));
  table_summary(table, "maximum_throughput_batch",
                has_maximum ? cell_int(points[batches->maximum].batch_size) : (struct table_cell){0});
  table_summary(table, "optimal_batch",
                has_optimal ? cell_int(points[batches->optimal].batch_size) : (struct table_cell){0});
  bool is_by_doubling = has_optimal && question->request->optimal == NULL;
  for (size_t i = 0; i < batches->count; i++)
    is_by_doubling &= !points[i].is_overlapping; // their throughput is not that of their latencies
  table_summary(table, "optimal_batch_is_certain",
                is_by_doubling ? cell_bool(batches_are_certain(question, batches)) : (struct table_cell){0});
  XSP_TRY(analyze_cold_summarize(question, err));
  if (!has_optimal)
    table_note(table, "%s", batches->why_not_optimal);
  return STATUS_OK;
}

// What surrounds predictions, and the parts of training steps, for each batch size.
static enum status load_stages(struct question *question, const struct batches *batches, struct stages **ret_stages,
                               struct error *err)
{
  *ret_stages = arena_alloc_array(question->scratch, batches->count + 1, sizeof **ret_stages);
  for (size_t i = 0; i < batches->count; i++)
    XSP_TRY(stages_load(question, batches->points[i].set, &(*ret_stages)[i], err));
  return STATUS_OK;
}

// A model is loaded once for all batch sizes: the figure is that of the first one that has it.
static void summarize_stages(struct question *question, const struct stages *stages, size_t count)
{
  double load_ms = NAN;
  bool is_once = false;
  struct stages_compile compile = {0};
  for (size_t i = 0; i < count; i++) {
    load_ms = isnan(load_ms) ? stages[i].load_ms : load_ms;
    is_once |= stages[i].is_once;
    compile.count += stages[i].compile.count;
    compile.again_count += stages[i].compile.again_count;
    compile.total_ms += stages[i].compile.total_ms;
  }
  table_summary(&question->table, "load_ms", cell_real(load_ms));
  table_summary(&question->table, "compile_count", cell_int_if(compile.count > 0, (int64_t)compile.count));
  table_summary(&question->table, "recompile_count", cell_int_if(compile.count > 0, (int64_t)compile.again_count));
  table_summary(&question->table, "compile_total_ms", cell_real(compile.count > 0 ? compile.total_ms : NAN));
  if (is_once)
    table_note(&question->table,
               "preprocess_ms: the inputs are made once for a batch size, in none of its predictions");
}

struct further { // NaN: unknown
  double python_ms, cold_ms, joules;
};

// `question`: of the row's kind of calls, which need not be the table's.
static void put_row(struct table_builder *table, struct question *question, const struct batches *batches, size_t index,
                    const struct stages *stages, const struct further *further)
{
  const struct view *view = question->view;
  const struct batch_point *point = &batches->points[index];
  const char *per = isnan(stages->preprocess_ms) ? NULL : stages->is_once ? "batch size" : "prediction";
  double samples = point->set->inputs / (double)point->set->observation_count;
  table_row(table);
  analyze_put_batch(table, point->batch_size);
  analyze_put_kind(table, view, view->kind < view->kind_count ? &view->kinds[view->kind] : NULL);
  table_put_optional(table, "step_samples", cell_real(samples > (double)point->batch_size ? samples : NAN));
  table_put(table, "latency_ms", cell_real(point->latency.value));
  table_put(table, "throughput_per_s", cell_real(point->throughput_per_s));
  table_put_optional(table, "loop_throughput_per_s", cell_real(batches_loop_throughput_per_s(question, point)));
  table_put(table, "is_optimal", cell_bool(index == batches->optimal));
  table_put(table, "is_maximum", cell_bool(index == batches->maximum));
  analyze_put_spread(table, &point->latency);
  table_put_optional(table, "load_ms", cell_real(stages->load_ms));
  table_put_optional(table, "preprocess_ms", cell_real(stages->preprocess_ms));
  table_put_optional(table, "preprocess_per", cell_text(per));
  table_put_optional(table, "postprocess_ms", cell_real(stages->postprocess_ms));
  table_put_optional(table, "data_ms", cell_real(stages->data_ms));
  table_put_optional(table, "forward_ms", cell_real(stages->forward_ms));
  table_put_optional(table, "backward_ms", cell_real(stages->backward_ms));
  table_put_optional(table, "optimizer_ms", cell_real(stages->optimizer_ms));
  table_put_optional(table, "compile_ms", cell_real(stages->compile_ms));
  table_put_optional(table, "collective_ms", cell_real(stages->collective_ms));
  table_put_optional(table, "other_ms", cell_real(stages->other_ms));
  table_put_optional(table, "python_ms", cell_real(further->python_ms));
  table_put_optional(table, "cold_ms", cell_real(further->cold_ms));
  table_put_optional(table, "joules_per_input", cell_real(further->joules));
  analyze_put_from(table, "latency_from", point->from);
}

static enum status load_python_ms(struct question *question, const struct view_set *set, double *ret_ms,
                                  struct error *err)
{
  struct python_time time;
  XSP_TRY(python_time_load(question, set, &time, err));
  *ret_ms = time.ms;
  if (!isnan(time.ms))
    table_note(&question->table, "python_ms: a mean, from samples; %.3g ms, ± %.2g ms (95 %%)", time.ms, time.error_ms);
  return STATUS_OK;
}

#define OTHER_KINDS 15u // rows for those with the most time

// Calls of other kinds have rows of their own, after those of the kind that the answer is about.
static enum status put_other_kinds(struct question *question, struct error *err)
{
  const struct view *view = question->view;
  size_t rows = 0;
  for (size_t i = 0; i < view->kind_count && rows < OTHER_KINDS; i++) {
    struct question other;
    struct batches batches;
    struct stages *stages;
    if (i == view->kind || view->kinds[i].observations == 0)
      continue;
    XSP_TRY(analyze_question_of_kind(question, i, &other, err));
    XSP_TRY(question_batches(&other, &batches, err));
    batches.optimal = batches.maximum = SIZE_MAX; // batch sizes are compared within a kind
    XSP_TRY(load_stages(&other, &batches, &stages, err));
    for (size_t k = 0; k < batches.count; k++)
      put_row(&question->table, &other, &batches, k, &stages[k], &(struct further){NAN, NAN, NAN});
    rows += batches.count;
  }
  return STATUS_OK;
}

// It is of the whole file, so the first experiment's table has it.
static enum status note_interruption(struct question *question, struct error *err)
{
  struct store_experiment *experiments;
  struct store_note *notes;
  size_t count;
  XSP_TRY(store_experiments(question->view->store, question->scratch, &experiments, &count, err));
  if (count == 0 || experiments[0].experiment_id != question->view->experiment->experiment_id)
    return STATUS_OK;
  XSP_TRY(store_notes(question->view->store, 0, question->arena, &notes, &count, err));
  for (size_t i = 0; i < count; i++)
    if (strcmp(notes[i].key, "interrupted") == 0)
      table_note(&question->table, "%s", notes[i].value);
  return STATUS_OK;
}

static enum status answer(struct question *question, struct error *err)
{
  struct batches batches;
  XSP_TRY(question_batches(question, &batches, err));
  struct stages *stages;
  if (batches.count == 0)
    return lacks_models(question, err);
  XSP_TRY(load_stages(question, &batches, &stages, err));
  XSP_TRY(note_interruption(question, err));
  int64_t only = question->request->batch;
  bool has_several_from = false;
  for (size_t i = 0; i < batches.count; i++) {
    const struct batch_point *point = &batches.points[i];
    if (only != 0 && point->batch_size != only)
      continue;
    struct further further = {.cold_ms = analyze_cold_median_ms(question, point->batch_size)};
    XSP_TRY(load_python_ms(question, point->set, &further.python_ms, err));
    XSP_TRY(analyze_energy_per_input(question, point, &further.joules, err));
    put_row(&question->table, question, &batches, i, &stages[i], &further);
    question_uses(question, point->set);
    question_note_from(question, "model", point->from);
    note_whole_runs(question, point->set);
    if (point->is_overlapping)
      table_note(
          &question->table,
          "predictions overlap: throughput is their number over the time that they cover, latency is each one's own");
    has_several_from |= !level_set_equal(point->set->levels, batches.points[0].set->levels);
    question->batch_size = point->batch_size;
  }
  if (question->table.row_count == 0)
    return question_lacks(question, err, "batch size %lld was not measured", (long long)only);
  if (has_several_from)
    table_note(&question->table, "batch sizes were measured with different levels: their latencies do not compare");
  question->has_several_batches = question->table.row_count > 1;
  if (question->request->signature == NULL && only == 0)
    XSP_TRY(put_other_kinds(question, err));
  XSP_TRY(summarize(question, &batches, err));
  summarize_stages(question, stages, batches.count);
  analyze_summarize_kinds(question);
  return analyze_coverage_summarize(question, batches.points[0].set, err);
}

const struct analysis analysis_a1 = {.id = "A1",
                                     .title = "model information",
                                     .summary = "latency and throughput by batch size",
                                     .needs = "M",
                                     .detail = TRACE_LAYERS,
                                     .takes_folded = true,
                                     .answer = answer};
