// SPDX-License-Identifier: Apache-2.0
// Shared by the two forms of L0.
#ifndef XSP_ANALYZE_RUNS_L0_OVERHEAD_H
#define XSP_ANALYZE_RUNS_L0_OVERHEAD_H

#include "analyze/view.h"

enum status overhead_by_layer(struct question *question, struct error *err) MUST_CHECK; // L0 --by layer
// overhead / kernels in nanoseconds; NaN where either is unknown or there are no kernels.
double overhead_per_kernel_ns(double overhead_ms, double kernels);

#endif
