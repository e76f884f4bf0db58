// SPDX-License-Identifier: Apache-2.0
// A12, metrics by layer: the series of flops, DRAM reads, DRAM writes and both together, and in which third of the model
// each of them goes.
#include "analyze/a_list.h"
#include "analyze/kernels/kernels.h"

#include <math.h>
#include <string.h>

enum { INDEX, NAME, TYPE, FLOPS, DRAM_READ, DRAM_WRITE, DRAM, PARTIAL, COLUMN_COUNT };
enum { SERIES_COUNT = DRAM - FLOPS + 1 };

static const struct table_column columns[COLUMN_COUNT] = {
    COLUMN("layer_index", "", "index"),
    COLUMN("layer_name", "", "layer"),
    COLUMN("layer_type", "", "type"),
    COLUMN("flops", "flops", "flops"),
    COLUMN("dram_read_bytes", "bytes", "DRAM reads"),
    COLUMN("dram_write_bytes", "bytes", "DRAM writes"),
    COLUMN("dram_bytes", "bytes", "DRAM"),
    COLUMN("partial", "", "partial"),
};

// Sums of one metric run by layer and observation. NaN: a kernel lacks it; -1: the layer is not in the observation.
struct sums {
  const struct kernels *kernels;
  size_t observation_count;
  double *of[SERIES_COUNT];
};

// ---- one value per layer and observation -----------------------------------------------------------------------------
static double *make_values(struct question *question, size_t layers, size_t observations)
{
  if (observations != 0 && layers > SIZE_MAX / observations)
    return NULL;
  return arena_alloc_array(question->scratch, layers * observations + 1, sizeof(double));
}

// The fewest kernels that a layer has in an observation of the set whose latencies are told: where a metric run has fewer,
// it lacks some.
static double *fewest_calls(struct question *question, const struct kernels *kernels)
{
  size_t observations = kernels->observation_count;
  double *calls = make_values(question, kernels->layers_told, observations);
  double *fewest = make_values(question, kernels->layers_told, 1);
  if (calls == NULL || fewest == NULL)
    return NULL;
  for (size_t k = 0; k < kernels->count; k++)
    for (size_t i = kernels->calls.first[k];
         kernels->items[k].layer < kernels->layers_told && i < kernels->calls.first[k + 1]; i++)
      calls[kernels->items[k].layer * observations + kernels->calls.observation[i]]++;
  for (size_t layer = 0; layer < kernels->layers_told; layer++) {
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

static bool load_sums(struct question *question, const struct kernels *kernels, struct sums *ret_sums)
{
  static const enum kernel_metric metrics[] = {KERNEL_FLOPS, KERNEL_DRAM_READ, KERNEL_DRAM_WRITE};
  const struct kernel_calls *calls = &kernels->metric_calls;
  size_t observations = calls->observation_count;
  *ret_sums = (struct sums){.kernels = kernels, .observation_count = observations};
  double *fewest = fewest_calls(question, kernels);
  double *counted = make_values(question, kernels->layers_told, observations);
  for (size_t s = 0; s < SERIES_COUNT; s++)
    ret_sums->of[s] = make_values(question, kernels->layers_told, observations);
  for (size_t s = 0; s < SERIES_COUNT; s++)
    if (fewest == NULL || counted == NULL || ret_sums->of[s] == NULL)
      return false;
  for (size_t k = 0; k < kernels->count; k++)
    for (size_t i = calls->first[k]; kernels->items[k].layer < kernels->layers_told && i < calls->first[k + 1]; i++) {
      size_t at = kernels->items[k].layer * observations + calls->observation[i];
      counted[at]++;
      for (size_t s = 0; s < SERIES_COUNT - 1; s++)
        ret_sums->of[s][at] += calls->metrics[metrics[s]] == NULL ? NAN : calls->metrics[metrics[s]][i];
    }
  for (size_t at = 0; at < kernels->layers_told * observations; at++) {
    bool is_known = counted[at] >= fewest[at / observations] && is_there(kernels, at / observations, at % observations);
    for (size_t s = 0; s < SERIES_COUNT - 1; s++)
      if (!is_known || !kernels->has_metric[metrics[s]])
        ret_sums->of[s][at] = is_there(kernels, at / observations, at % observations) ? NAN : -1;
    double *of = ret_sums->of[SERIES_COUNT - 1];
    double read = ret_sums->of[1][at];
    of[at] = read < 0 ? -1 : read + ret_sums->of[2][at];
  }
  return true;
}

static double statistic_of(const struct question *question, const double *values, size_t count, double *room)
{
  size_t known = 0;
  for (size_t i = 0; i < count; i++)
    if (values[i] >= 0)
      room[known++] = values[i];
  return question_statistic(question, room, known);
}

// ---- thirds ----------------------------------------------------------------------------------------------------------
// Sums of a third (3: of all) by observation; NaN where a layer in it is unknown.
static void sum_third(const struct sums *sums, size_t series, size_t third, double *values)
{
  size_t layers = sums->kernels->layers_told;
  for (size_t o = 0; o < sums->observation_count; o++)
    values[o] = 0;
  for (size_t layer = 0; layer < layers; layer++)
    for (size_t o = 0; o < sums->observation_count && (third == 3 || 3 * layer / layers == third); o++) {
      double value = sums->of[series][layer * sums->observation_count + o];
      values[o] += value < 0 ? 0 : value;
    }
}

static void tell_stages(struct question *question, const struct sums *sums, size_t series, double *values, double *room)
{
  static const char *const parts[] = {"beginning_pct", "middle_pct", "end_pct"};
  static const char *const names[] = {"B", "M", "E"};
  static const char *const short_keys[] = {NULL, "dram_read_stage", "dram_write_stage", "dram_stage"};
  const char *key = columns[FLOPS + series].key;
  sum_third(sums, series, 3, values);
  double total = statistic_of(question, values, sums->observation_count, room);
  double most = -INFINITY;
  const char *stage = NULL;
  for (size_t third = 0; third < 3; third++) {
    sum_third(sums, series, third, values);
    double share = statistic_of(question, values, sums->observation_count, room) / total * 100;
    const char *full = arena_format(question->arena, "%s_%s", key, parts[third]);
    if (full != NULL)
      table_summary(&question->table, full, cell_real(share));
    if (total > 0 && !isnan(share) && share > most) {
      most = share;
      stage = names[third];
    }
  }
  const char *full = arena_format(question->arena, "%s_stage", key);
  if (full != NULL)
    table_summary(&question->table, full, cell_text(stage));
  if (short_keys[series] != NULL)
    table_summary(&question->table, short_keys[series], cell_text(stage));
}

// ---- the answer ------------------------------------------------------------------------------------------------------
static enum status answer(struct question *question, struct error *err)
{
  struct kernels kernels;
  struct kernel_groups groups;
  struct sums sums;
  XSP_TRY(kernels_answer(question, KERNELS_BY_LAYER, &kernels, err));
  if (!kernels.has_metric[KERNEL_FLOPS] && !kernels.has_metric[KERNEL_DRAM_READ] &&
      !kernels.has_metric[KERNEL_DRAM_WRITE])
    return question_lacks(question, err, "no kernel has flops, dram_read_bytes or dram_write_bytes");
  XSP_TRY(kernels_group_by_layer(question, &kernels, &groups, err));
  if (!load_sums(question, &kernels, &sums))
    return question_no_memory(err);
  double *values = make_values(question, 1, sums.observation_count + 1);
  double *room = make_values(question, 1, sums.observation_count + 1);
  if (values == NULL || room == NULL)
    return question_no_memory(err);
  table_columns(&question->table, columns, COLUMN_COUNT);
  for (size_t i = 0; i < groups.count; i++) {
    const struct layer *layer = &kernels.layers.items[i];
    struct kernel_figures figures;
    struct table_cell *row = table_row(&question->table);
    kernel_groups_figures(&groups, i, &figures);
    row[INDEX] = cell_int(layer->index);
    row[NAME] = cell_text(layer->name_text);
    row[TYPE] = cell_text(layer->type);
    row[FLOPS] = cell_number(figures.metrics[KERNEL_FLOPS]);
    row[DRAM_READ] = cell_number(figures.metrics[KERNEL_DRAM_READ]);
    row[DRAM_WRITE] = cell_number(figures.metrics[KERNEL_DRAM_WRITE]);
    row[DRAM] = cell_number(
        statistic_of(question, sums.of[SERIES_COUNT - 1] + i * sums.observation_count, sums.observation_count, room));
    row[PARTIAL] = layer->present < kernels.observation_count ? cell_bool(true) : (struct table_cell){0};
  }
  for (size_t series = 0; series < SERIES_COUNT; series++)
    tell_stages(question, &sums, series, values, room);
  kernels_summarize_outside(question, &kernels);
  table_drop_empty(&question->table, "partial");
  return STATUS_OK;
}

const struct analysis analysis_a12 = {.id = "A12", .title = "metrics by layer", .needs = "L/K", .answer = answer};
