// SPDX-License-Identifier: Apache-2.0
// The tracer's descriptor, and its functions for frameworks.so, which switches JAX's profiler on.
#include "frameworks/jax/tracer.h"

#include "frameworks/common/guest.h"

const struct jax_hooks *xsp_jax(void)
{
  static const struct jax_hooks hooks = {
      .size = sizeof hooks, .write = jax_profile_write, .option = guest_option, .report = guest_report};
  (void)xsp_tracer_join(guest_tracer());
  return &hooks;
}

static bool examine(void *handle, const char **ret_version, const char **ret_advice, char *why, size_t why_size)
{
  return true;
}

const struct guest_library guest_library = {
    .names = {.name = "jax",
              .sonames = (const char *const[]){"libjax_common.so", "xla_extension.so", NULL},
              .package_glob = "jaxlib/libjax_common.so",
              .advice = "pip install jax; a program that brings its own needs nothing"},
    .summary = "modules and operations of JAX, by its own profiler",
    .level_mask =
        XSP_LEVEL_MASK(XSP_LEVEL_APPLICATION) | XSP_LEVEL_MASK(XSP_LEVEL_MODEL) | XSP_LEVEL_MASK(XSP_LEVEL_LAYER),
    .examine = examine,
    .options = (const struct xsp_tracer_option[]){{"part", "SECONDS", "how long the first part of the profile is"},
                                                  {"limit", "BYTES", "of the profile, at most"},
                                                  {"cost", "PERCENT", "of the time, to write the profile: more pauses"},
                                                  {0}},
};

const struct xsp_tracer *xsp_tracer_entry(const struct xsp_host *host);
const struct xsp_tracer *xsp_tracer_entry(const struct xsp_host *host)
{
  return guest_tracer();
}
