// SPDX-License-Identifier: Apache-2.0
// `xsp check levelzero`.
#ifndef XSP_TRACERS_LEVELZERO_PROBE_H
#define XSP_TRACERS_LEVELZERO_PROBE_H

#include "tracers/levelzero/abi.h"

#include <stdbool.h>
#include <xsp/tracer.h>

int levelzero_probe(const struct xsp_host *host, char *why, size_t why_size);
// All functions of the loader that are used; false: `why`.
bool levelzero_library_find(void *library, struct ze *ret_ze, char *why, size_t why_size);
// A tracer of the loader's tracing layer. NULL: `why`.
void *levelzero_library_trace(void *library, char *why, size_t why_size);
bool levelzero_library_enable(void *library, void *tracer);

#endif
