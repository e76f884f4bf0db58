// SPDX-License-Identifier: Apache-2.0
// A13, GPU and non-GPU latency by layer: the part of a layer's time during which the device was busy for it.
#include "analyze/a_list.h"
#include "analyze/kernels/kernels.h"

#include <math.h>

struct row {
  const struct layer *layer;
  double gpu_ms, non_gpu_ms, kernel_ms;
  struct figure latency; // of the layer
};

static void put_row(struct table_builder *table, const struct kernels *kernels, const struct row *row)
{
  table_row(table);
  layer_put(table, row->layer);
  table_put(table, "layer_latency_ms", cell_real(row->latency.value));
  kernel_put_gpu(table, row->kernel_ms, row->gpu_ms, row->non_gpu_ms, "layer",
                 analyze_share_pct(row->gpu_ms, row->latency.value));
  analyze_put_spread(table, &row->latency);
  analyze_put_partial(table, row->layer->present < kernels->observation_count ||
                                 row->latency.count < kernels->layer_side.observation_count);
  analyze_put_from(table, "latency_from", kernels_from(kernels));
  analyze_put_from(table, "layer_latency_from", kernels->source.from);
  layer_put_basis(table, &kernels->source);
}

static void note_negative(struct question *question, const struct kernels *kernels, size_t negative, size_t layers)
{
  if (negative == 0)
    return;
  if (kernels->layer_set == kernels->set)
    table_note(&question->table,
               "%zu of %zu layers: their device work takes longer than they do (it goes on after they end), the "
               "difference is negative; non-GPU latency not given",
               negative, layers);
  else
    table_note(&question->table,
               "%zu of %zu layers: the difference of the two runs is negative, within noise, or the device work goes "
               "on after the layer ends; non-GPU latency not given",
               negative, layers);
}

// On the device basis layer = GPU + non-GPU; on the host's the rest may be negative: of two runs, or work that goes on after the
// layer.
static void find_gpu(struct question *question, const struct kernels *kernels, size_t index, struct row *row)
{
  row->gpu_ms = kernels_layer_gpu_ms(question, kernels, index);
  if (kernels->source.on_device) {
    const struct layers *layers = &kernels->layer_side;
    row->non_gpu_ms = layer_value(question, layers, row->layer, LAYER_ALONE);
    row->latency = kernels_layer(question, kernels, index);
    return;
  }
  row->latency = kernels_layer(question, kernels, index);
  row->non_gpu_ms = analyze_difference_of_runs_ms(row->latency.value, row->gpu_ms);
}

static double gpu_sum_ms(struct question *question, const struct kernels *kernels)
{
  if (kernels->source.on_device)
    return layers_total(question, &kernels->layer_side, LAYER_EXECUTED);
  size_t observations = kernels->observation_count;
  double *sums = analyze_unknowns(question->scratch, observations);
  for (size_t i = 0; i < kernels->layers_listed * observations; i++)
    if (!isnan(kernels->layer_gpu_ms[i]))
      sums[i % observations] =
          isnan(sums[i % observations]) ? kernels->layer_gpu_ms[i] : sums[i % observations] + kernels->layer_gpu_ms[i];
  return question_value(question, kernels->set, sums);
}

static void summarize(struct question *question, const struct kernels *kernels, double rows_sum_ms)
{
  struct table_builder *table = &question->table;
  double layer_ms = layers_total(question, &kernels->layer_side, LAYER_LATENCY);
  double gpu_ms = gpu_sum_ms(question, kernels);
  double non_gpu_ms = kernels->source.on_device ? layers_total(question, &kernels->layer_side, LAYER_ALONE)
                                                : analyze_difference_of_runs_ms(layer_ms, gpu_ms);
  table_summary(table, "layers", cell_int((int64_t)kernels->layers_listed));
  table_summary(table, "layer_sum_ms", cell_real(layer_ms));
  table_summary(table, "gpu_sum_ms", cell_real(gpu_ms));
  table_summary(table, "non_gpu_sum_ms", cell_real(non_gpu_ms));
  table_summary(table, "gpu_latency_ms", cell_real(question_value(question, kernels->set, kernels->gpu_ms)));
  analyze_summarize_sums(question, layer_ms, rows_sum_ms);
  kernels_summarize_outside(question, kernels);
  layer_source_summarize(question, &kernels->source);
}

static enum status answer(struct question *question, struct error *err)
{
  struct table_builder *table = &question->table;
  struct kernels kernels;
  size_t negative = 0;
  double rows_sum_ms = 0;
  XSP_TRY(kernels_answer(question, KERNELS_IN_LAYER, false, &kernels, err));
  question_note_from(question, "layer", kernels.source.from);
  struct kernel_groups groups = kernels_group_by_layer(question, &kernels);
  put_row(table, &kernels, &(struct row){.layer = &(struct layer){0}});
  table_declared(table, groups.count);
  for (size_t i = 0; i < groups.count; i++) {
    struct kernel_figures figures;
    kernel_groups_figures(&groups, i, &figures);
    struct row row = {.layer = &kernels.layers.items[i], .kernel_ms = figures.latency.value};
    find_gpu(question, &kernels, i, &row);
    negative += row.latency.value < row.gpu_ms && isnan(row.non_gpu_ms);
    put_row(table, &kernels, &row);
    rows_sum_ms += isnan(row.latency.value) ? 0 : row.latency.value;
  }
  note_negative(question, &kernels, negative, groups.count);
  summarize(question, &kernels, rows_sum_ms);
  return STATUS_OK;
}

const struct analysis analysis_a13 = {.id = "A13",
                                      .title = "GPU and non-GPU latency by layer",
                                      .summary = "GPU and non-GPU time by layer",
                                      .needs = "L/K",
                                      .main_figure = "layer_latency_ms",
                                      .detail = TRACE_KERNELS_AND_DEVICES_BY_LAYER,
                                      .answer = answer};
