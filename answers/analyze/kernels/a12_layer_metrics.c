// SPDX-License-Identifier: Apache-2.0
// A12, metrics by layer: the series of flops, DRAM reads, DRAM writes and both together, and in which third of the model
// each of them goes.
#include "analyze/kernels/a12_layer_metrics.h"

#include "analyze/a_list.h"

static double metric_of(const struct kernel_figures *figures, size_t series)
{
  static const enum kernel_metric metrics[SERIES_DRAM] = {KERNEL_FLOPS, KERNEL_DRAM_READ, KERNEL_DRAM_WRITE};
  return series == SERIES_DRAM ? figures->dram_bytes : figures->metrics[metrics[series]];
}

void layer_metrics_find(struct question *question, const struct kernels *kernels, struct layer_metrics *ret)
{
  struct kernel_groups groups = kernels_group_by_third(question, kernels);
  struct kernel_figures thirds[3], all = kernels_figures_in_layers(question, kernels);
  for (size_t third = 0; third < 3; third++)
    kernel_groups_figures(&groups, third, &thirds[third]);
  for (size_t series = 0; series < SERIES_COUNT; series++) {
    double pct[3];
    for (size_t third = 0; third < 3; third++) {
      bool is_empty = thirds[third].latency.count == 0; // no layer is in it
      pct[third] = analyze_share_pct(is_empty ? 0 : metric_of(&thirds[third], series), metric_of(&all, series));
    }
    ret->thirds[series] = layers_thirds_of(pct);
  }
}

// ---- the answer -----------------------------------------------------------------------------------------------------
static void put_row(struct question *question, const struct kernels *kernels, const struct layer *layer,
                    const struct kernel_figures *figures)
{
  struct table_builder *table = &question->table;
  const double *metrics = figures->metrics;
  table_row(table);
  layer_put(table, layer);
  table_put(table, "flops", cell_number(metrics[KERNEL_FLOPS]));
  table_put(table, "dram_read_bytes", cell_number(metrics[KERNEL_DRAM_READ]));
  table_put(table, "dram_write_bytes", cell_number(metrics[KERNEL_DRAM_WRITE]));
  table_put(table, "dram_bytes", cell_number(figures->dram_bytes));
  kernel_put_coverage(table, figures);
  kernel_put_further(table, question->request, figures);
  analyze_put_partial(table, layer->present < kernels->observation_count);
}

static void summarize(struct table_builder *table, const char *const keys[5], const struct thirds *thirds)
{
  for (size_t i = 0; i < 3; i++)
    table_summary(table, keys[i], cell_real(thirds->pct[i]));
  for (size_t i = 3; i < 5 && keys[i] != NULL; i++)
    table_summary(table, keys[i], cell_text(thirds->stage));
}

static enum status answer(struct question *question, struct error *err)
{
  static const char *const keys[SERIES_COUNT][5] = {
      {"flops_beginning_pct", "flops_middle_pct", "flops_end_pct", "flops_stage", NULL},
      {"dram_read_bytes_beginning_pct", "dram_read_bytes_middle_pct", "dram_read_bytes_end_pct",
       "dram_read_bytes_stage", "dram_read_stage"},
      {"dram_write_bytes_beginning_pct", "dram_write_bytes_middle_pct", "dram_write_bytes_end_pct",
       "dram_write_bytes_stage", "dram_write_stage"},
      {"dram_bytes_beginning_pct", "dram_bytes_middle_pct", "dram_bytes_end_pct", "dram_bytes_stage", "dram_stage"},
  };
  struct kernels kernels;
  struct layer_metrics metrics;
  XSP_TRY(kernels_answer(question, KERNELS_BY_LAYER, true, &kernels, err));
  XSP_TRY(kernels_need_metrics(question, &kernels, err));
  layer_metrics_find(question, &kernels, &metrics);
  struct kernel_groups groups = kernels_group_by_layer(question, &kernels);
  put_row(question, &kernels, &(struct layer){0}, &kernel_figures_none);
  table_declared(&question->table, groups.count);
  for (size_t i = 0; i < groups.count; i++) {
    struct kernel_figures figures;
    kernel_groups_figures(&groups, i, &figures);
    put_row(question, &kernels, &kernels.layers.items[i], &figures);
  }
  for (size_t series = 0; series < SERIES_COUNT; series++)
    summarize(&question->table, keys[series], &metrics.thirds[series]);
  kernels_summarize_outside(question, &kernels);
  layer_source_summarize(question, &kernels.source);
  return STATUS_OK;
}

const struct analysis analysis_a12 = {.id = "A12",
                                      .title = "metrics by layer",
                                      .summary = "flops and memory traffic by layer",
                                      .needs = "L/K",
                                      .main_figure = "flops",
                                      .answer = answer};
