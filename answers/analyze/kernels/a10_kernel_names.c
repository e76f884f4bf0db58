// SPDX-License-Identifier: Apache-2.0
// A10, kernels by name: how often each is called, what it takes of the model, and what bounds it. With --by, counts and times of
// all experiments in long form: which kernels other batch sizes, systems and frameworks take for the same model.
#include "analyze/a_list.h"
#include "analyze/kernels/kernels.h"
#include "analyze/models/survey.h"
#include "base/slice.h"
#include "base/sorted.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct names {
  struct kernels kernels;
  struct kernel_groups groups; // by name
  struct kernel_figures all;   // of all kernels, in layers or not
  size_t *order;               // groups by latency falling, then by name; those without a latency are left out
  size_t count;
  const char *from; // kernels_from, or the set if it also serves for the model in the shares
};
struct names_row {
  const char *name;
  struct kernel_figures figures;
};

struct ordering {
  const double *latency_ms;
  const char *const *names;
};

ROWS_SORTED_BY(compare_groups, size_t, struct ordering,
               ORDER(of->latency_ms[b], of->latency_ms[a]) ?: strcmp(of->names[a], of->names[b]) ?: ORDER(a, b))

// After kernels_load or kernels_answer.
static void names_find(struct question *question, struct names *names)
{
  const struct kernels *kernels = &names->kernels;
  bool serves_model = kernels->model_from != NULL && kernels->model_set == kernels->set;
  names->from = serves_model ? kernels->set->levels_text : kernels_from(kernels);
  names->groups = kernels_group_by_name(question, kernels);
  names->all = kernels_figures_of_all(question, kernels);
  names->order = arena_alloc_array(question->scratch, names->groups.count + 1, sizeof *names->order);
  double *latency_ms = arena_alloc_array(question->scratch, names->groups.count + 1, sizeof *latency_ms);
  for (size_t i = 0; i < names->groups.count; i++) {
    struct kernel_figures figures;
    kernel_groups_figures(&names->groups, i, &figures);
    latency_ms[i] = figures.latency.value;
    if (!isnan(figures.latency.value))
      names->order[names->count++] = i;
  }
  struct ordering by = {latency_ms, kernels->names};
  qsort_r(names->order, names->count, sizeof *names->order, compare_groups, &by);
}

// Valid until the next call.
static struct names_row names_row(struct names *names, size_t place)
{
  struct names_row row = {.name = names->kernels.names[names->order[place]]};
  kernel_groups_figures(&names->groups, names->order[place], &row.figures);
  return row;
}

// The columns name, count, latency and the shares of the model and of all kernels.
static void put_name(struct table_builder *table, const struct names *names, const struct names_row *row)
{
  double ms = row->figures.latency.value;
  table_put(table, "kernel_name", cell_text(row->name));
  table_put(table, "count", cell_number(row->figures.count));
  table_put(table, "latency_ms", cell_real(ms));
  table_put_share(table, "latency_pct", "model", cell_real(analyze_share_pct(ms, names->kernels.model_latency_ms)));
  table_put_share(table, "kernels_pct", "kernels", cell_real(analyze_share_pct(ms, names->all.latency.value)));
}

static void put_row(struct question *question, const struct names *names, const struct roofs *roofs,
                    const struct names_row *row)
{
  struct table_builder *table = &question->table;
  struct kernel_point point;
  kernel_point(question, roofs, &row->figures, &point);
  table_row(table);
  put_name(table, names, row);
  kernel_put_metrics(table, &row->figures, &point);
  analyze_put_spread(table, &row->figures.latency);
  analyze_put_partial(table, row->figures.latency.count < names->kernels.observation_count);
  analyze_put_from(table, "latency_from", names->from);
  analyze_put_from(table, "model_latency_from", names->kernels.model_from);
}

static void summarize(struct table_builder *table, const struct names *names)
{
  table_summary(table, "kernels", cell_number(names->all.count));
  table_summary(table, "distinct_names", cell_int((int64_t)names->count));
  table_summary(table, "kernel_latency_ms", cell_real(names->all.latency.value));
  table_summary(table, "model_latency_ms", cell_real(names->kernels.model_latency_ms));
}

static enum status answer(struct question *question, struct error *err)
{
  struct names names = {0};
  struct roofs roofs;
  double rows_sum_ms = 0;
  XSP_TRY(kernels_answer(question, KERNELS_ALONE, false, &names.kernels, err));
  if (names.kernels.model_set == NULL)
    kernels_note_no_model(question);
  question_note_from(question, "model", names.kernels.model_from);
  XSP_TRY(roofs_load(question, &roofs, err));
  names_find(question, &names);
  put_row(question, &names, &roofs, &(struct names_row){0});
  table_declared(&question->table, names.count);
  for (size_t i = 0; i < names.count; i++) {
    struct names_row row = names_row(&names, i);
    put_row(question, &names, &roofs, &row);
    rows_sum_ms += row.figures.latency.value;
  }
  analyze_summarize_sums(question, names.all.latency.value, rows_sum_ms);
  summarize(&question->table, &names);
  if (names.kernels.has_metric[KERNEL_FLOPS])
    roofs_note(question, &roofs);
  return STATUS_OK;
}

// ---- over all experiments, in long form -----------------------------------------------------------------------------
static void put_long_row(struct survey *survey, const struct survey_item *item, const struct kernel_place *place,
                         const struct names *names, const struct names_row *row)
{
  struct table_builder *table = &survey->table;
  table_row(table);
  analyze_put_batch(table, names->kernels.batch_size);
  table_put(table, "experiment", cell_text(item == NULL ? NULL : item->of.name));
  table_put(table, "system", cell_text(item == NULL ? NULL : item->system_name));
  table_put(table, "framework", cell_text(item == NULL ? NULL : item->of.experiment->framework));
  bool has_device = place != NULL && place->id != STORE_NONE;
  table_put_optional(table, "device_host", cell_text(has_device ? survey_text(survey, place->host) : NULL));
  table_put_optional(table, "device", has_device ? cell_int(place->id) : (struct table_cell){0});
  put_name(table, names, row);
  analyze_put_spread(table, &row->figures.latency);
  analyze_put_partial(table, row->figures.latency.count < names->kernels.observation_count);
  analyze_put_from(table, "latency_from", survey_text(survey, names->from));
  analyze_put_from(table, "model_latency_from", survey_text(survey, names->kernels.model_from));
}

// `place`: NULL: all devices together.
static enum status add_batch(struct survey *survey, const struct survey_item *item, int64_t batch_size,
                             const struct kernel_place *place, struct error *err)
{
  struct question *question;
  struct names names = {0};
  XSP_TRY(survey_question(survey, item, batch_size, false, &question, err));
  question->place = place;
  XSP_TRY(survey_check(survey, item, kernels_load(question, batch_size, KERNELS_ALONE, &names.kernels, err)));
  names_find(question, &names);
  for (size_t i = 0; i < names.count; i++) {
    struct names_row row = names_row(&names, i);
    row.name = survey_text(survey, row.name);
    put_long_row(survey, item, place, &names, &row);
  }
  survey->observations += (int64_t)names.kernels.observation_count;
  if (names.kernels.from != NULL || names.kernels.model_from != NULL)
    survey_note(survey, item, "latencies come from a deeper level: its overhead is included");
  return STATUS_OK;
}

// Each device of the batch size that A10 takes.
static enum status add_devices(struct survey *survey, const struct survey_item *item, struct question *question,
                               struct error *err)
{
  struct kernels chosen = {0};
  struct kernel_place *places;
  size_t count;
  XSP_TRY(kernel_sets_choose(question, question->batch_size, KERNELS_ALONE, &chosen, err));
  XSP_TRY(kernel_places_load(question->view->store, chosen.set, question->scratch, &places, &count, err));
  const int64_t observations = survey->observations;
  for (size_t i = 0; i < count; i++) {
    survey->observations = observations; // the same ones each time
    XSP_TRY(add_batch(survey, item, question->batch_size, &places[i], err));
  }
  return STATUS_OK;
}

// All batch sizes, or the one that A10 takes.
static enum status add_experiment(struct survey *survey, const struct survey_item *item, struct error *err)
{
  bool by_batch = strcmp(survey->request->by, "batch") == 0;
  struct question *question;
  XSP_TRY(survey_question(survey, item, survey->request->batch, false, &question, err));
  const struct view *view = question->view;
  enum status status = question_batch(question, kernels_exist, "the kernel level", err);
  if (status == STATUS_NO)
    survey_note(survey, item, "without the kernel level: left out");
  if (status != STATUS_OK)
    return survey_check(survey, item, status == STATUS_NO ? STATUS_OK : status);
  if (strcmp(survey->request->by, "device") == 0)
    return survey_check(survey, item, add_devices(survey, item, question, err));
  for (size_t i = 0; i < view->set_count; i++) { // sets are ordered by batch size
    int64_t batch_size = view->sets[i].batch_size;
    bool is_wanted = batch_size == question->batch_size || (by_batch && survey->request->batch == 0);
    if (is_wanted && kernels_exist(view, batch_size) && (i == 0 || view->sets[i - 1].batch_size != batch_size))
      XSP_TRY(add_batch(survey, item, batch_size, NULL, err));
  }
  return STATUS_OK;
}

static enum status answer_by(struct survey *survey, struct error *err)
{
  const char *by = survey->request->by;
  if (!text_is_one_of(by, "batch", "system", "framework", "experiment", "device"))
    return error_set(err, STATUS_USE, "cannot group A10", by, "--by batch",
                     "known are batch, system, framework, experiment and device");
  put_long_row(survey, NULL, NULL, &(struct names){.kernels.model_latency_ms = NAN},
               &(struct names_row){.figures = kernel_figures_none});
  table_declared(&survey->table, 0);
  for (size_t i = 0; i < survey->count; i++) {
    XSP_TRY(add_experiment(survey, &survey->items[i], err));
    survey_next(survey);
  }
  if (survey->table.row_count == 0)
    return survey_lacks(survey, err, "no experiment has a run with the kernel level at such a batch size");
  return STATUS_OK;
}

const struct analysis analysis_a10 = {
    .id = "A10",
    .name = "kernels",
    .title = "kernels by name",
    .needs = "K",
    .detail = TRACE_KERNELS_BY_NAME,
    .answer = answer,
    .answer_all = answer_by,
};
