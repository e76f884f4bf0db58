// SPDX-License-Identifier: Apache-2.0
// Finds the functions of a known version of rocprofiler-sdk; calls none of them.
#include "tracers/rocm/library.h"

#include "tracers/device/function.h"

#include <stdio.h>

bool rocm_library_find(void *library, uint32_t version, struct rocm *ret_rocm, char *why, size_t why_size)
{
  struct rocm rocm = {.version = version};
  bool is_known = version >= ROCM_VERSION_LEAST && version < ROCM_VERSION_END &&
                  !(version >= ROCM_VERSION_NONE_FROM && version < ROCM_VERSION_LONG_IDS);
  if (!is_known)
    snprintf(why, why_size, "version %u.%u.%u is not known: 0.4 to 0.6 and 1.x are (ROCm 6.2 and later)",
             version / 10000, version / 100 % 100, version % 100);
#define FIND(field, name, parameters) &&device_function_needed(library, "it", #name, &rocm.field, why, why_size)
  bool is_complete = is_known ROCM_FUNCTIONS(FIND);
#undef FIND
#define FIND(field, name, parameters) device_function(library, #name, &rocm.field);
  ROCM_FUNCTIONS_OF_COUNTERS(FIND)
  ROCM_FUNCTIONS_OF_SAMPLES(FIND)
#undef FIND
  *ret_rocm = rocm;
  return is_complete;
}
