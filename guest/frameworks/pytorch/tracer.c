// SPDX-License-Identifier: Apache-2.0
// The tracer's descriptor, and its functions for frameworks.so, which calls them on the program's threads.
#include "frameworks/pytorch/tracer.h"

#include "frameworks/common/guest.h"

#include <dlfcn.h>
#include <stdio.h>

const struct pytorch_functions *torch;

static enum pytorch_memory hook_start(const struct pytorch_functions *functions, const char *model_range)
{
  torch = functions;
  pytorch_steps_start(model_range);
  pytorch_operators_start();
  return pytorch_tensors_start();
}

static void stop(void)
{
  struct pytorch_thread *thread = torch != NULL ? thread_get() : NULL;
  if (thread == NULL)
    return;
  pytorch_steps_end(thread->steps);
  pytorch_tensors_end(thread->blocks);
}

const struct pytorch_hooks *xsp_pytorch(void)
{
  static const struct pytorch_hooks hooks = {
      .size = sizeof hooks,
      .start = hook_start,
      .report = guest_report,
      .python = pytorch_modules_python,
      .allocated = pytorch_tensors_allocated,
      .memory = pytorch_tensors_reported,
  };
  (void)xsp_tracer_join(guest_tracer());
  return &hooks;
}

// ---- the library, for `xsp check` ------------------------------------------------------------------------------------

static bool examine(void *handle, const char **ret_version, const char **ret_advice, char *why, size_t why_size)
{
  bool is_whole = true;
#define X(member, name, result, parameters) is_whole = is_whole && dlsym(handle, #name) != NULL;
  PYTORCH_NEEDED_FUNCTIONS(X)
#undef X
  if (!is_whole)
    snprintf(why, why_size, "this PyTorch lacks functions that 1.13 and later have");
  return is_whole;
}

const struct guest_library guest_library = {
    .names = {.name = "pytorch",
              .sonames = (const char *const[]){"libtorch_cpu.so", "libtorch_cpu.so.1.13", NULL},
              .package_glob = "torch/lib/libtorch_cpu.so*",
              .advice = "pip install torch; a program that brings its own needs nothing"},
    .summary = "operators, modules and steps of PyTorch 1.13 and later",
    .level_mask = XSP_LEVEL_MASK(XSP_LEVEL_APPLICATION) | XSP_LEVEL_MASK(XSP_LEVEL_MODEL) |
                  XSP_LEVEL_MASK(XSP_LEVEL_LAYER) | XSP_LEVEL_MASK(XSP_LEVEL_LIBRARY),
    .examine = examine,
    .options = (const struct xsp_tracer_option[]){{"shapes", NULL, "shapes, types and values of operators' inputs"},
                                                  {"each_allocation", NULL, "a span of each allocation and release"},
                                                  {0}},
    .stop = stop,
};

const struct xsp_tracer *xsp_tracer_entry(const struct xsp_host *host)
{
  return guest_tracer();
}
