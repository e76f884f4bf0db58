// SPDX-License-Identifier: Apache-2.0
// The loader's functions, by name. Called once in a traced process, and by `xsp check`.
#include "tracers/device/function.h"
#include "tracers/levelzero/probe.h"

#include <stdio.h>

static const char loader[] = "the loader";

bool levelzero_library_find(void *library, struct ze *ret_ze, char *why, size_t why_size)
{
  bool is_complete = true;
#define X(name, parameters)                                                                                            \
  is_complete = is_complete && device_function_needed(library, loader, "ze" #name, &ret_ze->name, why, why_size);
  ZE_FUNCTIONS(X)
#undef X
  return is_complete;
}

void *levelzero_library_trace(void *library, char *why, size_t why_size)
{
  static char data;
  const struct zel_tracer_desc desc = {{ZEL_TRACER_DESC, NULL}, &data};
  zel_create *create;
  void *tracer = NULL;
  if (!device_function_needed(library, loader, "zelTracerCreate", &create, why, why_size))
    return NULL;
  uint32_t error = create(&desc, &tracer);
  if (error != ZE_OK) {
    snprintf(why, why_size,
             "the loader has no tracing layer (error 0x%x): libze_tracing_layer.so.1 must be installed next to it, and "
             "ZE_ENABLE_TRACING_LAYER must be 1",
             error);
    return NULL;
  }
  return tracer;
}

bool levelzero_library_enable(void *library, void *tracer)
{
  zel_enable *enable;
  uint32_t (*switch_on)(void); // the layer, where the variable has not; newer loaders
  if (device_function(library, "zelEnableTracingLayer", &switch_on))
    switch_on();
  return device_function(library, "zelTracerSetEnabled", &enable) && enable(tracer, 1) == ZE_OK;
}
