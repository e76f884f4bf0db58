// SPDX-License-Identifier: Apache-2.0
// Which sets answer for kernels: the level rule. Private to kernels.c and kernel_sets.c.
#ifndef XSP_ANALYZE_KERNELS_SETS_H
#define XSP_ANALYZE_KERNELS_SETS_H

#include "analyze/kernels/kernels.h"

// Fills batch_size, use, the sets and where they come from, and the model latency. `set` NULL: none has the level.
void kernel_sets_choose(struct question *question, int64_t batch_size, enum kernels_use use,
                        struct kernels *ret_kernels);

#endif
