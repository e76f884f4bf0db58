// SPDX-License-Identifier: Apache-2.0
// Called when a kernel with metrics is published.
#include "tracers/cuda/metric_tags.h"

#include "tracers/device/kernels.h"

void cuda_metric_tags(const struct xsp_span *kernel, const struct cuda_metric_plan *plan, const double *values)
{
  for (size_t i = 0; i < plan->metric_count; i++)
    device_kernel_tag_metric(kernel, plan->metrics[i].tag, cuda_metric_value(plan, &plan->metrics[i], values));
}
