// SPDX-License-Identifier: Apache-2.0
// Opens NVML; see nvml.h. Called by experiment/ before anything is measured, and by launch/ while a program runs.
#include "base/nvml.h"

#include "base/library.h"

#include <dlfcn.h>
#include <string.h>

// Without NVML there are no GPUs; but what was named has to be NVML. One that is not there is looked for once: each time the loader
// goes through all its folders.
enum status nvml_open(struct nvml *ret_nvml, bool *ret_is_open, struct error *err)
{
  static bool is_missing;
  static const char *const sonames[] = {"libnvidia-ml.so.1", NULL};
  const struct library_names names = {.name = "nvml", .sonames = sonames};
  char variable[LIBRARY_VARIABLE_SIZE];
  const char *given = library_variable(names.name, variable);
  struct library library;
  const char *missing = NULL;
  *ret_is_open = false;
  if (given == NULL && __atomic_load_n(&is_missing, __ATOMIC_RELAXED))
    return STATUS_OK;
  enum status status = library_open(&names, given, &library, given != NULL ? err : NULL);
  if (status != STATUS_OK && given != NULL)
    return status;
  if (status != STATUS_OK) {
    __atomic_store_n(&is_missing, true, __ATOMIC_RELAXED);
    return STATUS_OK;
  }
#define X(member, symbol, parameters, is_optional)                                                                     \
  {                                                                                                                    \
    void *address = dlsym(library.handle, symbol);                                                                     \
    memcpy(&ret_nvml->member, &address, sizeof address);                                                               \
    missing = missing == NULL && address == NULL && !(is_optional) ? symbol : missing;                                 \
  }
  NVML_FUNCTIONS(X)
#undef X
  if (missing != NULL && given != NULL)
    return error_set(err, STATUS_SYSTEM, "not an NVML library", given, "the path of libnvidia-ml.so.1", "%s is missing",
                     missing);
  *ret_is_open = missing == NULL && ret_nvml->init() == 0;
  return STATUS_OK;
}
