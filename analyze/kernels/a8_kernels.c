// SPDX-License-Identifier: Apache-2.0
// A8, kernel information: every kernel call in execution order, its latency, metrics and bound. A9 adds the roofs.
#include "analyze/kernels/a8_kernels.h"

#include "analyze/a_list.h"

enum {
  NAME,
  LAYER_INDEX,
  LAYER_NAME,
  LATENCY,
  METRICS,
  SPREAD = METRICS + METRIC_COLUMN_COUNT,
  PARTIAL = SPREAD + 4,
  FROM,
  COLUMN_COUNT,
  ROOFS = COLUMN_COUNT, // A9 only
};

static const struct table_column columns[COLUMN_COUNT + ROOF_COLUMN_COUNT] = {
    COLUMN("kernel_name", "", "kernel"),
    COLUMN("layer_index", "", "index"),
    COLUMN("layer_name", "", "layer"),
    COLUMN("latency_ms", "ms", "latency"),
    METRIC_COLUMNS,
    SPREAD_COLUMNS,
    COLUMN("partial", "", "partial"),
    COLUMN("latency_from", "", "from"),
    ROOF_COLUMNS,
};

static void fill_row(struct question *question, const struct kernels *kernels, const struct roofs *roofs,
                     const struct kernel *kernel, const struct kernel_figures *figures, bool with_roofs)
{
  struct table_cell *row = table_row(&question->table);
  row[NAME] = cell_text(kernel->name);
  if (kernel->layer != KERNEL_NO_LAYER) {
    row[LAYER_INDEX] = cell_int(kernels->layers.items[kernel->layer].index);
    row[LAYER_NAME] = cell_text(kernels->layers.items[kernel->layer].name_text);
  }
  row[LATENCY] = cell_real(figures->latency_ms);
  kernel_cells(question, roofs, figures, &row[METRICS]);
  cell_spread(&row[SPREAD], figures->values_ms, figures->value_count);
  row[PARTIAL] = kernel->present < kernels->observation_count ? cell_bool(true) : (struct table_cell){0};
  row[FROM] = cell_text(kernels_from(kernels));
  if (with_roofs)
    roof_cells(roofs_choose(roofs, figures->metrics + KERNEL_FLOPS_BY_PRECISION), &row[ROOFS]);
}

static size_t count_names(const struct question *question, const struct kernels *kernels)
{
  bool *is_told = arena_alloc_array(question->scratch, kernels->name_count + 1, sizeof *is_told);
  size_t count = 0;
  for (size_t i = 0; is_told != NULL && i < kernels->told; i++) {
    count += !is_told[kernels->items[i].name_group];
    is_told[kernels->items[i].name_group] = true;
  }
  return count;
}

enum status kernels_told(struct question *question, bool with_roofs, struct error *err)
{
  struct kernels kernels;
  struct kernel_groups groups;
  struct roofs roofs;
  XSP_TRY(kernels_answer(question, KERNELS_ALONE, &kernels, err));
  XSP_TRY(roofs_load(question, &roofs, err));
  XSP_TRY(kernels_group_each(question, &kernels, &groups, err));
  table_columns(&question->table, columns, COLUMN_COUNT + (with_roofs ? ROOF_COLUMN_COUNT : 0));
  const struct analyze_request *request = question->request;
  size_t shown = request->sort == NULL && request->top > 0 ? (size_t)request->top : SIZE_MAX; // --top drops the others
  int64_t under_1ms = 0;
  table_reserve(&question->table, shown < groups.count ? shown : groups.count);
  for (size_t i = 0; i < groups.count; i++) {
    struct kernel_figures figures;
    kernel_groups_figures(&groups, i, &figures);
    under_1ms += figures.latency_ms < 1;
    if (i < shown)
      fill_row(question, &kernels, &roofs, &kernels.items[i], &figures, with_roofs);
  }
  table_summary(&question->table, "kernels", cell_int((int64_t)groups.count));
  table_summary(&question->table, "kernels_under_1ms", cell_int(under_1ms));
  table_summary(&question->table, "distinct_names", cell_int((int64_t)count_names(question, &kernels)));
  if (with_roofs || kernels.has_metric[KERNEL_FLOPS])
    roofs_note(question, &roofs);
  if (with_roofs)
    kernels_note_lacking(question, &kernels);
  table_drop_empty(&question->table, "partial");
  table_drop_empty(&question->table, "latency_from");
  return STATUS_OK;
}

static enum status answer(struct question *question, struct error *err)
{
  return kernels_told(question, false, err);
}

const struct analysis analysis_a8 = {.id = "A8", .title = "kernel information", .needs = "K", .answer = answer};
