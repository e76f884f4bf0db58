// SPDX-License-Identifier: Apache-2.0
// Names of kernels, read once per kernel object, and the sites that launches and executions of them have.
#ifndef XSP_TRACERS_OPENCL_KERNELS_H
#define XSP_TRACERS_OPENCL_KERNELS_H

#include "tracers/opencl/opencl.h"

// How a kernel was launched. Spans of one shape share a site, which carries the shape as tags: they cost nothing then.
struct launch_shape {
  uint32_t dimensions; // 1 to 3; 0: not known
  bool has_local;      // false: the driver chooses
  size_t global[3], local[3];
};
struct kernel_shape; // private
struct opencl_kernel {
  const char *name; // whole, NUL-terminated
  uint64_t hash;
  struct xsp_site *launch, *execution; // NULL where the session is full
  struct kernel_shape *shapes;         // atomic; newest first
  uint32_t shape_count;                // atomic
};

void opencl_kernels_start(void); // once, before all else
// Never NULL; a kernel whose name cannot be had is named so. Takes no lock; asks the driver for an object that it has
// not seen created.
struct opencl_kernel *opencl_kernel_of(cl_kernel handle);
// The site of executions of this shape; *ret_has_tags false where there were too many and the span must carry the tags.
struct xsp_site *opencl_kernel_site(struct opencl_kernel *kernel, const struct launch_shape *shape, bool *ret_has_tags);
void opencl_launch_shape_set(struct launch_shape *shape, cl_uint dimensions, const size_t *global, const size_t *local);
#define SHAPE_TEXT_SIZE 72
// "[64,1,1]"
void opencl_launch_shape_text(const size_t values[3], char text[SHAPE_TEXT_SIZE]);

#endif
