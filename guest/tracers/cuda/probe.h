// SPDX-License-Identifier: Apache-2.0
// `xsp check cuda`.
#ifndef XSP_TRACERS_CUDA_PROBE_H
#define XSP_TRACERS_CUDA_PROBE_H

#include <xsp/tracer.h>

// The driver, its devices and the libcupti that would be used. In a traced process nothing is looked at.
int cuda_probe(const struct xsp_host *host, char *why, size_t why_size);

#endif
