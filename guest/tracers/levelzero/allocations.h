// SPDX-License-Identifier: Apache-2.0
// What is known of memory by its address: the driver is asked.
#ifndef XSP_TRACERS_LEVELZERO_ALLOCATIONS_H
#define XSP_TRACERS_LEVELZERO_ALLOCATIONS_H

#include "tracers/levelzero/slots.h"

void levelzero_allocation_made(void *context, void *address, size_t bytes);
void levelzero_allocation_gone(void *context, void *address); // it is about to be
struct work levelzero_copy_work(const void *to, const void *from, const struct levelzero_context *context,
                                int64_t bytes);

#endif
