// SPDX-License-Identifier: Apache-2.0
#include "tracers/device/function.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

bool device_function(void *library, const char *name, void *ret_function)
{
  void *symbol = dlsym(library, name);
  memcpy(ret_function, &symbol, sizeof symbol);
  return symbol != NULL;
}

bool device_function_needed(void *library, const char *owner, const char *name, void *ret_function, char *why,
                            size_t why_size)
{
  bool is_there = device_function(library, name, ret_function);
  if (!is_there)
    snprintf(why, why_size, "%s has no function %s", owner, name);
  return is_there;
}
