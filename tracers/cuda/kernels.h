// SPDX-License-Identifier: Apache-2.0
// Sites of kernels: one for a name and shape, so that a kernel's tags cost nothing each time that it runs. One thread.
#ifndef XSP_TRACERS_CUDA_KERNELS_H
#define XSP_TRACERS_CUDA_KERNELS_H

#include "tracers/cuda/abi.h"

#include <xsp/span.h>

// The site of the kernel's name and shape. Beyond 32,768 of them: of its name alone; the span then has no tags. NULL without a
// session.
struct xsp_site *kernel_site(const struct cupti_kernel *kernel);

#endif
