// SPDX-License-Identifier: Apache-2.0
// T11, system against system, as the paper's Figure 11: throughput and GPU latency of each model over batch sizes, on each
// system. One row for each model, framework, system and batch size.
#include "analyze/a_list.h"
#include "analyze/kernels/a15_kernel_models.h"
#include "analyze/models/survey_systems.h"
#include "analyze/runs/a1_energy.h"
#include "base/vector.h"

#include <math.h>
#include <string.h>

static bool are_equal(const char *a, const char *b)
{
  return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

// Compared are systems that ran one model in one version of one framework.
static bool are_of_one_group(const struct survey_item *a, const struct survey_item *b)
{
  return strcmp(a->model_name, b->model_name) == 0 &&
         are_equal(a->of.experiment->framework, b->of.experiment->framework) &&
         are_equal(a->of.experiment->framework_version, b->of.experiment->framework_version);
}

// ---- one experiment -------------------------------------------------------------------------------------------------
struct row {
  const struct survey_item *item;
  const struct batches *batches;
  const struct batch_point *point;
  const struct kernel_model *kernels; // NULL: none
  double joules_per_input;            // NaN: unknown
  double throughput_of_first;         // of the group's first system at this batch size; NaN: unknown
};
struct group { // one model in one framework
  const struct survey_item *first;
  VECTOR(struct batch_throughput {
    int64_t batch_size;
    double per_s;
  })
  of_first; // the first system's
};

static void put_row(struct survey *survey, const struct row *row)
{
  struct table_builder *table = &survey->table;
  const struct store_experiment *experiment = row->item->of.experiment;
  const struct batch_point *point = row->point;
  size_t index = (size_t)(point - row->batches->points);
  double ratio = row->throughput_of_first > 0 ? point->throughput_per_s / row->throughput_of_first : NAN;
  table_row(table);
  table_put(table, "model_name", cell_text(row->item->model_name));
  table_put(table, "framework", cell_text(experiment->framework));
  table_put(table, "framework_version", cell_text(experiment->framework_version));
  table_put(table, "system", cell_text(row->item->system_name));
  analyze_put_batch(table, point->batch_size);
  table_put(table, "throughput_per_s", cell_real(point->throughput_per_s));
  table_put(table, "normalized_throughput", cell_real(ratio));
  table_put(table, "latency_ms", cell_real(point->latency.value));
  table_put(table, "kernel_latency_ms", cell_real(row->kernels == NULL ? NAN : row->kernels->figures.latency.value));
  table_put(table, "gpu_latency_ms", cell_real(row->kernels == NULL ? NAN : row->kernels->gpu_ms));
  table_put_optional(table, "joules_per_input", cell_real(row->joules_per_input));
  table_put(table, "is_optimal", cell_bool(index == row->batches->optimal));
  table_put(table, "is_maximum", cell_bool(index == row->batches->maximum));
  analyze_put_spread(table, &point->latency); // of the model's latency
  analyze_put_from(table, "latency_from", survey_text(survey, point->from));
  analyze_put_from(table, "kernel_latency_from", survey_text(survey, row->kernels == NULL ? NULL : row->kernels->from));
}

static double find_throughput(const struct group *group, int64_t batch_size)
{
  for (size_t i = 0; i < group->of_first.count; i++)
    if (batch_size != 0 && group->of_first.items[i].batch_size == batch_size)
      return group->of_first.items[i].per_s;
  return NAN;
}

static enum status add_batch(struct survey *survey, struct question *question, const struct roofs *roofs,
                             struct group *group, struct row *row, struct error *err)
{
  int64_t batch_size = row->point->batch_size;
  struct kernel_model kernels;
  const bool is_first = row->item->system_number == group->first->system_number;
  row->kernels = NULL;
  if (kernels_exist(question->view, batch_size)) {
    XSP_TRY(survey_check(survey, row->item, kernel_model_load(question, batch_size, roofs, &kernels, err)));
    row->kernels = &kernels;
  }
  XSP_TRY(survey_check(survey, row->item, analyze_energy_per_input(question, row->point, &row->joules_per_input, err)));
  row->throughput_of_first = is_first ? NAN : find_throughput(group, batch_size);
  if (is_first)
    *vector_add(&group->of_first) = (struct batch_throughput){batch_size, row->point->throughput_per_s};
  put_row(survey, row);
  survey->observations += (int64_t)row->point->set->observation_count;
  return STATUS_OK;
}

static bool has_kernels(const struct view *view, int64_t only)
{
  for (size_t i = 0; i < view->set_count; i++)
    if ((only == 0 || view->sets[i].batch_size == only) && kernels_exist(view, view->sets[i].batch_size))
      return true;
  return false;
}

static enum status add_experiment(struct survey *survey, const struct survey_item *item, struct group *group,
                                  struct error *err)
{
  struct question *question;
  struct batches batches;
  struct roofs roofs;
  int64_t only = survey->request->batch;
  bool is_any = false;
  XSP_TRY(survey_question(survey, item, only, false, &question, err));
  XSP_TRY(survey_check(survey, item, question_batches(question, &batches, err)));
  XSP_TRY(survey_check(survey, item, roofs_load(question, &roofs, err)));
  for (size_t i = 0; i < batches.count; i++) {
    struct row row = {.item = item, .batches = &batches, .point = &batches.points[i]};
    if (only != 0 && row.point->batch_size != only)
      continue;
    is_any = true;
    XSP_TRY(add_batch(survey, question, &roofs, group, &row, err));
  }
  if (!is_any)
    survey_note(survey, item,
                only == 0 ? "without the model level, left out" : "not measured at this batch size, left out");
  else if (!has_kernels(question->view, only))
    survey_note(survey, item, "without the kernel level: no GPU latency");
  survey_next(survey);
  return STATUS_OK;
}

// ---- the answer -----------------------------------------------------------------------------------------------------
static enum status add_group(struct survey *survey, size_t first, bool *is_done, struct error *err)
{
  const struct survey_item *items = survey->items;
  struct group group = {.first = &items[first]};
  enum status status = STATUS_OK;
  bool has_several = false;
  for (size_t i = first; i < survey->count && status == STATUS_OK; i++) {
    if (is_done[i] || !are_of_one_group(&items[first], &items[i]))
      continue;
    is_done[i] = true;
    has_several |= items[i].system_number != items[first].system_number;
    status = add_experiment(survey, &items[i], &group, err);
  }
  if (!has_several)
    survey_note(survey, &items[first], "on one system only");
  vector_done(&group.of_first);
  return status;
}

static void note_systems(struct survey *survey)
{
  size_t systems = 0;
  const struct survey_item *first = &survey->items[0];
  for (size_t i = 0; i < survey->count; i++) {
    if (survey->items[i].system_number != systems)
      continue;
    systems++;
    if (systems > 1)
      survey_systems_note(survey, first, &survey->items[i]);
  }
  table_summary(&survey->table, "systems", cell_int((int64_t)systems));
  if (systems > 1)
    table_note(&survey->table, "normalized_throughput: in units of the model's first system");
}

static enum status answer_all(struct survey *survey, struct error *err)
{
  bool *is_done = arena_alloc_array(survey->arena, survey->count, sizeof *is_done);
  for (size_t i = 0; i < survey->count; i++)
    if (!is_done[i])
      XSP_TRY(add_group(survey, i, is_done, err));
  if (survey->table.row_count == 0)
    return survey_lacks(survey, err,
                        survey->request->batch == 0
                            ? "no experiment has a run with the model level"
                            : "no experiment has a run with the model level at this batch size");
  note_systems(survey);
  return STATUS_OK;
}

const struct analysis analysis_t11 = {.id = "T11",
                                      .title = "system against system",
                                      .summary = "system against system: throughput and GPU latency by batch size",
                                      .needs = "M, K",
                                      .detail = TRACE_KERNELS_BY_OBSERVATION,
                                      .answer_all = answer_all};
