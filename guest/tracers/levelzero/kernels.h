// SPDX-License-Identifier: Apache-2.0
// Kernels by handle, and the sites of their launches. Any thread; no lock.
#ifndef XSP_TRACERS_LEVELZERO_KERNELS_H
#define XSP_TRACERS_LEVELZERO_KERNELS_H

#include <stdint.h>
#include <xsp/span.h>

void levelzero_kernel_made(void *handle, const char *name);
void levelzero_kernel_sized(void *handle, const uint32_t block[3]);
// `grid`: of groups; NULL: only the device knows. `block`: NULL: as it was set.
struct xsp_site *levelzero_launched_site(void *handle, const uint32_t *grid, const uint32_t *block);

#endif
