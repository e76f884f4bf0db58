// SPDX-License-Identifier: Apache-2.0
// A13, GPU and non-GPU latency by layer: how much of a layer's time the device was busy for it.
#include "analyze/a_list.h"
#include "analyze/kernels/kernels.h"

#include <math.h>

enum {
  INDEX,
  NAME,
  TYPE,
  LAYER_LATENCY_MS,
  KERNEL_LATENCY_MS,
  GPU_LATENCY,
  NON_GPU_LATENCY,
  GPU_PCT,
  SPREAD,
  PARTIAL = SPREAD + 4,
  FROM,
  LAYER_FROM,
  COLUMN_COUNT
};

static const struct table_column columns[] = {
    COLUMN("layer_index", "", "index"),
    COLUMN("layer_name", "", "layer"),
    COLUMN("layer_type", "", "type"),
    COLUMN("layer_latency_ms", "ms", "latency"),
    COLUMN("kernel_latency_ms", "ms", "kernels"),
    COLUMN("gpu_latency_ms", "ms", "GPU"),
    COLUMN("non_gpu_latency_ms", "ms", "non-GPU"),
    COLUMN("gpu_pct", "%", "GPU"),
    SPREAD_COLUMNS,
    COLUMN("partial", "", "partial"),
    COLUMN("latency_from", "", "from"),
    COLUMN("layer_latency_from", "", "layer from"),
};
_Static_assert(sizeof columns / sizeof columns[0] == COLUMN_COUNT, "a column and its place in the rows");

static double share_pct(double part, double whole)
{
  return whole > 0 ? part / whole * 100 : NAN;
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

static void summarize(struct question *question, const struct kernels *kernels, double layers_ms)
{
  double gpu_ms = question_statistic(question, kernels->gpu_ms, kernels->observation_count);
  table_summary(&question->table, "layers", cell_int((int64_t)kernels->layers_told));
  table_summary(&question->table, "layer_sum_ms", cell_real(layers_ms));
  table_summary(&question->table, "gpu_latency_ms", cell_real(gpu_ms));
  kernels_summarize_outside(question, kernels);
}

// Sum over layers, one an observation, then the statistic.
static double layers_sum_ms(struct question *question, const struct kernels *kernels)
{
  const struct view_set *set = kernels->layer_set;
  double *sums = arena_alloc_array(question->scratch, set->observation_count + 1, sizeof *sums);
  for (size_t i = 0; sums != NULL && i < kernels->layers.count; i++)
    for (size_t k = 0; k < set->observation_count; k++) {
      double value = kernels->layers.items[i].latency_ms[kernels->layer_first + k];
      sums[k] += isnan(value) ? 0 : value;
    }
  return sums == NULL ? NAN : question_statistic(question, sums, set->observation_count);
}

static enum status answer(struct question *question, struct error *err)
{
  struct kernels kernels;
  struct kernel_groups groups;
  XSP_TRY(kernels_answer(question, KERNELS_BY_LAYER, &kernels, err));
  question_note_from(question, "layer", kernels.layer_from);
  XSP_TRY(kernels_group_by_layer(question, &kernels, &groups, err));
  double *values = arena_alloc_array(question->scratch, kernels_room(&kernels), sizeof *values);
  if (values == NULL)
    return question_no_memory(err);
  table_columns(&question->table, columns, COLUMN_COUNT);
  size_t negative = 0;
  table_reserve(&question->table, groups.count);
  for (size_t i = 0; i < groups.count; i++) {
    const struct layer *layer = &kernels.layers.items[i];
    struct kernel_figures figures;
    struct table_cell *row = table_row(&question->table);
    kernel_groups_figures(&groups, i, &figures);
    double layer_ms = question_statistic(question, values, kernels_layer_latency(&kernels, i, values));
    double gpu_ms = question_statistic(question, values, kernels_layer_gpu(&kernels, i, values));
    double non_gpu_ms = difference_of_runs_ms(layer_ms, gpu_ms);
    negative += isnan(non_gpu_ms) && !isnan(layer_ms) && !isnan(gpu_ms);
    row[INDEX] = cell_int(layer->index);
    row[NAME] = cell_text(layer->name_text);
    row[TYPE] = cell_text(layer->type);
    row[LAYER_LATENCY_MS] = cell_real(layer_ms);
    row[KERNEL_LATENCY_MS] = cell_real(figures.latency_ms);
    row[GPU_LATENCY] = cell_real(gpu_ms);
    row[NON_GPU_LATENCY] = cell_real(non_gpu_ms);
    row[GPU_PCT] = cell_real(share_pct(gpu_ms, layer_ms));
    cell_spread(&row[SPREAD], figures.values_ms, figures.value_count);
    row[PARTIAL] = layer->present < kernels.observation_count ? cell_bool(true) : (struct table_cell){0};
    row[FROM] = cell_text(kernels_from(&kernels));
    row[LAYER_FROM] = cell_text(kernels.layer_from);
  }
  note_negative(question, &kernels, negative, groups.count);
  summarize(question, &kernels, layers_sum_ms(question, &kernels));
  static const char *const may_be_empty[] = {"partial", "latency_from", "layer_latency_from"};
  for (size_t i = 0; i < sizeof may_be_empty / sizeof may_be_empty[0]; i++)
    table_drop_empty(&question->table, may_be_empty[i]);
  return STATUS_OK;
}

const struct analysis analysis_a13 = {
    .id = "A13", .title = "GPU and non-GPU latency by layer", .needs = "L/K", .answer = answer};
