// SPDX-License-Identifier: Apache-2.0
// A10, kernels by name: how often each is called, what it takes of the model, and what bounds it.
#include "analyze/kernels/a10_kernel_names.h"

#include "analyze/a_list.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  NAME,
  COUNT,
  LATENCY,
  LATENCY_PCT,
  KERNELS_PCT,
  METRICS,
  SPREAD = METRICS + METRIC_COLUMN_COUNT,
  PARTIAL = SPREAD + 4,
  FROM,
  MODEL_FROM,
  COLUMN_COUNT
};

static const struct table_column columns[] = {
    COLUMN("kernel_name", "", "kernel"),
    COLUMN("count", "", "count"),
    COLUMN("latency_ms", "ms", "latency"),
    COLUMN("latency_pct", "%", "of model"),
    COLUMN("kernels_pct", "%", "of kernels"),
    METRIC_COLUMNS,
    SPREAD_COLUMNS,
    COLUMN("partial", "", "partial"),
    COLUMN("latency_from", "", "from"),
    COLUMN("model_latency_from", "", "model from"),
};
_Static_assert(sizeof columns / sizeof columns[0] == COLUMN_COUNT, "a column and its place in the rows");

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

enum status names_order(struct question *question, struct kernel_groups *groups, struct names_in_order *ret_names,
                        struct error *err)
{
  *ret_names = (struct names_in_order){0};
  ret_names->order = arena_alloc_array(question->scratch, groups->count + 1, sizeof *ret_names->order);
  ret_names->latency_ms = arena_alloc_array(question->scratch, groups->count + 1, sizeof *ret_names->latency_ms);
  if (ret_names->order == NULL || ret_names->latency_ms == NULL)
    return question_no_memory(err);
  for (size_t i = 0; i < groups->count; i++) {
    struct kernel_figures figures;
    kernel_groups_figures(groups, i, &figures);
    ret_names->latency_ms[i] = figures.latency_ms;
    if (!isnan(figures.latency_ms))
      ret_names->order[ret_names->count++] = i;
  }
  struct ordering by = {ret_names->latency_ms, groups->kernels->names};
  qsort_r(ret_names->order, ret_names->count, sizeof *ret_names->order, compare_groups, &by);
  return STATUS_OK;
}

double share_pct(double part_ms, double whole_ms)
{
  return whole_ms > 0 ? part_ms / whole_ms * 100 : NAN;
}

double share_of_model_pct(const struct kernels *kernels, double latency_ms)
{
  return share_pct(latency_ms, kernels->model_latency_ms);
}

const char *names_from(const struct kernels *kernels)
{
  bool serves_model = kernels->model_from != NULL && kernels->model_set == kernels->set;
  return serves_model ? kernels->set->levels_text : kernels_from(kernels);
}

enum status kernels_all(struct question *question, const struct kernels *kernels, struct kernel_figures *ret_all,
                        struct error *err)
{
  struct kernel_groups all;
  XSP_TRY(kernels_group_all(question, kernels, &all, err));
  kernel_groups_figures(&all, 0, ret_all);
  return STATUS_OK;
}

static void summarize(struct question *question, const struct kernels *kernels, const struct kernel_figures *all,
                      size_t names)
{
  struct table_builder *table = &question->table;
  table_summary(table, "kernels", cell_number(all->count));
  table_summary(table, "distinct_names", cell_int((int64_t)names));
  table_summary(table, "kernel_latency_ms", cell_real(all->latency_ms));
  table_summary(table, "model_latency_ms", cell_real(kernels->model_latency_ms));
  if (kernels->model_set == NULL)
    table_note(table, "there is no run with the model level: shares of the model are not given");
}

static enum status answer_by_name(struct question *question, struct error *err)
{
  struct kernels kernels;
  struct kernel_groups groups;
  struct roofs roofs;
  struct names_in_order names;
  struct kernel_figures all;
  XSP_TRY(kernels_answer(question, KERNELS_ALONE, &kernels, err));
  question_note_from(question, "model", kernels.model_from);
  XSP_TRY(roofs_load(question, &roofs, err));
  XSP_TRY(kernels_group_by_name(question, &kernels, &groups, err));
  XSP_TRY(names_order(question, &groups, &names, err));
  XSP_TRY(kernels_all(question, &kernels, &all, err));
  table_columns(&question->table, columns, COLUMN_COUNT);
  for (size_t i = 0; i < names.count; i++) {
    struct kernel_figures figures;
    struct table_cell *row = table_row(&question->table);
    kernel_groups_figures(&groups, names.order[i], &figures);
    row[NAME] = cell_text(kernels.names[names.order[i]]);
    row[COUNT] = cell_number(figures.count);
    row[LATENCY] = cell_real(figures.latency_ms);
    row[LATENCY_PCT] = cell_real(share_of_model_pct(&kernels, figures.latency_ms));
    row[KERNELS_PCT] = cell_real(share_pct(figures.latency_ms, all.latency_ms));
    kernel_cells(question, &roofs, &figures, &row[METRICS]);
    cell_spread(&row[SPREAD], figures.values_ms, figures.value_count);
    row[PARTIAL] = figures.value_count < kernels.observation_count ? cell_bool(true) : (struct table_cell){0};
    row[FROM] = cell_text(names_from(&kernels));
    row[MODEL_FROM] = cell_text(kernels.model_from);
  }
  summarize(question, &kernels, &all, names.count);
  if (kernels.has_metric[KERNEL_FLOPS])
    roofs_note(question, &roofs);
  table_drop_empty(&question->table, "partial");
  table_drop_empty(&question->table, "latency_from");
  table_drop_empty(&question->table, "model_latency_from");
  return STATUS_OK;
}

static enum status answer(struct question *question, struct error *err)
{
  const char *by = question->request->by;
  if (by == NULL)
    return answer_by_name(question, err);
  if (strcmp(by, "batch") == 0)
    return names_by_batch(question, err);
  return error_set(err, STATUS_USE, "cannot tell how to group A10", by, "--by batch", "only batch is known");
}

const struct analysis analysis_a10 = {.id = "A10", .title = "kernels by name", .needs = "K", .answer = answer};
