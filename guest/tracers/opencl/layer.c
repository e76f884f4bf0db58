// SPDX-License-Identifier: Apache-2.0
// The vendor's door: the OpenCL loader loads this file as a layer (OPENCL_LAYERS) and puts our functions in front of the
// driver's. Where the session never records kernels nothing is put in front: such a program runs as without a layer.
#include "tracers/opencl/commands.h"

#include <string.h>

#ifndef CL_LAYER_NAME // headers before 2022.05
#define CL_LAYER_NAME 0x4241
#endif

struct _cl_icd_dispatch opencl_next;
static struct _cl_icd_dispatch dispatch; // NULL: the loader takes what is below

#define ENTRIES ((cl_uint)(sizeof dispatch / sizeof(void *)))

cl_int opencl_answer(const void *value, size_t value_size, size_t size, void *to, size_t *ret_size)
{
  if (to != NULL && size < value_size)
    return CL_INVALID_VALUE;
  if (to != NULL && value_size > 0)
    memcpy(to, value, value_size);
  if (ret_size != NULL)
    *ret_size = value_size;
  return CL_SUCCESS;
}

__attribute__((visibility("default"))) cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what, size_t size, void *value,
                                                                         size_t *ret_size)
{
  static const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
  static const char name[] = "xsp";
  if (what == CL_LAYER_API_VERSION)
    return opencl_answer(&version, sizeof version, size, value, ret_size);
  if (what == CL_LAYER_NAME)
    return opencl_answer(name, sizeof name, size, value, ret_size);
  return CL_INVALID_VALUE;
}

__attribute__((visibility("default"))) cl_int CL_API_CALL clInitLayer(cl_uint count, const cl_icd_dispatch *target,
                                                                      cl_uint *ret_count,
                                                                      const cl_icd_dispatch **ret_dispatch)
{
  if (target == NULL || ret_count == NULL || ret_dispatch == NULL)
    return CL_INVALID_VALUE;
  opencl_initialise();
  // An older loader has a shorter table: missing functions stay NULL, here and in the table for the loader.
  memcpy(&opencl_next, target, (count < ENTRIES ? count : ENTRIES) * sizeof(void *));
  if (opencl_may_record()) {
#define LAYER_PUT(name, ...)                                                                                           \
  if (opencl_next.name != NULL)                                                                                        \
    dispatch.name = opencl_##name;
    LAYER_FUNCTIONS(LAYER_PUT)
    if (opencl_commands_serialize) {
      LAYER_SERIAL_FUNCTIONS(LAYER_PUT)
    }
#undef LAYER_PUT
  }
  *ret_count = ENTRIES;
  *ret_dispatch = &dispatch;
  return CL_SUCCESS;
}
