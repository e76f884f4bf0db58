// SPDX-License-Identifier: Apache-2.0
// Between the files that answer NVTX's calls.
#ifndef XSP_TRACERS_NVTX_CALLBACKS_H
#define XSP_TRACERS_NVTX_CALLBACKS_H

#include "tracers/annotations/annotations.h"
#include "tracers/nvtx/abi.h"
#include "tracers/nvtx/payload.h"

void nvtx_callbacks_fill(const struct nvtx_callbacks_table *table); // core
void nvtx_extensions_fill(const struct nvtx_extension *module);     // payloads, counters

// ---- extensions.c
// Payloads given with an event. `event` is cleared first.
void nvtx_extensions_read(const void *domain, const struct nvtx_blob *blobs, size_t count, struct payload_event *event);
#define NO_NAME "(unnamed)"
// `text` NULL: NO_NAME. A mark's category is "mark": its own goes into a tag.
struct xsp_span nvtx_mark_with_category(const void *domain, const char *text, uint32_t category);

#endif
