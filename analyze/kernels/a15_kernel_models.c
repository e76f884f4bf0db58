// SPDX-License-Identifier: Apache-2.0
// A15, kernels by model: per batch size what all kernels together take, do and are bound by.
#include "analyze/a_list.h"
#include "analyze/kernels/kernels.h"

#include <math.h>
#include <stdio.h>

enum {
  BATCH,
  MODEL_LATENCY,
  KERNEL_LATENCY,
  GPU_LATENCY,
  NON_GPU_LATENCY,
  GPU_PCT,
  COUNT,
  METRICS,
  SPREAD = METRICS + METRIC_COLUMN_COUNT,
  FROM = SPREAD + 4,
  MODEL_FROM,
  COLUMN_COUNT
};

static const struct table_column columns[] = {
    COLUMN("batch_size", "", "batch"),
    COLUMN("model_latency_ms", "ms", "latency"),
    COLUMN("kernel_latency_ms", "ms", "kernels"),
    COLUMN("gpu_latency_ms", "ms", "GPU"),
    COLUMN("non_gpu_latency_ms", "ms", "non-GPU"),
    COLUMN("gpu_pct", "%", "GPU"),
    COLUMN("count", "", "count"),
    METRIC_COLUMNS,
    SPREAD_COLUMNS,
    COLUMN("latency_from", "", "from"),
    COLUMN("model_latency_from", "", "model from"),
};
_Static_assert(sizeof columns / sizeof columns[0] == COLUMN_COUNT, "a column and its place in the rows");

static void fill_row(struct question *question, const struct kernels *kernels, const struct roofs *roofs,
                     const struct kernel_figures *figures)
{
  struct table_cell *row = table_row(&question->table);
  double model_ms = kernels->model_latency_ms;
  double gpu_ms = question_statistic(question, kernels->gpu_ms, kernels->observation_count);
  char what[64] = "non-GPU latency";
  if (kernels->batch_size != 0) // unknown, as of programs that are no models
    snprintf(what, sizeof what, "non-GPU latency at batch size %lld", (long long)kernels->batch_size);
  row[BATCH] = kernels->batch_size == 0 ? (struct table_cell){0} : cell_int(kernels->batch_size);
  row[MODEL_LATENCY] = cell_real(model_ms);
  row[KERNEL_LATENCY] = cell_real(figures->latency_ms);
  row[GPU_LATENCY] = cell_real(gpu_ms);
  if (!isnan(model_ms) && !isnan(gpu_ms))
    row[NON_GPU_LATENCY] = cell_real(question_difference_ms(question, model_ms, gpu_ms, what));
  row[GPU_PCT] = cell_real(model_ms > 0 ? figures->latency_ms / model_ms * 100 : NAN);
  row[COUNT] = cell_number(figures->count);
  kernel_cells(question, roofs, figures, &row[METRICS]);
  cell_spread(&row[SPREAD], figures->values_ms, figures->value_count);
  row[FROM] = cell_text(kernels_from(kernels));
  row[MODEL_FROM] = cell_text(kernels->model_from);
}

static enum status add_batch(struct question *question, int64_t batch_size, const struct roofs *roofs,
                             bool *has_metrics, struct error *err)
{
  struct kernels kernels;
  struct kernel_groups all;
  struct kernel_figures figures;
  XSP_TRY(kernels_load(question, batch_size, KERNELS_BY_MODEL, &kernels, err));
  XSP_TRY(kernels_group_all(question, &kernels, &all, err));
  kernel_groups_figures(&all, 0, &figures);
  fill_row(question, &kernels, roofs, &figures);
  question_uses(question, kernels.set);
  kernels_note(question, &kernels);
  question_note_from(question, "model", kernels.model_from);
  if (kernels.model_set == NULL)
    table_note(&question->table, "there is no run with the model level: shares of the model are not given");
  *has_metrics |= kernels.has_metric[KERNEL_FLOPS];
  return STATUS_OK;
}

static enum status answer(struct question *question, struct error *err)
{
  const struct view *view = question->view;
  int64_t only = question->request->batch;
  struct roofs roofs;
  bool has_metrics = false;
  XSP_TRY(roofs_load(question, &roofs, err));
  table_columns(&question->table, columns, COLUMN_COUNT);
  for (size_t i = 0; i < view->set_count; i++) { // sets stand by batch size
    int64_t batch_size = view->sets[i].batch_size;
    if ((i > 0 && view->sets[i - 1].batch_size == batch_size) || (only != 0 && batch_size != only) ||
        !kernels_exist(view, batch_size))
      continue;
    struct arena *answers_scratch = question->scratch;
    struct arena scratch = {0}; // of one batch size at a time
    question->scratch = &scratch;
    enum status status = add_batch(question, batch_size, &roofs, &has_metrics, err);
    arena_done(&scratch);
    question->scratch = answers_scratch;
    XSP_TRY(status);
    question->batch_size = batch_size;
  }
  if (question->table.row_count == 0 && only != 0)
    return question_lacks(question, err, "there is no run with the kernel level at batch size %lld", (long long)only);
  if (question->table.row_count == 0)
    return question_lacks(question, err, "there is no run with the kernel level");
  question->has_several_batches = question->table.row_count > 1;
  if (has_metrics)
    roofs_note(question, &roofs);
  table_drop_empty(&question->table, "latency_from");
  table_drop_empty(&question->table, "model_latency_from");
  return STATUS_OK;
}

const struct analysis analysis_a15 = {.id = "A15", .title = "kernels by model", .needs = "K", .answer = answer};
