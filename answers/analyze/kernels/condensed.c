// SPDX-License-Identifier: Apache-2.0
// How long devices work in the observations and layers of condensed runs (trace/format/detail.h), whose single executions are not known.
// Called by kernels.c.
#include "analyze/kernels/kernels.h"

static void take_run(struct kernels *kernels, const struct layers_run *run)
{
  const struct layer_rows *rows = run->rows;
  for (size_t k = 0; k < run->run->observation_count; k++)
    if (run->observation_of[k] != ROW_NONE && rows->gpu_ns[k] > 0)
      kernels->gpu_ms[run->observation_of[k]] = (double)rows->gpu_ns[k] / 1e6;
  for (size_t i = 0; i < rows->count && kernels->layer_gpu_ms != NULL; i++) {
    const int64_t gpu_ns = rows->device_times[i].gpu_ns;
    uint32_t observation = run->observation_of[rows->items[i].observation];
    if (observation != ROW_NONE && run->layer_of[i] < kernels->layers_listed && gpu_ns > 0)
      kernels->layer_gpu_ms[run->layer_of[i] * kernels->observation_count + observation] = (double)gpu_ns / 1e6;
  }
}

void kernels_take_condensed(struct kernels *kernels)
{
  for (size_t i = 0; i < kernels->layers.run_count; i++)
    if (kernels->layers.runs[i].part->set == kernels->set && kernels->layers.runs[i].rows->gpu_ns != NULL)
      take_run(kernels, &kernels->layers.runs[i]);
}
