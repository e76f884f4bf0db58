// SPDX-License-Identifier: Apache-2.0
// `xsp check rocm`.
#ifndef XSP_TRACERS_ROCM_PROBE_H
#define XSP_TRACERS_ROCM_PROBE_H

#include <xsp/tracer.h>

// The kernel's driver, the GPUs and the librocprofiler-sdk that would be used. In a traced process nothing is looked at.
int rocm_probe(const struct xsp_host *host, char *why, size_t why_size);

#endif
