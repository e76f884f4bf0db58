// SPDX-License-Identifier: Apache-2.0
// Groups of kernels and their figures: one sum per observation, then the statistic; and the columns that A8, A10, A11 and
// A15 share. Works group by group in scratch of one value per observation.
#include "analyze/kernels/kernels.h"

#include "base/saturate.h"

#include <math.h>
#include <string.h>

struct group_scratch {
  // by observation of the set
  int64_t *sum_ns;
  uint32_t *calls;
  uint32_t *touched; // observations that the group is in
  size_t touched_count;
  double *values_ms, *sorted;
  // by observation of the metric set
  double *sums[KERNEL_METRICS];
  double *weights_ms; // those of the kernels in the observation
  uint32_t *metric_calls, *metric_touched;
  size_t metric_touched_count;
  double *latency_ms; // by kernel: what its occupancy weighs; NULL: nothing is weighed
};

// ---- grouping -------------------------------------------------------------------------------------------------------
static double kernel_latency_ms(const struct question *question, const struct kernels *kernels, size_t kernel,
                                double *values)
{
  const struct kernel_calls *calls = &kernels->calls;
  size_t count = 0;
  for (size_t i = calls->first[kernel]; i < calls->first[kernel + 1]; i++)
    values[count++] = (double)calls->duration_ns[i] / 1e6;
  return count == 0 ? NAN : statistic_apply(&question->statistic, values, count);
}

static void start_metrics(struct question *question, const struct kernels *kernels, bool is_weighed,
                          struct group_scratch *scratch)
{
  struct arena *arena = question->scratch;
  size_t room = kernels->metric_calls.observation_count + 1;
  scratch->weights_ms = arena_alloc_array(arena, room, sizeof *scratch->weights_ms);
  scratch->metric_calls = arena_alloc_array(arena, room, sizeof *scratch->metric_calls);
  scratch->metric_touched = arena_alloc_array(arena, room, sizeof *scratch->metric_touched);
  for (size_t m = 0; m < KERNEL_METRICS; m++)
    if (kernels->has_metric[m])
      scratch->sums[m] = arena_alloc_array(arena, room, sizeof *scratch->sums[m]);
  if (!is_weighed || !kernels->has_metric[KERNEL_OCCUPANCY])
    return;
  scratch->latency_ms = arena_alloc_array(arena, kernels->count + 1, sizeof *scratch->latency_ms);
  for (size_t k = 0; k < kernels->count; k++)
    scratch->latency_ms[k] = kernel_latency_ms(question, kernels, k, scratch->sorted);
}

static void start_scratch(struct question *question, const struct kernels *kernels, bool is_weighed,
                          struct group_scratch *scratch)
{
  struct arena *arena = question->scratch;
  size_t room = kernels->observation_count;
  room = (room > kernels->metric_calls.observation_count ? room : kernels->metric_calls.observation_count) + 1;
  scratch->sum_ns = arena_alloc_array(arena, room, sizeof *scratch->sum_ns);
  scratch->calls = arena_alloc_array(arena, room, sizeof *scratch->calls);
  scratch->touched = arena_alloc_array(arena, room, sizeof *scratch->touched);
  scratch->values_ms = arena_alloc_array(arena, room, sizeof *scratch->values_ms);
  scratch->sorted = arena_alloc_array(arena, room, sizeof *scratch->sorted);
  start_metrics(question, kernels, is_weighed, scratch);
}

static uint32_t group_of(const struct kernel_groups *groups, size_t kernel, bool by_name)
{
  const struct kernel *item = &groups->kernels->items[kernel];
  if (groups->kind == GROUPS_ALL)
    return 0;
  if (groups->kind == GROUPS_LAYERS)
    return item->layer < groups->count ? item->layer : UINT32_MAX;
  if (by_name)
    return item->name_group;
  return kernel < groups->count ? (uint32_t)kernel : UINT32_MAX;
}

static struct kernel_groups group(struct question *question, const struct kernels *kernels, enum groups_kind kind,
                                  bool by_name, size_t count)
{
  struct kernel_groups groups = {.question = question, .kernels = kernels, .count = count, .kind = kind};
  groups.first = arena_alloc_array(question->scratch, count + 2, sizeof *groups.first);
  groups.row = arena_alloc_array(question->scratch, kernels->count + 1, sizeof *groups.row);
  groups.scratch = arena_alloc(question->scratch, sizeof *groups.scratch);
  start_scratch(question, kernels, kind != GROUPS_SPARSE || by_name, groups.scratch);
  for (size_t k = 0; k < kernels->count; k++)
    if (group_of(&groups, k, by_name) != UINT32_MAX)
      groups.first[group_of(&groups, k, by_name) + 2]++;
  for (size_t g = 2; g < count + 2; g++) // first[g + 1] is where the next kernel of group g goes
    groups.first[g] += groups.first[g - 1];
  for (size_t k = 0; k < kernels->count; k++)
    if (group_of(&groups, k, by_name) != UINT32_MAX)
      groups.row[groups.first[group_of(&groups, k, by_name) + 1]++] = (uint32_t)k;
  return groups;
}

struct kernel_groups kernels_group_each(struct question *question, const struct kernels *kernels)
{
  return group(question, kernels, GROUPS_SPARSE, false, kernels->measured);
}

struct kernel_groups kernels_group_by_name(struct question *question, const struct kernels *kernels)
{
  return group(question, kernels, GROUPS_SPARSE, true, kernels->name_count);
}

struct kernel_groups kernels_group_by_layer(struct question *question, const struct kernels *kernels)
{
  return group(question, kernels, GROUPS_LAYERS, false, kernels->layers_measured);
}

struct kernel_figures kernels_figures_of_all(struct question *question, const struct kernels *kernels)
{
  struct kernel_groups all = group(question, kernels, GROUPS_ALL, false, 1);
  struct kernel_figures figures;
  kernel_groups_figures(&all, 0, &figures);
  return figures;
}

// ---- latencies ------------------------------------------------------------------------------------------------------
// Layers and models are there even where they have no kernels: then their sums are 0.
static bool is_there(const struct kernel_groups *groups, size_t group, size_t observation)
{
  return groups->kind == GROUPS_ALL ||
         (groups->kind == GROUPS_LAYERS && !isnan(groups->kernels->layers.items[group].latency_ms[observation]));
}

static void touch(uint32_t *calls, uint32_t *touched, size_t *touched_count, uint32_t observation)
{
  if (calls[observation]++ == 0)
    touched[(*touched_count)++] = observation;
}

static void sum_latencies(struct kernel_groups *groups, size_t group)
{
  struct group_scratch *scratch = groups->scratch;
  const struct kernel_calls *calls = &groups->kernels->calls;
  scratch->touched_count = 0;
  for (size_t g = groups->first[group]; g < groups->first[group + 1]; g++)
    for (size_t i = calls->first[groups->row[g]]; i < calls->first[groups->row[g] + 1]; i++) {
      uint32_t observation = calls->observation[i];
      touch(scratch->calls, scratch->touched, &scratch->touched_count, observation);
      scratch->sum_ns[observation] = saturate_add(scratch->sum_ns[observation], calls->duration_ns[i]);
    }
  for (uint32_t i = 0; groups->kind != GROUPS_SPARSE && i < calls->observation_count; i++)
    if (scratch->calls[i] == 0 && is_there(groups, group, i))
      scratch->touched[scratch->touched_count++] = i;
}

// Reads and clears the sums. Returns the fewest calls in any observation.
static uint32_t read_latencies(struct kernel_groups *groups, struct kernel_figures *ret_figures)
{
  struct group_scratch *scratch = groups->scratch;
  const struct statistic *statistic = &groups->question->statistic;
  size_t count = scratch->touched_count;
  uint32_t fewest = count == 0 ? 0 : UINT32_MAX;
  for (size_t i = 0; i < count; i++) {
    uint32_t observation = scratch->touched[i];
    scratch->values_ms[i] = (double)scratch->sum_ns[observation] / 1e6;
    scratch->sorted[i] = scratch->calls[observation];
    fewest = scratch->calls[observation] < fewest ? scratch->calls[observation] : fewest;
    scratch->sum_ns[observation] = 0;
    scratch->calls[observation] = 0;
  }
  ret_figures->count = count == 0 ? NAN : statistic_apply(statistic, scratch->sorted, count);
  memcpy(scratch->sorted, scratch->values_ms, count * sizeof *scratch->sorted);
  ret_figures->latency_ms = count == 0 ? NAN : statistic_apply(statistic, scratch->sorted, count);
  ret_figures->values_ms = scratch->values_ms;
  ret_figures->value_count = count;
  return fewest;
}

// ---- metrics --------------------------------------------------------------------------------------------------------
// A kernel that lacks a metric makes the sum NaN. Occupancies are weighed by the kernels' latencies; one that has none
// (only metric runs have it) is left out of that mean.
static void add_metrics(struct kernel_groups *groups, uint32_t kernel, size_t call)
{
  struct group_scratch *scratch = groups->scratch;
  const struct kernel_calls *calls = &groups->kernels->metric_calls;
  uint32_t observation = calls->observation[call];
  touch(scratch->metric_calls, scratch->metric_touched, &scratch->metric_touched_count, observation);
  for (size_t m = 0; m < KERNEL_METRICS; m++) {
    if (calls->metrics[m] == NULL)
      continue;
    double value = calls->metrics[m][call];
    if (m == KERNEL_OCCUPANCY && scratch->latency_ms != NULL) {
      double weight_ms = scratch->latency_ms[kernel];
      value = isnan(weight_ms) && !isnan(value) ? 0 : value * weight_ms;
      scratch->weights_ms[observation] += isnan(weight_ms) ? 0 : weight_ms;
    }
    scratch->sums[m][observation] += value;
  }
}

static void sum_metrics(struct kernel_groups *groups, size_t group)
{
  struct group_scratch *scratch = groups->scratch;
  const struct kernels *kernels = groups->kernels;
  const struct kernel_calls *calls = &kernels->metric_calls;
  scratch->metric_touched_count = 0;
  for (size_t g = groups->first[group]; g < groups->first[group + 1]; g++)
    for (size_t i = calls->first[groups->row[g]]; i < calls->first[groups->row[g] + 1]; i++)
      add_metrics(groups, groups->row[g], i);
  bool has_layers = (kernels->metric_set->levels.mask & XSP_LEVEL_MASK(XSP_LEVEL_LAYER)) != 0;
  for (uint32_t i = 0; groups->kind != GROUPS_SPARSE && i < calls->observation_count; i++)
    if (scratch->metric_calls[i] == 0 && (!has_layers || is_there(groups, group, kernels->metric_first + i)))
      scratch->metric_touched[scratch->metric_touched_count++] = i;
}

// Reads and clears the sums. An observation with fewer kernels than `fewest` lacks the metrics of some.
static void read_metrics(struct kernel_groups *groups, uint32_t fewest, struct kernel_figures *ret_figures)
{
  struct group_scratch *scratch = groups->scratch;
  for (size_t m = 0; m < KERNEL_METRICS; m++) {
    size_t count = 0;
    for (size_t i = 0; scratch->sums[m] != NULL && i < scratch->metric_touched_count; i++) {
      uint32_t observation = scratch->metric_touched[i];
      double value = scratch->sums[m][observation];
      if (m == KERNEL_OCCUPANCY && (scratch->latency_ms != NULL || scratch->metric_calls[observation] == 0))
        value = scratch->weights_ms[observation] > 0 ? value / scratch->weights_ms[observation] : NAN;
      if (!isnan(value) && scratch->metric_calls[observation] >= fewest)
        scratch->sorted[count++] = value;
      scratch->sums[m][observation] = 0;
    }
    ret_figures->metrics[m] = count == 0 ? NAN : statistic_apply(&groups->question->statistic, scratch->sorted, count);
  }
  for (size_t i = 0; i < scratch->metric_touched_count; i++) {
    scratch->metric_calls[scratch->metric_touched[i]] = 0;
    scratch->weights_ms[scratch->metric_touched[i]] = 0;
  }
}

void kernel_groups_figures(struct kernel_groups *groups, size_t group, struct kernel_figures *ret_figures)
{
  *ret_figures = (struct kernel_figures){0};
  sum_latencies(groups, group);
  uint32_t fewest = read_latencies(groups, ret_figures);
  for (size_t m = 0; m < KERNEL_METRICS; m++)
    ret_figures->metrics[m] = NAN;
  if (groups->kernels->metric_set == NULL)
    return;
  sum_metrics(groups, group);
  read_metrics(groups, fewest, ret_figures);
}

// ---- under a roof ---------------------------------------------------------------------------------------------------
void kernel_point(const struct question *question, const struct roofs *roofs, const struct kernel_figures *figures,
                  struct kernel_point *ret_point)
{
  const double *metrics = figures->metrics;
  double bytes = metrics[KERNEL_DRAM_READ] + metrics[KERNEL_DRAM_WRITE];
  struct kernel_point point = {.roof = roofs_choose(roofs, metrics + KERNEL_FLOPS_BY_PRECISION)};
  point.intensity = roof_intensity(metrics[KERNEL_FLOPS], bytes);
  point.throughput_flops_per_s = roof_throughput_flops_per_s(metrics[KERNEL_FLOPS], figures->latency_ms);
  point.bound = roof_bound(point.roof, point.intensity);
  point.precision = isnan(metrics[KERNEL_FLOPS]) ? NULL : point.roof->precision;
  point.is_latency_bound = roof_is_latency_bound(point.roof, metrics[KERNEL_FLOPS], bytes, figures->latency_ms,
                                                 question->request->latency_threshold_pct);
  point.above_roof = roof_is_exceeded(point.roof, point.intensity, point.throughput_flops_per_s);
  *ret_point = point;
}

void put_traffic(struct table_builder *table, const struct kernel_figures *figures, const struct kernel_point *point)
{
  const double *metrics = figures->metrics;
  table_put(table, "dram_read_bytes", "bytes", "DRAM reads", cell_number(metrics[KERNEL_DRAM_READ]));
  table_put(table, "dram_write_bytes", "bytes", "DRAM writes", cell_number(metrics[KERNEL_DRAM_WRITE]));
  table_put(table, "achieved_occupancy_pct", "%", "occupancy", cell_real(metrics[KERNEL_OCCUPANCY]));
  table_put(table, "arithmetic_intensity", "flops/byte", "intensity", cell_real(point->intensity));
  table_put(table, "arithmetic_throughput_flops_per_s", "flops/s", "throughput",
            cell_real(point->throughput_flops_per_s));
  table_put(table, "bound", "", "bound", cell_text(point->bound));
}

void put_gpu(struct table_builder *table, double kernel_ms, double gpu_ms, double non_gpu_ms, double gpu_pct)
{
  table_put(table, "kernel_latency_ms", "ms", "kernels", cell_real(kernel_ms));
  table_put(table, "gpu_latency_ms", "ms", "GPU", cell_real(gpu_ms));
  table_put(table, "non_gpu_latency_ms", "ms", "non-GPU", cell_real(non_gpu_ms));
  table_put(table, "gpu_pct", "%", "GPU", cell_real(gpu_pct));
}

void put_metrics(struct table_builder *table, const struct kernel_figures *figures, const struct kernel_point *point)
{
  table_put(table, "flops", "flops", "flops", cell_number(figures->metrics[KERNEL_FLOPS]));
  put_traffic(table, figures, point);
  table_put(table, "is_latency_bound", "", "latency-bound", point->is_latency_bound);
  table_put(table, "precision", "", "precision", cell_text(point->precision));
  table_put(table, "above_roof", "", "above roof", point->above_roof);
}
