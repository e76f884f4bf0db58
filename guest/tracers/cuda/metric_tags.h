// SPDX-License-Identifier: Apache-2.0
// The metrics of a kernel as tags of its execution.
#ifndef XSP_TRACERS_CUDA_METRIC_TAGS_H
#define XSP_TRACERS_CUDA_METRIC_TAGS_H

#include "tracers/cuda/metrics.h"

#include <xsp/span.h>

// `values`: of the plan's names.
void cuda_metric_tags(const struct xsp_span *kernel, const struct cuda_metric_plan *plan, const double *values);

#endif
