// SPDX-License-Identifier: Apache-2.0
// A11, kernels by layer: what the kernels of each layer take, do and are bound by.
#include "analyze/a10_kernel_names.h"
#include "analyze/a_list.h"

enum {
  INDEX,
  NAME,
  TYPE,
  LAYER_LATENCY_MS,
  KERNEL_LATENCY_MS,
  LATENCY_PCT,
  COUNT,
  METRICS,
  SPREAD = METRICS + METRIC_COLUMN_COUNT,
  PARTIAL = SPREAD + 4,
  FROM,
  LAYER_FROM,
  MODEL_FROM,
  COLUMN_COUNT
};

static const struct analyze_column columns[COLUMN_COUNT] = {
    COLUMN("layer_index", "", "index"),
    COLUMN("layer_name", "", "layer"),
    COLUMN("layer_type", "", "type"),
    COLUMN("layer_latency_ms", "ms", "latency"),
    COLUMN("kernel_latency_ms", "ms", "kernels"),
    COLUMN("latency_pct", "%", "of model"),
    COLUMN("count", "", "count"),
    METRIC_COLUMNS,
    SPREAD_COLUMNS,
    COLUMN("partial", "", "partial"),
    COLUMN("latency_from", "", "from"),
    COLUMN("layer_latency_from", "", "layer from"),
    COLUMN("model_latency_from", "", "model from"),
};

static enum status summarize(struct question *question, const struct kernels *kernels, struct error *err)
{
  struct kernel_groups all;
  struct kernel_figures figures;
  XSP_TRY(kernels_group_all(question, kernels, &all, err));
  kernel_groups_figures(&all, 0, &figures);
  table_summary(&question->table, "layers", cell_int((int64_t)kernels->layers_told));
  table_summary(&question->table, "kernels", cell_number(figures.count));
  table_summary(&question->table, "kernel_latency_ms", cell_real(figures.latency_ms));
  table_summary(&question->table, "model_latency_ms", cell_real(kernels->model_latency_ms));
  kernels_summarize_outside(question, kernels);
  return STATUS_OK;
}

static enum status answer(struct question *question, struct error *err)
{
  struct kernels kernels;
  struct kernel_groups groups;
  struct roofs roofs;
  XSP_TRY(kernels_answer(question, KERNELS_BY_LAYER, &kernels, err));
  question_note_from(question, "layer", kernels.layer_from);
  question_note_from(question, "model", kernels.model_from);
  XSP_TRY(roofs_load(question, &roofs, err));
  XSP_TRY(kernels_group_by_layer(question, &kernels, &groups, err));
  double *values = arena_alloc_array(question->scratch, kernels_room(&kernels), sizeof *values);
  if (values == NULL)
    return question_no_memory(err);
  table_columns(&question->table, columns, COLUMN_COUNT);
  for (size_t i = 0; i < groups.count; i++) {
    const struct layer *layer = &kernels.layers.items[i];
    struct kernel_figures figures;
    struct cell *row = table_row(&question->table);
    kernel_groups_figures(&groups, i, &figures);
    row[INDEX] = cell_int(layer->index);
    row[NAME] = cell_text(layer->name_text);
    row[TYPE] = cell_text(layer->type);
    row[LAYER_LATENCY_MS] = cell_real(question_statistic(question, values, kernels_layer_latency(&kernels, i, values)));
    row[KERNEL_LATENCY_MS] = cell_real(figures.latency_ms);
    row[LATENCY_PCT] = cell_real(share_of_model_pct(&kernels, figures.latency_ms));
    row[COUNT] = cell_number(figures.count);
    kernel_cells(question, &roofs, &figures, &row[METRICS]);
    cell_spread(&row[SPREAD], figures.values_ms, figures.value_count);
    row[PARTIAL] = layer->present < kernels.observation_count ? cell_bool(true) : (struct cell){0};
    row[FROM] = cell_text(kernels_from(&kernels));
    row[LAYER_FROM] = cell_text(kernels.layer_from);
    row[MODEL_FROM] = cell_text(kernels.model_from);
  }
  XSP_TRY(summarize(question, &kernels, err));
  if (kernels.has_metric[KERNEL_FLOPS])
    roofs_note(question, &roofs);
  static const char *const may_be_empty[] = {"partial", "latency_from", "layer_latency_from", "model_latency_from"};
  for (size_t i = 0; i < sizeof may_be_empty / sizeof may_be_empty[0]; i++)
    table_drop_empty(&question->table, may_be_empty[i]);
  return STATUS_OK;
}

const struct analysis analysis_a11 = {"A11", "kernels by layer", "L/K", answer};
