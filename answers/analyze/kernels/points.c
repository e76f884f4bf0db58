// SPDX-License-Identifier: Apache-2.0
// A group of kernels under its roof, and the columns that A8 to A15 share.
#include "analyze/kernels/kernels.h"

#include <math.h>

void kernel_point(const struct question *question, const struct roofs *roofs, const struct kernel_figures *figures,
                  struct kernel_point *ret_point)
{
  const double flops = figures->metrics[KERNEL_FLOPS];
  struct kernel_point point = {.roof = roofs_choose(roofs, figures->roof_flops), .intensity = NAN};
  point.throughput_flops_per_s = roof_throughput_flops_per_s(flops, figures->metric_latency_ms);
  point.precision = isnan(flops) ? NULL : point.roof->precision;
  if (!figures->is_mixed) {
    point.intensity = figures->intensity;
    point.bound = roof_bound(point.roof, point.intensity);
    point.is_latency_bound = roof_is_latency_bound(point.roof, flops, figures->dram_bytes, figures->metric_latency_ms,
                                                   question->request->latency_threshold_pct);
    point.above_roof = roof_is_exceeded(point.roof, point.intensity, point.throughput_flops_per_s);
  }
  *ret_point = point;
}

void kernel_put_coverage(struct table_builder *table, const struct kernel_figures *figures)
{
  table_put(table, "metric_coverage_pct", cell_real(figures->coverage_pct));
  table_put_optional(table, "partial_metrics", figures->is_partial ? cell_bool(true) : (struct table_cell){0});
}

void kernel_put_further(struct table_builder *table, const struct analyze_request *request,
                        const struct kernel_figures *figures)
{
  for (size_t i = 0; i < request->metric_count; i++)
    table_put_column(table,
                     &(struct table_column){.key = request->metrics[i],
                                            .unit = metric_kind_of(request->metrics[i]).unit,
                                            .label = request->metrics[i]},
                     cell_number(figures->metrics[KERNEL_FURTHER + i]));
}

void kernel_put_traffic(struct table_builder *table, const struct kernel_figures *figures,
                        const struct kernel_point *point)
{
  const double *metrics = figures->metrics;
  table_put(table, "dram_read_bytes", cell_number(metrics[KERNEL_DRAM_READ]));
  table_put(table, "dram_write_bytes", cell_number(metrics[KERNEL_DRAM_WRITE]));
  table_put(table, "achieved_occupancy_pct", cell_real(metrics[KERNEL_OCCUPANCY]));
  table_put(table, "arithmetic_intensity", cell_real(point->intensity));
  table_put(table, "arithmetic_throughput_flops_per_s", cell_real(point->throughput_flops_per_s));
  table_put(table, "bound", cell_text(point->bound));
  kernel_put_coverage(table, figures);
}

void kernel_put_gpu(struct table_builder *table, double kernel_ms, double gpu_ms, double non_gpu_ms, const char *of,
                    double gpu_pct)
{
  table_put(table, "kernel_latency_ms", cell_real(kernel_ms));
  table_put(table, "gpu_latency_ms", cell_real(gpu_ms));
  table_put(table, "non_gpu_latency_ms", cell_real(non_gpu_ms));
  table_put_share(table, "gpu_pct", of, cell_real(gpu_pct));
}

void kernel_put_metrics(struct table_builder *table, const struct kernel_figures *figures,
                        const struct kernel_point *point)
{
  table_put(table, "flops", cell_number(figures->metrics[KERNEL_FLOPS]));
  kernel_put_traffic(table, figures, point);
  table_put(table, "is_latency_bound", point->is_latency_bound);
  table_put(table, "precision", cell_text(point->precision));
  table_put(table, "above_roof", point->above_roof);
}
