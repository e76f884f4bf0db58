// SPDX-License-Identifier: Apache-2.0
// The functions of the librocprofiler-sdk that called us, or that `xsp check` finds.
#ifndef XSP_TRACERS_ROCM_LIBRARY_H
#define XSP_TRACERS_ROCM_LIBRARY_H

#include "tracers/rocm/abi.h"

// `version` as rocprofiler_configure gets it. False: why this library cannot be used.
bool rocm_library_find(void *library, uint32_t version, struct rocm *ret_rocm, char *why, size_t why_size);

#endif
