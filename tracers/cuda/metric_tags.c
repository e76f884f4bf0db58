// SPDX-License-Identifier: Apache-2.0
// Counts are whole numbers where they are exact. Without functions of libm: cuda.so needs libc alone.
#include "tracers/cuda/metric_tags.h"

#include <math.h>

void metric_tags(const struct xsp_span *kernel, const struct metric_plan *plan, const double *values)
{
  for (size_t i = 0; i < plan->metric_count; i++) {
    double value = metric_value(plan, &plan->metrics[i], values);
    if (value > -0x1p53 && value < 0x1p53 && value == (double)(int64_t)value)
      xsp_span_tag_int(kernel, plan->metrics[i].tag, (int64_t)value);
    else if (isfinite(value))
      xsp_span_tag_double(kernel, plan->metrics[i].tag, value);
  }
}
