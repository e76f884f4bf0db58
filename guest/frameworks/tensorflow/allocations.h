// SPDX-License-Identifier: Apache-2.0
// What TensorFlow's operations on CPUs allocate. oneDNN's builds have an allocator that announces large blocks alone; the door
// stands before it.
#ifndef XSP_FRAMEWORKS_TENSORFLOW_ALLOCATIONS_H
#define XSP_FRAMEWORKS_TENSORFLOW_ALLOCATIONS_H

#include "frameworks/common/layer_publish.h"
#include "frameworks/common/pool.h"

#include <stdbool.h>
#include <stddef.h>

void tensorflow_allocations_begin(void); // of the prediction that has the recorder, before it
void tensorflow_allocations_end(void);
void tensorflow_allocations_note(size_t bytes); // by any thread; takes no lock and no memory
// Adds what was allocated to the innermost layer around it on its thread; layers are in order of their start, on
// CLOCK_REALTIME. Where not all was kept, or the pool is full, no layer has alloc_bytes.
void tensorflow_allocations_add(struct layer_report *layers, size_t count, struct pool *pool);

#endif
