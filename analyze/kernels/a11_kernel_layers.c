// SPDX-License-Identifier: Apache-2.0
// A11, kernels by layer: what the kernels of each layer take, do and are bound by. A14 adds the roofs.
#include "analyze/kernels/a11_kernel_layers.h"

#include "analyze/a_list.h"
#include "analyze/kernels/a10_kernel_names.h"

static const struct table_column columns[] = {KERNEL_LAYER_COLUMNS};

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

static enum status fill_rows(struct question *question, const struct kernels *kernels, const struct roofs *roofs,
                             struct error *err)
{
  struct kernel_groups groups;
  XSP_TRY(kernels_group_by_layer(question, kernels, &groups, err));
  double *values = arena_alloc_array(question->scratch, kernels_room(kernels), sizeof *values);
  if (values == NULL)
    return question_no_memory(err);
  table_reserve(&question->table, groups.count);
  for (size_t i = 0; i < groups.count; i++) {
    const struct layer *layer = &kernels->layers.items[i];
    struct kernel_figures figures;
    struct table_cell *row = table_row(&question->table);
    kernel_groups_figures(&groups, i, &figures);
    row[KERNEL_LAYER_INDEX] = cell_int(layer->index);
    row[KERNEL_LAYER_NAME] = cell_text(layer->name_text);
    row[KERNEL_LAYER_TYPE] = cell_text(layer->type);
    row[KERNEL_LAYER_LATENCY] =
        cell_real(question_statistic(question, values, kernels_layer_latency(kernels, i, values)));
    row[KERNEL_LAYER_KERNELS] = cell_real(figures.latency_ms);
    row[KERNEL_LAYER_PCT] = cell_real(share_of_model_pct(kernels, figures.latency_ms));
    row[KERNEL_LAYER_COUNT] = cell_number(figures.count);
    kernel_cells(question, roofs, &figures, &row[KERNEL_LAYER_METRICS]);
    cell_spread(&row[KERNEL_LAYER_SPREAD], figures.values_ms, figures.value_count);
    row[KERNEL_LAYER_PARTIAL] = layer->present < kernels->observation_count ? cell_bool(true) : (struct table_cell){0};
    row[KERNEL_LAYER_FROM] = cell_text(kernels_from(kernels));
    row[KERNEL_LAYER_LAYER_FROM] = cell_text(kernels->layer_from);
    row[KERNEL_LAYER_MODEL_FROM] = cell_text(kernels->model_from);
  }
  return STATUS_OK;
}

enum status kernel_layers_told(struct question *question, const struct table_column *all_columns, size_t count,
                               struct kernels *ret_kernels, struct roofs *ret_roofs, struct error *err)
{
  XSP_TRY(kernels_answer(question, KERNELS_BY_LAYER, ret_kernels, err));
  question_note_from(question, "layer", ret_kernels->layer_from);
  question_note_from(question, "model", ret_kernels->model_from);
  XSP_TRY(roofs_load(question, ret_roofs, err));
  table_columns(&question->table, all_columns, count);
  XSP_TRY(fill_rows(question, ret_kernels, ret_roofs, err));
  return summarize(question, ret_kernels, err);
}

void kernel_layers_drop_empty(struct question *question)
{
  static const char *const may_be_empty[] = {"partial", "latency_from", "layer_latency_from", "model_latency_from"};
  for (size_t i = 0; i < sizeof may_be_empty / sizeof may_be_empty[0]; i++)
    table_drop_empty(&question->table, may_be_empty[i]);
}

static enum status answer(struct question *question, struct error *err)
{
  struct kernels kernels;
  struct roofs roofs;
  XSP_TRY(kernel_layers_told(question, columns, KERNEL_LAYER_COLUMN_COUNT, &kernels, &roofs, err));
  if (kernels.has_metric[KERNEL_FLOPS])
    roofs_note(question, &roofs);
  kernel_layers_drop_empty(question);
  return STATUS_OK;
}

const struct analysis analysis_a11 = {.id = "A11", .title = "kernels by layer", .needs = "L/K", .answer = answer};
