// SPDX-License-Identifier: Apache-2.0
// Groups of kernels and their figures: one sum per observation, then the statistic. Works group by group in scratch of one
// value per observation.
#include "analyze/kernels/kernels.h"

#include "base/map.h"
#include "base/saturate.h"
#include "base/sorted.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct group_scratch {
  // by observation of the set
  int64_t *sum_ns;
  uint32_t *calls;
  double *sums[KERNEL_METRICS]; // NULL: no kernel has the metric
  uint32_t *touched;            // observations that the group is in
  size_t touched_count;
  double *values_ms, *sorted;
};

static void start_scratch(struct question *question, struct kernel_groups *groups)
{
  struct arena *arena = question->scratch;
  struct group_scratch *scratch = groups->scratch = arena_alloc(arena, sizeof *scratch);
  size_t room = groups->kernels->observation_count + 1;
  scratch->sum_ns = arena_alloc_array(arena, room, sizeof *scratch->sum_ns);
  scratch->calls = arena_alloc_array(arena, room, sizeof *scratch->calls);
  scratch->touched = arena_alloc_array(arena, room, sizeof *scratch->touched);
  scratch->values_ms = arena_alloc_array(arena, room, sizeof *scratch->values_ms);
  scratch->sorted = arena_alloc_array(arena, room, sizeof *scratch->sorted);
  for (size_t m = 0; m < KERNEL_METRICS; m++)
    if (groups->kernels->metrics[m] != NULL)
      scratch->sums[m] = arena_alloc_array(arena, room, sizeof *scratch->sums[m]);
}

// ---- grouping -------------------------------------------------------------------------------------------------------
static uint32_t group_of(const struct kernel_groups *groups, size_t kernel)
{
  const struct kernel *item = &groups->kernels->items[kernel];
  bool is_listed = item->layer < groups->kernels->layers_listed;
  switch (groups->kind) {
  case GROUPS_ALL:
    return 0;
  case GROUPS_ALL_LAYERS:
    return is_listed ? 0 : UINT32_MAX;
  case GROUPS_LAYERS:
    return is_listed ? item->layer : UINT32_MAX;
  case GROUPS_THIRDS:
    return is_listed ? (uint32_t)(3 * (size_t)item->layer / groups->kernels->layers_listed) : UINT32_MAX;
  case GROUPS_NAMES:
    return item->name_group;
  case GROUPS_LAYER_NAMES:
    return groups->number[kernel];
  default:
    return kernel < groups->count ? (uint32_t)kernel : UINT32_MAX;
  }
}

static struct kernel_groups group_numbered(struct question *question, const struct kernels *kernels,
                                           enum groups_kind kind, size_t count, const uint32_t *number)
{
  struct kernel_groups groups = {
      .question = question, .kernels = kernels, .count = count, .kind = kind, .number = number};
  groups.first = arena_alloc_array(question->scratch, count + 2, sizeof *groups.first);
  groups.row = arena_alloc_array(question->scratch, kernels->count + 1, sizeof *groups.row);
  start_scratch(question, &groups);
  for (size_t k = 0; k < kernels->count; k++)
    if (group_of(&groups, k) != UINT32_MAX)
      groups.first[group_of(&groups, k) + 2]++;
  for (size_t g = 2; g < count + 2; g++) // first[g + 1] is where the next kernel of group g goes
    groups.first[g] += groups.first[g - 1];
  for (size_t k = 0; k < kernels->count; k++)
    if (group_of(&groups, k) != UINT32_MAX)
      groups.row[groups.first[group_of(&groups, k) + 1]++] = (uint32_t)k;
  return groups;
}

static struct kernel_groups group(struct question *question, const struct kernels *kernels, enum groups_kind kind,
                                  size_t count)
{
  return group_numbered(question, kernels, kind, count, NULL);
}

ROWS_SORTED_BY(compare_first, uint32_t, struct kernel, ORDER(of[a].layer, of[b].layer) ?: ORDER(a, b))

struct kernel_groups kernels_group_by_layer_and_name(struct question *question, const struct kernels *kernels)
{
  uint32_t *number = arena_alloc_array(question->scratch, kernels->count + 1, sizeof *number);
  uint32_t *first = arena_alloc_array(question->scratch, kernels->count + 1, sizeof *first);
  struct map groups = {0}; // by layer and name: the first kernel, then the group's number
  size_t count = 0;
  for (size_t k = 0; k < kernels->measured; k++) {
    bool is_new;
    const struct kernel *item = &kernels->items[k];
    if (item->layer >= kernels->layers_listed)
      continue;
    (void)map_at(&groups, (struct map_key){item->layer + UINT64_C(1), item->name_group}, &is_new);
    if (is_new)
      first[count++] = (uint32_t)k;
  }
  if (count > 0)
    qsort_r(first, count, sizeof *first, compare_first, kernels->items);
  for (size_t g = 0; g < count; g++) {
    const struct kernel *item = &kernels->items[first[g]];
    *map_find(&groups, (struct map_key){item->layer + UINT64_C(1), item->name_group}) = g;
  }
  for (size_t k = 0; k < kernels->count; k++) {
    const struct kernel *item = &kernels->items[k];
    const uint64_t *found =
        k < kernels->measured ? map_find(&groups, (struct map_key){item->layer + UINT64_C(1), item->name_group}) : NULL;
    number[k] = found != NULL ? (uint32_t)*found : UINT32_MAX;
  }
  map_done(&groups);
  return group_numbered(question, kernels, GROUPS_LAYER_NAMES, count, number);
}

struct kernel_groups kernels_group_each(struct question *question, const struct kernels *kernels)
{
  return group(question, kernels, GROUPS_EACH, kernels->measured);
}

struct kernel_groups kernels_group_by_name(struct question *question, const struct kernels *kernels)
{
  return group(question, kernels, GROUPS_NAMES, kernels->name_count);
}

struct kernel_groups kernels_group_by_layer(struct question *question, const struct kernels *kernels)
{
  return group(question, kernels, GROUPS_LAYERS, kernels->layers_listed);
}

struct kernel_groups kernels_group_by_third(struct question *question, const struct kernels *kernels)
{
  return group(question, kernels, GROUPS_THIRDS, 3);
}

static struct kernel_figures figures_of_one(struct question *question, const struct kernels *kernels,
                                            enum groups_kind kind)
{
  struct kernel_groups all = group(question, kernels, kind, 1);
  struct kernel_figures figures;
  kernel_groups_figures(&all, 0, &figures);
  return figures;
}

struct kernel_figures kernels_figures_of_all(struct question *question, const struct kernels *kernels)
{
  return figures_of_one(question, kernels, GROUPS_ALL);
}

struct kernel_figures kernels_figures_in_layers(struct question *question, const struct kernels *kernels)
{
  return figures_of_one(question, kernels, GROUPS_ALL_LAYERS);
}

// ---- sums -----------------------------------------------------------------------------------------------------------
// Layers, and what consists of them, are there even where they have no kernels, and so are models: then their sums are 0.
static bool is_there(const struct kernel_groups *groups, size_t group, size_t observation)
{
  const struct kernels *kernels = groups->kernels;
  size_t parts = groups->kind == GROUPS_THIRDS ? 3 : 1, listed = kernels->layers_listed;
  if (groups->kind == GROUPS_ALL)
    return true;
  if (groups->kind == GROUPS_LAYERS)
    return !isnan(kernels->layers.items[group].latency_ms[observation]);
  for (size_t i = 0; (groups->kind == GROUPS_THIRDS || groups->kind == GROUPS_ALL_LAYERS) && i < listed; i++)
    if (parts * i / listed == group && !isnan(kernels->layers.items[i].latency_ms[observation]))
      return true;
  return false;
}

struct sums { // which metrics the group's sums have
  bool is_known[KERNEL_METRICS], is_lacking[KERNEL_METRICS];
  bool has_kernels;
};

static void add_metrics(struct kernel_groups *groups, size_t kernel, uint32_t observation, struct sums *sums)
{
  struct group_scratch *scratch = groups->scratch;
  const struct kernels *kernels = groups->kernels;
  bool is_kept = kernels->set->is_kept[observation];
  for (size_t m = 0; m < KERNEL_METRICS; m++) {
    if (kernels->metrics[m] == NULL)
      continue;
    double value = kernels->metrics[m][kernel];
    sums->is_known[m] |= !isnan(value);
    sums->is_lacking[m] |= isnan(value) && is_kept;
    scratch->sums[m][observation] += isnan(value) ? 0 : value;
  }
}

static void add_up(struct kernel_groups *groups, size_t group, struct sums *sums)
{
  struct group_scratch *scratch = groups->scratch;
  const struct kernel_calls *calls = &groups->kernels->calls;
  scratch->touched_count = 0;
  for (size_t g = groups->first[group]; g < groups->first[group + 1]; g++) {
    size_t kernel = groups->row[g];
    sums->has_kernels |= calls->first[kernel] < calls->first[kernel + 1];
    for (size_t i = calls->first[kernel]; i < calls->first[kernel + 1]; i++) {
      uint32_t observation = calls->observation[i];
      if (scratch->calls[observation] == 0)
        scratch->touched[scratch->touched_count++] = observation;
      scratch->calls[observation] += calls->calls == NULL ? 1 : calls->calls[i];
      scratch->sum_ns[observation] = saturate_add(scratch->sum_ns[observation], calls->duration_ns[i]);
      add_metrics(groups, kernel, observation, sums);
    }
  }
  bool is_there_without =
      groups->kind != GROUPS_EACH && groups->kind != GROUPS_NAMES && groups->kind != GROUPS_LAYER_NAMES;
  for (uint32_t i = 0; is_there_without && i < calls->observation_count; i++)
    if (scratch->calls[i] == 0 && is_there(groups, group, i))
      scratch->touched[scratch->touched_count++] = i;
}

// The statistic over `values`, one for each touched observation; absent ones count as 0 where observations are trimmed.
static double reduce(struct kernel_groups *groups, const double *values)
{
  struct group_scratch *scratch = groups->scratch;
  const struct view_set *set = groups->kernels->set;
  double sum = 0;
  if (scratch->touched_count == 0)
    return NAN;
  if (question_is_by_value(groups->question)) {
    memmove(scratch->sorted, values, scratch->touched_count * sizeof *values);
    return statistic_apply(&groups->question->statistic, scratch->sorted, scratch->touched_count);
  }
  for (size_t i = 0; i < scratch->touched_count; i++)
    sum += set->is_kept[scratch->touched[i]] ? values[i] : 0;
  return sum / (double)set->kept_count;
}

static void read_latencies(struct kernel_groups *groups, struct kernel_figures *ret_figures)
{
  struct group_scratch *scratch = groups->scratch;
  const struct view_set *set = groups->kernels->set;
  struct figure latency = {.occurring = scratch->values_ms, .count = scratch->touched_count, .occurrence = NAN};
  double sum = 0;
  for (size_t i = 0; i < scratch->touched_count; i++) {
    scratch->values_ms[i] = scratch->calls[scratch->touched[i]];
    scratch->calls[scratch->touched[i]] = 0;
  }
  ret_figures->count = reduce(groups, scratch->values_ms);
  for (size_t i = 0; i < scratch->touched_count; i++) {
    uint32_t observation = scratch->touched[i];
    scratch->values_ms[i] = (double)scratch->sum_ns[observation] / 1e6;
    scratch->sum_ns[observation] = 0;
    latency.present += set->is_kept[observation];
    sum += set->is_kept[observation] ? scratch->values_ms[i] : 0;
  }
  latency.occurrence = latency.present > 0 ? sum / (double)latency.present : NAN;
  latency.value = reduce(groups, scratch->values_ms);
  ret_figures->latency = latency;
}

// ---- metrics --------------------------------------------------------------------------------------------------------
// Of the kernels' latencies, the part with a metric.
static double covered_ms(const struct kernel_groups *groups, size_t group, size_t metric, double *ret_weighed)
{
  const struct kernels *kernels = groups->kernels;
  double covered = 0;
  *ret_weighed = 0;
  for (size_t g = groups->first[group]; g < groups->first[group + 1]; g++) {
    double value = kernels->metrics[metric][groups->row[g]], latency_ms = kernels->latency_ms[groups->row[g]];
    if (isnan(value) || isnan(latency_ms))
      continue;
    covered += latency_ms;
    *ret_weighed += latency_ms * value;
  }
  return covered;
}

// The share of the kernels' time that has all the metrics which any kernel has.
static double coverage_pct(const struct kernel_groups *groups, size_t group)
{
  const struct kernels *kernels = groups->kernels;
  double covered = 0, all = 0;
  bool has_any = false;
  for (size_t g = groups->first[group]; g < groups->first[group + 1]; g++) {
    double latency_ms = kernels->latency_ms[groups->row[g]];
    bool is_covered = true;
    for (size_t m = 0; m < KERNEL_FLOPS_BY_PRECISION; m++) {
      has_any |= kernels->metrics[m] != NULL;
      is_covered &= kernels->metrics[m] == NULL || !isnan(kernels->metrics[m][groups->row[g]]);
    }
    all += isnan(latency_ms) ? 0 : latency_ms;
    covered += isnan(latency_ms) || !is_covered ? 0 : latency_ms;
  }
  return has_any ? analyze_share_pct(covered, all) : NAN;
}

// Whether some kernel has flops, reads or writes but not all that any kernel has.
static bool covers_differ(const struct kernel_groups *groups, size_t group)
{
  const struct kernels *kernels = groups->kernels;
  for (size_t g = groups->first[group]; g < groups->first[group + 1]; g++) {
    bool has_all = true, has_any = false;
    for (size_t m = KERNEL_FLOPS; m <= KERNEL_DRAM_WRITE; m++)
      if (kernels->metrics[m] != NULL) {
        has_any |= !isnan(kernels->metrics[m][groups->row[g]]);
        has_all &= !isnan(kernels->metrics[m][groups->row[g]]);
      }
    if (has_any && !has_all)
      return true;
  }
  return false;
}

static double read_sum(struct kernel_groups *groups, size_t metric)
{
  struct group_scratch *scratch = groups->scratch;
  for (size_t i = 0; i < scratch->touched_count; i++) {
    scratch->sorted[i] = scratch->sums[metric][scratch->touched[i]];
    scratch->sums[metric][scratch->touched[i]] = 0;
  }
  return reduce(groups, scratch->sorted);
}

static bool is_mean(const struct analyze_request *request, size_t metric)
{
  return metric == KERNEL_OCCUPANCY ||
         (metric >= KERNEL_FURTHER && metric_kind_of(request->metrics[metric - KERNEL_FURTHER]).is_mean);
}

static void read_metrics(struct kernel_groups *groups, size_t group, const struct sums *sums,
                         struct kernel_figures *ret_figures)
{
  const struct group_scratch *scratch = groups->scratch;
  const struct kernels *kernels = groups->kernels;
  bool is_partial = groups->question->request->partial_metrics;
  double weighed;
  ret_figures->metric_latency_ms = ret_figures->latency.value;
  for (size_t m = 0; m < KERNEL_METRICS; m++) {
    if (kernels->metrics[m] == NULL)
      continue;
    double value = read_sum(groups, m);
    if (is_mean(groups->question->request, m)) { // weighed by latency; nothing has no mean
      double covered = covered_ms(groups, group, m, &weighed);
      value = covered > 0 ? weighed / covered : NAN;
      if (groups->kind == GROUPS_EACH)
        value = kernels->metrics[m][groups->row[groups->first[group]]];
    }
    if (scratch->touched_count == 0 || (sums->has_kernels && !sums->is_known[m]) ||
        (sums->is_lacking[m] && !is_partial))
      value = NAN;
    ret_figures->metrics[m] = value;
    if (m == KERNEL_FLOPS && sums->is_lacking[m] && is_partial)
      ret_figures->metric_latency_ms = covered_ms(groups, group, m, &weighed);
    ret_figures->is_partial |= sums->is_lacking[m] && is_partial && !isnan(value);
  }
  const double *metrics = ret_figures->metrics;
  ret_figures->dram_bytes = metrics[KERNEL_DRAM_READ] + metrics[KERNEL_DRAM_WRITE];
  ret_figures->intensity = roof_intensity(metrics[KERNEL_FLOPS], ret_figures->dram_bytes);
  for (size_t p = 0; p < PRECISION_COUNT; p++)
    ret_figures->roof_flops[p] = metrics[KERNEL_FLOPS_BY_PRECISION + p];
  if (groups->kind == GROUPS_EACH && kernels->metrics[KERNEL_FLOPS] != NULL && !isnan(ret_figures->dram_bytes)) {
    size_t kernel = groups->row[groups->first[group]]; // a call's own: sums may be 0
    for (size_t p = 0; p < PRECISION_COUNT; p++)
      if (kernels->metrics[KERNEL_FLOPS_BY_PRECISION + p] != NULL)
        ret_figures->roof_flops[p] = kernels->metrics[KERNEL_FLOPS_BY_PRECISION + p][kernel];
    ret_figures->intensity =
        roof_intensity(kernels->metrics[KERNEL_FLOPS][kernel],
                       kernels->metrics[KERNEL_DRAM_READ][kernel] + kernels->metrics[KERNEL_DRAM_WRITE][kernel]);
  }
  ret_figures->coverage_pct = coverage_pct(groups, group);
  ret_figures->is_mixed = ret_figures->is_partial && covers_differ(groups, group);
}

const struct kernel_figures kernel_figures_none = {
    .count = NAN,
    .latency = {.value = NAN, .occurrence = NAN},
    .metric_latency_ms = NAN,
    .metrics = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN},
    .dram_bytes = NAN,
    .intensity = NAN,
    .roof_flops = {NAN, NAN, NAN, NAN},
    .coverage_pct = NAN,
};
_Static_assert(KERNEL_METRICS == 17, "kernel_figures_none has as many");

void kernel_groups_figures(struct kernel_groups *groups, size_t group, struct kernel_figures *ret_figures)
{
  struct sums sums = {0};
  *ret_figures = kernel_figures_none;
  add_up(groups, group, &sums);
  read_latencies(groups, ret_figures);
  if (groups->kernels->metric_set != NULL)
    read_metrics(groups, group, &sums, ret_figures);
}
