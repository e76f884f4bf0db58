// SPDX-License-Identifier: Apache-2.0
// What one call of each kernel takes and does: its latency, and its metrics from the runs that collected them. Called by
// kernels.c; groups.c adds them up. And what a layer takes, for analyses by layer.
#include "analyze/kernels/kernels.h"

#include <math.h>

// Absent observations count as 0, unless each value is looked at by itself. `values`: room for one per observation.
static double latency_ms(const struct question *question, const struct kernels *kernels, size_t kernel, double *values)
{
  const struct kernel_calls *calls = &kernels->calls;
  size_t count = 0;
  double sum = 0;
  for (size_t i = calls->first[kernel]; i < calls->first[kernel + 1]; i++) {
    values[count] = (double)calls->duration_ns[i] / 1e6;
    sum += kernels->set->is_kept[calls->observation[i]] ? values[count] : 0;
    count++;
  }
  if (count == 0)
    return NAN;
  return question_is_by_value(question) ? statistic_apply(&question->statistic, values, count)
                                        : sum / (double)kernels->set->kept_count;
}

// Of the observations of the metric set in which it was measured, or of those among them that are kept.
static size_t measured(const struct kernels *kernels, size_t kernel, size_t metric, bool only_kept, double *values)
{
  const struct kernel_calls *calls = &kernels->metric_calls;
  size_t count = 0;
  for (size_t i = calls->first[kernel]; i < calls->first[kernel + 1]; i++)
    if (!isnan(calls->metrics[metric][i]) && (!only_kept || kernels->metric_set->is_kept[calls->observation[i]]))
      values[count++] = calls->metrics[metric][i];
  return count;
}

// Where no kept observation measured it, as each measures some metrics, over the others.
static double metric(const struct question *question, const struct kernels *kernels, size_t kernel, size_t metric,
                     double *values)
{
  size_t count = measured(kernels, kernel, metric, true, values) ?: measured(kernels, kernel, metric, false, values);
  double sum = 0;
  if (question_is_by_value(question))
    return statistic_apply(&question->statistic, values, count);
  for (size_t i = 0; i < count; i++)
    sum += values[i];
  return count == 0 ? NAN : sum / (double)count;
}

// Bits of the precisions that some observation counted; `ret_common`: that each which counted any did.
static uint32_t counted_precisions(const struct kernels *kernels, size_t kernel, uint32_t *ret_common)
{
  const struct kernel_calls *calls = &kernels->metric_calls;
  uint32_t all = 0;
  *ret_common = UINT32_MAX;
  for (size_t i = calls->first[kernel]; i < calls->first[kernel + 1]; i++) {
    uint32_t counted = 0;
    for (uint32_t p = 0; p < PRECISION_COUNT; p++) {
      const double *values = calls->metrics[KERNEL_FLOPS_BY_PRECISION + p];
      counted |= values == NULL || isnan(values[i]) ? 0 : 1u << p;
    }
    if (counted == 0)
      continue;
    all |= counted;
    *ret_common &= counted;
  }
  return all;
}

// Where its precisions were counted in different observations, as one pass has not room for all, none has the kernel's flops, which
// are the sum of what each precision has. If some were not counted at all, nothing is known of the flops.
static void add_parts(struct kernels *kernels)
{
  const double *needed = kernels->metrics[KERNEL_PRECISIONS];
  for (size_t k = 0; k < kernels->count; k++) {
    uint32_t common, all = counted_precisions(kernels, k, &common);
    bool is_lacking = needed != NULL && __builtin_popcount(all) < needed[k];
    if (all == 0 || (common == all && !is_lacking))
      continue;
    double sum = is_lacking ? NAN : 0;
    for (size_t p = 0; p < PRECISION_COUNT; p++) {
      double *part = kernels->metrics[KERNEL_FLOPS_BY_PRECISION + p];
      sum += part == NULL || isnan(part[k]) ? 0 : part[k];
      if (part != NULL && is_lacking)
        part[k] = NAN;
    }
    kernels->metrics[KERNEL_FLOPS][k] = sum;
    kernels->lacking_precisions += is_lacking;
    kernels->lacking_example = is_lacking ? all : kernels->lacking_example;
  }
}

void kernels_measure(struct question *question, struct kernels *kernels)
{
  struct arena *arena = question->scratch;
  if (kernels->metric_set == NULL)
    return;
  kernels->latency_ms = arena_alloc_array(arena, kernels->count + 1, sizeof *kernels->latency_ms);
  for (size_t k = 0; k < kernels->count; k++)
    kernels->latency_ms[k] = latency_ms(question, kernels, k, question->room);
  for (size_t m = 0; m < KERNEL_METRICS; m++) {
    if (!kernels->has_metric[m])
      continue;
    kernels->metrics[m] = arena_alloc_array(arena, kernels->count + 1, sizeof *kernels->metrics[m]);
    for (size_t k = 0; k < kernels->count; k++)
      kernels->metrics[m][k] = metric(question, kernels, k, m, question->room);
  }
  if (kernels->has_metric[KERNEL_FLOPS])
    add_parts(kernels);
}

struct figure kernels_layer(struct question *question, const struct kernels *kernels, size_t layer)
{
  if (kernels->layer_set == NULL)
    return (struct figure){.value = NAN, .occurrence = NAN};
  return layer_latency(question, &kernels->layer_side, &kernels->layers.items[layer]);
}

double kernels_layer_gpu_ms(struct question *question, const struct kernels *kernels, size_t layer)
{
  if (kernels->source.on_device)
    return layer_value(question, &kernels->layer_side, &kernels->layers.items[layer], LAYER_EXECUTED);
  return question_value(question, kernels->set, kernels->layer_gpu_ms + layer * kernels->observation_count);
}
