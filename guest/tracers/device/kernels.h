// SPDX-License-Identifier: Apache-2.0
// Sites of kernels: one for a name and shape, so that a kernel's tags cost nothing each time that it runs. Any thread; no lock.
#ifndef XSP_TRACERS_DEVICE_KERNELS_H
#define XSP_TRACERS_DEVICE_KERNELS_H

#include <stdint.h>
#include <xsp/span.h>

// What a launch says of its kernel; becomes tags of this name. Only uint32_t: compared as bytes.
struct device_kernel_shape {
  uint32_t grid[3], block[3]; // in blocks, in threads; [0] 0: not known, no tag
  uint32_t cluster[3];        // in blocks; [0] 0: none, no tag
  uint32_t registers;         // of a thread; 0: not known, and shared_bytes neither: no tags
  uint32_t scalar_registers;  // of a wave; 0: no tag
  uint32_t shared_bytes;      // of a block
  uint32_t local_bytes;       // of a thread; 0: no tag
  uint32_t is_cooperative;    // tag `cooperative`
  uint32_t device_threads;    // that the device holds at once, for tag `parallelism_ppm`; 0: no tag
};

// `name` NULL or "": it has none. Beyond 32,768 of them: the site of the name alone; the span then has no tags. NULL without a
// session.
struct xsp_site *device_kernel_site(const char *tracer, const char *name, const struct device_kernel_shape *shape);
// A metric as a tag of a kernel's execution: an integer where it is one, none where it is not finite.
void device_kernel_tag_metric(const struct xsp_span *kernel, const char *tag, double value);

#endif
