// SPDX-License-Identifier: Apache-2.0
// A11, kernels by layer: what the kernels of each layer take, do and are bound by. A14 adds the roofs.
#include "analyze/kernels/a11_kernel_layers.h"

#include "analyze/a_list.h"

#include <math.h>

// Of a layer that captured a graph, by the first of its kernels that one launched.
static const char *launcher(const struct kernels *kernels, const struct kernel_groups *groups, size_t index)
{
  for (uint32_t i = groups->first[index]; i < groups->first[index + 1]; i++) {
    uint32_t launched = kernels->items[groups->row[i]].launched;
    if (launched != KERNEL_NO_LAYER)
      return kernels->layers.items[launched].name_text;
  }
  return NULL;
}

struct kernel_layer kernel_layer(struct question *question, const struct kernels *kernels, struct kernel_groups *groups,
                                 const struct roofs *roofs, size_t index)
{
  const struct layer *layer = &kernels->layers.items[index];
  struct kernel_layer row = {
      .layer = layer,
      .launched_by = launcher(kernels, groups, index),
      .layer_ms = kernels_layer(question, kernels, index).value,
      .is_partial = layer->present < kernels->observation_count,
      .from = kernels_from(kernels),
      .layer_from = kernels->source.from,
      .source = &kernels->source,
      .request = question->request,
      .model_from = kernels->model_from,
  };
  kernel_groups_figures(groups, index, &row.figures);
  row.latency_pct = analyze_share_pct(row.figures.latency.value, kernels->model_latency_ms);
  kernel_point(question, roofs, &row.figures, &row.point);
  return row;
}

void kernel_layer_put(struct table_builder *table, const struct kernel_layer *row)
{
  table_row(table);
  layer_put(table, row->layer);
  table_put_optional(table, "launched_by", cell_text(row->launched_by));
  table_put(table, "layer_latency_ms", cell_real(row->layer_ms));
  table_put(table, "kernel_latency_ms", cell_real(row->figures.latency.value));
  table_put_share(table, "latency_pct", "model", cell_real(row->latency_pct));
  table_put(table, "count", cell_number(row->figures.count));
  kernel_put_metrics(table, &row->figures, &row->point);
  kernel_put_further(table, row->request, &row->figures);
  analyze_put_spread(table, &row->figures.latency);
  analyze_put_partial(table, row->is_partial);
  analyze_put_from(table, "latency_from", row->from);
  analyze_put_from(table, "layer_latency_from", row->layer_from);
  layer_put_basis(table, row->source);
  analyze_put_from(table, "model_latency_from", row->model_from);
}

enum status kernel_layers_load(struct question *question, bool needs_metrics, struct kernels *ret_kernels,
                               struct roofs *ret_roofs, struct error *err)
{
  XSP_TRY(kernels_answer(question, KERNELS_BY_LAYER, needs_metrics, ret_kernels, err));
  question_note_from(question, "layer", ret_kernels->source.from);
  question_note_from(question, "model", ret_kernels->model_from);
  return roofs_load(question, ret_roofs, err);
}

void kernel_layers_summarize(struct question *question, const struct kernels *kernels)
{
  struct table_builder *table = &question->table;
  struct kernel_figures all = kernels_figures_of_all(question, kernels);
  table_summary(table, "layers", cell_int((int64_t)kernels->layers_listed));
  table_summary(table, "kernels", cell_number(all.count));
  table_summary(table, "kernel_latency_ms", cell_real(all.latency.value));
  table_summary(table, "model_latency_ms", cell_real(kernels->model_latency_ms));
  kernels_summarize_outside(question, kernels);
  layer_source_summarize(question, &kernels->source);
}

static enum status answer(struct question *question, struct error *err)
{
  struct kernels kernels;
  struct roofs roofs;
  double rows_sum_ms = 0;
  XSP_TRY(kernel_layers_load(question, false, &kernels, &roofs, err));
  struct kernel_groups groups = kernels_group_by_layer(question, &kernels);
  const struct kernel_layer empty = {.layer = &(struct layer){0},
                                     .figures = kernel_figures_none,
                                     .source = &kernels.source,
                                     .request = question->request};
  kernel_layer_put(&question->table, &empty);
  table_declared(&question->table, groups.count);
  for (size_t i = 0; i < groups.count; i++) {
    struct kernel_layer row = kernel_layer(question, &kernels, &groups, &roofs, i);
    kernel_layer_put(&question->table, &row);
    rows_sum_ms += isnan(row.figures.latency.value) ? 0 : row.figures.latency.value;
  }
  if (question_is_by_value(question))
    analyze_summarize_sums(question, kernels_figures_in_layers(question, &kernels).latency.value, rows_sum_ms);
  kernel_layers_summarize(question, &kernels);
  if (kernels.has_metric[KERNEL_FLOPS])
    roofs_note(question, &roofs);
  return STATUS_OK;
}

const struct analysis analysis_a11 = {.id = "A11",
                                      .title = "kernels by layer",
                                      .needs = "L/K",
                                      .main_figure = "kernel_latency_ms",
                                      .detail = TRACE_KERNELS_AND_DEVICES_BY_LAYER,
                                      .answer = answer};
