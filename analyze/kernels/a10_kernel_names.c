// SPDX-License-Identifier: Apache-2.0
// A10, kernels by name: how often each is called, what it takes of the model, and what bounds it. In long form, counts and
// times by batch size, to be compared with other batch sizes, systems and frameworks.
#include "analyze/a_list.h"
#include "analyze/kernels/kernels.h"

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

static int compare_groups(const void *left, const void *right, void *context)
{
  const struct ordering *by = context;
  size_t a = *(const size_t *)left;
  size_t b = *(const size_t *)right;
  if (by->latency_ms[a] != by->latency_ms[b])
    return by->latency_ms[a] > by->latency_ms[b] ? -1 : 1;
  int order = strcmp(by->names[a], by->names[b]);
  return order != 0 ? order : a < b ? -1 : a > b;
}

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
  table_put(table, "kernel_name", "", "kernel", cell_text(row->name));
  table_put(table, "count", "", "count", cell_number(row->figures.count));
  table_put(table, "latency_ms", "ms", "latency", cell_real(ms));
  table_put(table, "latency_pct", "%", "of model", cell_real(share_pct(ms, names->kernels.model_latency_ms)));
  table_put(table, "kernels_pct", "%", "of kernels", cell_real(share_pct(ms, names->all.latency.value)));
}

static void put_row(struct question *question, const struct names *names, const struct roofs *roofs,
                    const struct names_row *row)
{
  struct table_builder *table = &question->table;
  struct kernel_point point;
  kernel_point(question, roofs, &row->figures, &point);
  table_row(table);
  put_name(table, names, row);
  put_metrics(table, &row->figures, &point);
  put_spread(table, &row->figures.latency);
  put_partial(table, row->figures.latency.count < names->kernels.observation_count);
  put_from(table, "latency_from", "from", names->from);
  put_from(table, "model_latency_from", "model from", names->kernels.model_from);
}

static void summarize(struct table_builder *table, const struct names *names)
{
  table_summary(table, "kernels", cell_number(names->all.count));
  table_summary(table, "distinct_names", cell_int((int64_t)names->count));
  table_summary(table, "kernel_latency_ms", cell_real(names->all.latency.value));
  table_summary(table, "model_latency_ms", cell_real(names->kernels.model_latency_ms));
}

static enum status answer_by_name(struct question *question, struct error *err)
{
  struct names names = {0};
  struct roofs roofs;
  double rows_sum_ms = 0;
  XSP_TRY(kernels_answer(question, KERNELS_ALONE, false, &names.kernels, err));
  if (names.kernels.model_set == NULL)
    return question_lacks(question, err, "there is no run with the model level, which the kernels' share is of");
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
  summarize_sums(question, names.all.latency.value, rows_sum_ms);
  summarize(&question->table, &names);
  if (names.kernels.has_metric[KERNEL_FLOPS])
    roofs_note(question, &roofs);
  return STATUS_OK;
}

// ---- by batch -------------------------------------------------------------------------------------------------------
static void put_batch_row(struct question *question, const struct roofs *roofs, const struct names *names,
                          const struct names_row *row)
{
  struct table_builder *table = &question->table;
  table_row(table);
  put_batch(table, names->kernels.batch_size);
  table_put(table, "system", "", "system", cell_text(roofs->device));
  table_put(table, "framework", "", "framework", cell_text(question->view->experiment->framework));
  put_name(table, names, row);
  put_spread(table, &row->figures.latency);
  put_partial(table, row->figures.latency.count < names->kernels.observation_count);
  put_from(table, "latency_from", "from", names->from);
  put_from(table, "model_latency_from", "model from", names->kernels.model_from);
}

static enum status add_batch(struct question *question, int64_t batch_size, void *roofs, struct error *err)
{
  struct names names = {0};
  XSP_TRY(kernels_load(question, batch_size, KERNELS_ALONE, &names.kernels, err));
  names_find(question, &names);
  for (size_t i = 0; i < names.count; i++) {
    struct names_row row = names_row(&names, i);
    put_batch_row(question, roofs, &names, &row);
  }
  question_uses(question, names.kernels.set);
  kernels_note(question, &names.kernels);
  question_note_from(question, "model", names.kernels.model_from);
  return STATUS_OK;
}

static enum status answer_by_batch(struct question *question, struct error *err)
{
  struct roofs roofs;
  size_t batches;
  XSP_TRY(roofs_load(question, &roofs, err));
  put_batch_row(question, &roofs, &(struct names){0}, &(struct names_row){0});
  table_declared(&question->table, 0);
  XSP_TRY(kernels_each_batch(question, add_batch, &roofs, &batches, err));
  table_summary(&question->table, "batch_sizes", cell_int((int64_t)batches));
  return STATUS_OK;
}

static enum status answer(struct question *question, struct error *err)
{
  const char *by = question->request->by;
  if (by == NULL)
    return answer_by_name(question, err);
  if (strcmp(by, "batch") == 0)
    return answer_by_batch(question, err);
  return error_set(err, STATUS_USE, "cannot group A10", by, "--by batch", "only batch is known");
}

const struct analysis analysis_a10 = {.id = "A10", .title = "kernels by name", .needs = "K", .answer = answer};
