// SPDX-License-Identifier: Apache-2.0
// Finds the functions of a known version of rocprofiler-sdk; calls none of them.
#include "tracers/rocm/library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static bool find(void *library, const char *name, bool is_needed, void *ret_function, char *why, size_t why_size)
{
  void *symbol = dlsym(library, name);
  memcpy(ret_function, &symbol, sizeof symbol);
  if (symbol == NULL && is_needed)
    snprintf(why, why_size, "it has no function %s", name);
  return symbol != NULL || !is_needed;
}

bool library_find(void *library, uint32_t version, struct rocm *ret_rocm, char *why, size_t why_size)
{
  struct rocm rocm = {.version = version};
  bool is_known = version >= ROCM_VERSION_LEAST && version < ROCM_VERSION_END &&
                  !(version >= ROCM_VERSION_NONE_FROM && version < ROCM_VERSION_LONG_IDS);
  if (!is_known)
    snprintf(why, why_size, "version %u.%u.%u is not known: 0.4 to 0.6 and 1.x are (ROCm 6.2 and later)",
             version / 10000, version / 100 % 100, version % 100);
#define FIND(field, name, parameters) &&find(library, #name, FIND_NEEDED, &rocm.field, why, why_size)
#define FIND_NEEDED true
  bool is_complete = is_known ROCM_FUNCTIONS(FIND);
#undef FIND_NEEDED
#define FIND_NEEDED false
  is_complete = is_complete ROCM_FUNCTIONS_OF_COUNTERS(FIND);
  *ret_rocm = rocm;
  return is_complete;
}
