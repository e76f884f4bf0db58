// SPDX-License-Identifier: Apache-2.0
// What Nsight Compute's metrics are in xsp. Private to this folder. One thread at a time.
#ifndef XSP_IMPORTERS_NCU_METRICS_H
#define XSP_IMPORTERS_NCU_METRICS_H

#include "importers/text_file.h"

enum ncu_sum { NCU_SINGLE, NCU_HALF, NCU_DOUBLE, NCU_TENSOR, NCU_DRAM_READ, NCU_DRAM_WRITE, NCU_SHARED, NCU_SUMS };
struct ncu_kernel { // what its metrics said so far
  double sums[NCU_SUMS];
  bool has_sum[NCU_SUMS];
  int64_t duration_ns;
  bool has_duration;
};

// Takes a metric of the kernel `span_id`: a duration, a part of one of xsp's own tags, or else a tag under its own name.
void ncu_take_metric(struct import *import, struct ncu_kernel *kernel, int64_t span_id, struct slice name,
                     struct slice unit, struct slice value);
void ncu_put_sums(struct import *import, const struct ncu_kernel *kernel, int64_t span_id); // once all are taken

#endif
