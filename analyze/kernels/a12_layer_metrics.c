// SPDX-License-Identifier: Apache-2.0
// A12, metrics by layer: the series of flops, DRAM reads, DRAM writes and both together, and in which third of the model
// each of them goes.
#include "analyze/kernels/a12_layer_metrics.h"

#include "analyze/a_list.h"

#include <math.h>

static double *make_values(struct question *question, size_t layers, size_t observations)
{
  return arena_alloc_array(question->scratch, layers * observations + 1, sizeof(double));
}

// The fewest kernels that a layer has in an observation of the set that latencies come from: a metric run with fewer lacks
// some.
static double *fewest_calls(struct question *question, const struct kernels *kernels)
{
  size_t observations = kernels->observation_count;
  double *calls = make_values(question, kernels->layers_measured, observations);
  double *fewest = make_values(question, kernels->layers_measured, 1);
  for (size_t k = 0; k < kernels->count; k++)
    for (size_t i = kernels->calls.first[k];
         kernels->items[k].layer < kernels->layers_measured && i < kernels->calls.first[k + 1]; i++)
      calls[kernels->items[k].layer * observations + kernels->calls.observation[i]]++;
  for (size_t layer = 0; layer < kernels->layers_measured; layer++) {
    fewest[layer] = INFINITY;
    for (size_t o = 0; o < observations; o++)
      if (!isnan(kernels->layers.items[layer].latency_ms[o]))
        fewest[layer] = fmin(fewest[layer], calls[layer * observations + o]);
  }
  return fewest;
}

static bool is_there(const struct kernels *kernels, size_t layer, size_t observation)
{
  bool has_layers = (kernels->metric_set->levels.mask & XSP_LEVEL_MASK(XSP_LEVEL_LAYER)) != 0;
  return !has_layers || !isnan(kernels->layers.items[layer].latency_ms[kernels->metric_first + observation]);
}

static void load_sums(struct question *question, struct layer_metrics *metrics)
{
  static const enum kernel_metric of[] = {KERNEL_FLOPS, KERNEL_DRAM_READ, KERNEL_DRAM_WRITE};
  const struct kernels *kernels = metrics->kernels;
  const struct kernel_calls *calls = &kernels->metric_calls;
  size_t layers = kernels->layers_measured, observations = calls->observation_count;
  double **sums = metrics->sums;
  const double *fewest = fewest_calls(question, kernels);
  double *counted = make_values(question, layers, observations);
  metrics->observation_count = observations;
  for (size_t s = 0; s < SERIES_COUNT; s++)
    sums[s] = make_values(question, layers, observations);
  for (size_t k = 0; k < kernels->count; k++)
    for (size_t i = calls->first[k]; kernels->items[k].layer < layers && i < calls->first[k + 1]; i++) {
      size_t at = kernels->items[k].layer * observations + calls->observation[i];
      counted[at]++;
      for (size_t s = 0; s < SERIES_DRAM; s++)
        sums[s][at] += calls->metrics[of[s]] == NULL ? NAN : calls->metrics[of[s]][i];
    }
  for (size_t at = 0; at < layers * observations; at++) {
    size_t layer = at / observations;
    bool exists = is_there(kernels, layer, at % observations);
    for (size_t s = 0; s < SERIES_DRAM; s++)
      if (!exists || counted[at] < fewest[layer] || !kernels->has_metric[of[s]])
        sums[s][at] = exists ? NAN : -1;
    double read = sums[SERIES_DRAM_READ][at];
    sums[SERIES_DRAM][at] = read < 0 ? -1 : read + sums[SERIES_DRAM_WRITE][at];
  }
}

// Sum over the layers of a third (3: over all) in each observation, then the statistic; unknown where a layer's is.
static double third_of(struct question *question, const struct layer_metrics *metrics, size_t series, size_t third)
{
  size_t layers = metrics->kernels->layers_measured, observations = metrics->observation_count;
  double *sums = make_values(question, 1, observations);
  for (size_t layer = 0; layer < layers; layer++)
    for (size_t o = 0; o < observations && (third == 3 || 3 * layer / layers == third); o++) {
      double value = metrics->sums[series][layer * observations + o];
      sums[o] += value < 0 ? 0 : value;
    }
  return question_statistic(question, sums, observations);
}

static struct thirds thirds_of_series(struct question *question, const struct layer_metrics *metrics, size_t series)
{
  double total = third_of(question, metrics, series, 3);
  double pct[3];
  for (size_t third = 0; third < 3; third++)
    pct[third] = third_of(question, metrics, series, third) / total * 100;
  struct thirds thirds = thirds_of(pct);
  thirds.stage = total > 0 ? thirds.stage : NULL;
  return thirds;
}

bool layer_metrics_find(struct question *question, const struct kernels *kernels, struct layer_metrics *ret)
{
  *ret = (struct layer_metrics){.kernels = kernels};
  if (!kernels->has_metric[KERNEL_FLOPS] && !kernels->has_metric[KERNEL_DRAM_READ] &&
      !kernels->has_metric[KERNEL_DRAM_WRITE])
    return false;
  load_sums(question, ret);
  for (size_t series = 0; series < SERIES_COUNT; series++)
    ret->thirds[series] = thirds_of_series(question, ret, series);
  return true;
}

// ---- the answer -----------------------------------------------------------------------------------------------------
// `dram`: one sum per observation, negative where the layer is not in it.
static void put_row(struct question *question, const struct layer_metrics *metrics, const struct layer *layer,
                    const struct kernel_figures *figures, double *dram, size_t count)
{
  struct table_builder *table = &question->table;
  for (size_t i = 0; i < count; i++)
    dram[i] = dram[i] < 0 ? NAN : dram[i];
  table_row(table);
  put_layer(table, layer);
  table_put(table, "flops", "flops", "flops", cell_number(figures->metrics[KERNEL_FLOPS]));
  table_put(table, "dram_read_bytes", "bytes", "DRAM reads", cell_number(figures->metrics[KERNEL_DRAM_READ]));
  table_put(table, "dram_write_bytes", "bytes", "DRAM writes", cell_number(figures->metrics[KERNEL_DRAM_WRITE]));
  table_put(table, "dram_bytes", "bytes", "DRAM", cell_number(question_statistic(question, dram, count)));
  put_partial(table, layer->present < metrics->kernels->observation_count);
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
  XSP_TRY(kernels_answer(question, KERNELS_BY_LAYER, &kernels, err));
  if (!layer_metrics_find(question, &kernels, &metrics))
    return question_lacks(question, err, "no kernel has flops, dram_read_bytes or dram_write_bytes");
  struct kernel_groups groups = kernels_group_by_layer(question, &kernels);
  size_t observations = metrics.observation_count;
  put_row(question, &metrics, &(struct layer){0}, &(struct kernel_figures){0}, NULL, 0);
  table_declared(&question->table, groups.count);
  for (size_t i = 0; i < groups.count; i++) {
    struct kernel_figures figures;
    kernel_groups_figures(&groups, i, &figures);
    put_row(question, &metrics, &kernels.layers.items[i], &figures, metrics.sums[SERIES_DRAM] + i * observations,
            observations);
  }
  for (size_t series = 0; series < SERIES_COUNT; series++)
    summarize(&question->table, keys[series], &metrics.thirds[series]);
  kernels_summarize_outside(question, &kernels);
  return STATUS_OK;
}

const struct analysis analysis_a12 = {.id = "A12", .title = "metrics by layer", .needs = "L/K", .answer = answer};
