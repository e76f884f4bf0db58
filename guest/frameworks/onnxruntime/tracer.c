// SPDX-License-Identifier: Apache-2.0
// onnxruntime.so: a plug-in execution provider that takes no node and only listens. ONNX Runtime (>= 1.25, with
// profiling on) calls it around every node on the thread that executes it; each call pair becomes one layer span.
// Loaded by ONNX Runtime itself: for xsp's predictor, for frameworks.so, or by a program's own
// ort.register_execution_provider_library(). A process may have several copies of the runtime, each with its own tables.
// A guest: no lock, no allocation while nodes run, no output, and no failure that a session could see.
#include "frameworks/onnxruntime/hooks.h"

#include "frameworks/common/guest.h"
#include "frameworks/onnxruntime/abi.h"
#include "frameworks/onnxruntime/tracer_profiler.h"
#include <xsp/span.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUNTIMES_MAXIMUM 8
static struct runtime runtimes[RUNTIMES_MAXIMUM];

struct listener_ep {
  struct ort_ep ep; // first: the address is the runtime's handle
  const struct runtime *runtime;
};

static __thread const struct ort_api_base *last_base;

XSP_API struct ort_status *CreateEpFactories(const char *registration_name, const struct ort_api_base *base,
                                             const struct ort_logger *logger, struct ort_ep_factory **factories,
                                             size_t maximum, size_t *ret_count);
XSP_API struct ort_status *ReleaseEpFactory(struct ort_ep_factory *factory);

// ---- the execution provider: claims no node -------------------------------------------------------------------------

static const char *ep_name(const struct ort_ep *ep)
{
  return ORT_LISTENER_NAME;
}

static struct ort_status *ep_capability(struct ort_ep *ep, const struct ort_graph *graph,
                                        struct ort_graph_support_info *info)
{
  return NULL;
}

static struct ort_status *ep_compile(struct ort_ep *ep, const struct ort_graph **graphs, const void *nodes,
                                     size_t count, void *infos, void *contexts)
{
  return ((const struct listener_ep *)ep)
      ->runtime->api.create_status(ORT_ERROR_NOT_IMPLEMENTED, "xsp's listener compiles nothing");
}

static void ep_release_compute_infos(struct ort_ep *ep, void *infos, size_t count)
{
}

static struct ort_status *ep_is_concurrent_run_supported(struct ort_ep *ep, bool *ret_supported)
{
  *ret_supported = true;
  return NULL;
}

static struct ort_status *ep_create_profiler(struct ort_ep *ep, struct ort_profiler **ret_profiler)
{
  return profiler_create(((const struct listener_ep *)ep)->runtime, ret_profiler);
}

// ---- the factory ----------------------------------------------------------------------------------------------------

static const char *factory_name(const struct ort_ep_factory *factory)
{
  return ORT_LISTENER_NAME;
}

static const char *factory_vendor(const struct ort_ep_factory *factory)
{
  return "xsp";
}

static uint32_t factory_vendor_id(const struct ort_ep_factory *factory)
{
  return 0;
}

static const char *factory_version(const struct ort_ep_factory *factory)
{
  return "1.0.0";
}

// One device, on the first CPU: enough to be asked for a session's execution provider.
static const struct runtime *runtime_of(const struct ort_ep_factory *factory)
{
  return (const struct runtime *)((const char *)factory - offsetof(struct runtime, factory));
}

static struct ort_status *factory_devices(struct ort_ep_factory *factory,
                                          const struct ort_hardware_device *const *devices, size_t device_count,
                                          struct ort_ep_device **ret_devices, size_t maximum, size_t *ret_count)
{
  const struct runtime *runtime = runtime_of(factory);
  *ret_count = 0;
  for (size_t i = 0; i < device_count && maximum > 0; i++) {
    if (runtime->api.hardware_device_kind(devices[i]) != ORT_DEVICE_CPU)
      continue;
    struct ort_status *status = runtime->functions.create_ep_device(factory, devices[i], NULL, NULL, &ret_devices[0]);
    if (status == NULL)
      *ret_count = 1;
    return status;
  }
  return NULL;
}

static struct ort_status *factory_create_ep(struct ort_ep_factory *factory,
                                            const struct ort_hardware_device *const *devices,
                                            const struct ort_key_value_pairs *const *metadata, size_t device_count,
                                            const struct ort_session_options *options, const struct ort_logger *logger,
                                            struct ort_ep **ret_ep)
{
  const struct runtime *runtime = runtime_of(factory);
  struct listener_ep *listener = calloc(1, sizeof *listener);
  if (listener == NULL)
    return runtime->api.create_status(ORT_ERROR_FAIL, "out of memory");
  listener->runtime = runtime;
  listener->ep = (struct ort_ep){
      .version = ORT_API_LISTENER,
      .name = ep_name,
      .capability = ep_capability,
      .compile = ep_compile,
      .release_compute_infos = ep_release_compute_infos,
      .is_concurrent_run_supported = ep_is_concurrent_run_supported,
      .create_profiler = ep_create_profiler,
  };
  *ret_ep = &listener->ep;
  return NULL;
}

static void factory_release_ep(struct ort_ep_factory *factory, struct ort_ep *ep)
{
  free(ep);
}

static struct ort_status *factory_create_allocator(struct ort_ep_factory *factory, const struct ort_memory_info *info,
                                                   const struct ort_key_value_pairs *options,
                                                   struct ort_allocator **ret_allocator)
{
  *ret_allocator = NULL; // the runtime's own
  return NULL;
}

static void factory_release_allocator(struct ort_ep_factory *factory, struct ort_allocator *allocator)
{
}

static struct ort_status *factory_create_data_transfer(struct ort_ep_factory *factory, void **ret_transfer)
{
  *ret_transfer = NULL;
  return NULL;
}

static bool factory_is_stream_aware(const struct ort_ep_factory *factory)
{
  return false;
}

static const struct ort_ep_factory factory_functions = {
    .version = ORT_API_LISTENER,
    .name = factory_name,
    .vendor = factory_vendor,
    .supported_devices = factory_devices,
    .create_ep = factory_create_ep,
    .release_ep = factory_release_ep,
    .vendor_id = factory_vendor_id,
    .provider_version = factory_version,
    .create_allocator = factory_create_allocator,
    .release_allocator = factory_release_allocator,
    .create_data_transfer = factory_create_data_transfer,
    .is_stream_aware = factory_is_stream_aware,
};

// The place of this copy of the runtime: one that it had before (its tables may lie elsewhere now, so they are read
// again only where nothing of it can be in use: the address of `base` is that of the library), or a free one.
static struct runtime *runtime_for(const struct ort_api_base *base)
{
  for (int i = 0; i < RUNTIMES_MAXIMUM; i++) {
    struct runtime *runtime = &runtimes[i];
    if (__atomic_load_n(&runtime->state, __ATOMIC_ACQUIRE) == 2 && runtime->base == base)
      return runtime;
    uint32_t none = 0;
    if (!__atomic_compare_exchange_n(&runtime->state, &none, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
      continue;
    runtime->base = base;
    ort_api_load(base->get_api(ORT_API_LISTENER), ORT_API_LISTENER, &runtime->api);
    ort_ep_functions_load(runtime->api.ep_api(), ORT_API_LISTENER, &runtime->functions);
    runtime->factory = factory_functions;
    __atomic_store_n(&runtime->state, 2, __ATOMIC_RELEASE);
    return runtime;
  }
  return NULL;
}

struct ort_status *CreateEpFactories(const char *registration_name, const struct ort_api_base *base,
                                     const struct ort_logger *logger, struct ort_ep_factory **factories, size_t maximum,
                                     size_t *ret_count)
{
  *ret_count = 0;
  // Asked for more than it has, the runtime prints to stderr: take the version from its own name.
  uint32_t version = ort_api_version(base->version_string());
  struct ort_api api;
  ort_api_load(base->get_api(version < ORT_API_LISTENER ? version : ORT_API_LISTENER), version, &api);
  if (version < ORT_API_LISTENER)
    return api.create_status(ORT_ERROR_NOT_IMPLEMENTED, "xsp's listener needs ONNX Runtime 1.25 or later");
  (void)xsp_tracer_join(guest_tracer());
  profiler_start_clock();
  struct runtime *runtime = runtime_for(base);
  if (runtime == NULL)
    return api.create_status(ORT_ERROR_FAIL, "too many copies of ONNX Runtime in this process for xsp's listener");
  if (maximum == 0)
    return api.create_status(ORT_ERROR_INVALID_ARGUMENT, "no room for a factory");
  last_base = base;
  factories[0] = &runtime->factory;
  *ret_count = 1;
  return NULL;
}

struct ort_status *ReleaseEpFactory(struct ort_ep_factory *factory)
{
  return NULL; // static
}

// ---- for frameworks.so -----------------------------------------------------------------------------------------------

static const struct ort_api_base *last_registered(void)
{
  return last_base;
}

const struct ort_listener *xsp_listener(void)
{
  static const struct ort_listener listener = {sizeof listener, last_registered, profiler_set_model, guest_report};
  (void)xsp_tracer_join(guest_tracer());
  return &listener;
}

// ---- the library, for `xsp check` ------------------------------------------------------------------------------------

static bool examine(void *handle, const char **ret_version, const char **ret_advice, char *why, size_t why_size)
{
  ort_get_api_base_fn get_base = NULL;
  void *symbol = dlsym(handle, ORT_GET_API_BASE);
  memcpy(&get_base, &symbol, sizeof symbol);
  if (get_base == NULL) {
    snprintf(why, why_size, "not an ONNX Runtime library: " ORT_GET_API_BASE " is missing");
    return false;
  }
  *ret_version = get_base()->version_string();
  if (ort_api_version(*ret_version) >= ORT_API_LISTENER)
    return true;
  snprintf(why, why_size, "ONNX Runtime %s calls no listener (1.25 or later does): models, but no layers",
           *ret_version);
  *ret_advice = "pip install --upgrade onnxruntime";
  return false;
}

const struct guest_library guest_library = {
    .names = {.name = "onnxruntime",
              .sonames = (const char *const[]){"libonnxruntime.so.1", "libonnxruntime.so", NULL},
              .package_glob = "onnxruntime/capi/libonnxruntime.so*",
              .advice = "pip install onnxruntime; a program that brings its own needs nothing"},
    .summary = "models and (1.25 or later) layers of ONNX Runtime, in C programs and in Python",
    .variable = "ORT_DISABLE_TELEMETRY",
    .value = "1",
    .examine = examine,
};

const struct xsp_tracer *xsp_tracer_entry(const struct xsp_host *host)
{
  return guest_tracer();
}
