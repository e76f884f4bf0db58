// SPDX-License-Identifier: Apache-2.0
// All kernels of a model at one batch size: a row of A15, for T9 to T11 as well.
#ifndef XSP_ANALYZE_KERNELS_A15_KERNEL_MODELS_H
#define XSP_ANALYZE_KERNELS_A15_KERNEL_MODELS_H

#include "analyze/kernels/kernels.h"

struct kernel_model {
  int64_t batch_size;
  double model_ms, gpu_ms, non_gpu_ms, gpu_pct; // NaN: unknown
  struct kernel_figures figures;                // without its values, unless it is the latest one
  struct kernel_point point;
  const char *from, *model_from;
};

// Of `kernels`, loaded with KERNELS_BY_MODEL.
struct kernel_model kernel_model(struct question *question, const struct kernels *kernels, const struct roofs *roofs);
// As above, loads the kernels for it. STATUS_NO without the kernel level at this batch size.
enum status kernel_model_load(struct question *question, int64_t batch_size, const struct roofs *roofs,
                              struct kernel_model *ret_model, struct error *err) MUST_CHECK;

#endif
