// SPDX-License-Identifier: Apache-2.0
// onnxruntime.so: a plug-in execution provider that takes no node and only listens. ONNX Runtime (>= 1.25, with
// profiling on) calls it around every node on the thread that executes it; each call pair becomes one layer span.
// Loaded by ONNX Runtime itself: for xsp's predictor, for frameworks.so, or by a program's own
// ort.register_execution_provider_library(). A process may have several copies of the runtime, each with its own tables.
// A guest: no lock, no allocation while nodes run, no output, and no failure that a session could see.
#include "frameworks/onnxruntime/tracer.h"
#include "frameworks/onnxruntime/abi.h"
#include "frameworks/onnxruntime/layers.h"
#include "frameworks/onnxruntime/tracer_probe.h"
#include <xsp/span.h>
#include <xsp/tracer.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// Sub-graphs (If, Loop, Scan) nest; deeper than this a node is not recorded.
#define DEPTH_MAXIMUM 128u

struct open_node {
  uint64_t start;     // ticks, taken last in start_event: the node's time begins where ours ends
  uint64_t own_ticks; // what start_event itself took
};

// ONNX Runtime pairs the calls on one thread and gives nothing but a microsecond as identity, which can repeat: a stack
// per thread is the identity.
static __thread struct {
  uint32_t depth;
  struct open_node nodes[DEPTH_MAXIMUM];
} open_nodes;

// A copy of ONNX Runtime in this process, and what it was given.
struct runtime {
  uint32_t state; // atomic: 0 free, 1 being filled, 2 in use
  const struct ort_api_base *base;
  struct ort_api api;
  struct ort_ep_functions functions;
  struct ort_ep_factory factory;
};
#define RUNTIMES_MAXIMUM 8
static struct runtime runtimes[RUNTIMES_MAXIMUM];

struct listener_ep {
  struct ort_ep ep; // first: the address is the runtime's handle
  const struct runtime *runtime;
};

// One per session, or per inference where single inferences are profiled.
struct listener_profiler {
  struct ort_profiler profiler; // first
  const struct runtime *runtime;
  const void *thread;       // that began the inference: its stack of open nodes
  struct xsp_context model; // what layers on other threads are children of
};

static __thread struct xsp_context current_model;
static __thread const struct ort_api_base *last_base;

static const struct xsp_host *the_host;
static uint64_t own_ticks_total; // read by the runner around each inference

XSP_API uint64_t xsp_listener_own_ticks(void);
XSP_API struct ort_status *CreateEpFactories(const char *registration_name, const struct ort_api_base *base,
                                             const struct ort_logger *logger, struct ort_ep_factory **factories,
                                             size_t maximum, size_t *ret_count);
XSP_API struct ort_status *ReleaseEpFactory(struct ort_ep_factory *factory);

uint64_t xsp_listener_own_ticks(void)
{
  return __atomic_load_n(&own_ticks_total, __ATOMIC_RELAXED);
}

// ---- how long a tick is ----------------------------------------------------------------------------------------------

struct reading {
  uint64_t ticks, ns;
};
static struct reading first_reading; // written once, when the library is registered
static uint64_t ticks_per_us_bits;   // a double's bits; 0: not known yet
static uint32_t has_deeper_levels;   // spans of other tracers may lie inside a node

// Both clocks at one instant: of a few tries the one that was interrupted least.
static struct reading take_reading(void)
{
  struct reading best = {0, 0};
  uint64_t best_width = UINT64_MAX;
  for (int i = 0; i < 4; i++) {
    struct timespec time;
    uint64_t before = xsp_clock_ticks();
    clock_gettime(CLOCK_MONOTONIC, &time);
    uint64_t width = xsp_clock_ticks() - before;
    if (width >= best_width)
      continue;
    best_width = width;
    best = (struct reading){before + width / 2, (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec};
  }
  return best;
}

// Once per run: how long a tick is (the longer since the first reading, the better), and what else is being recorded.
static void look_around(void)
{
  const uint32_t deeper = XSP_LEVEL_MASK(XSP_LEVEL_LIBRARY) | XSP_LEVEL_MASK(XSP_LEVEL_KERNEL);
  __atomic_store_n(&has_deeper_levels, (xsp_tracer_levels("*") & deeper) != 0, __ATOMIC_RELAXED);
  struct reading now = take_reading();
  if (now.ns - first_reading.ns < 1000000) // too short to say
    return;
  double ticks_per_us = (double)(now.ticks - first_reading.ticks) * 1e3 / (double)(now.ns - first_reading.ns);
  uint64_t bits;
  memcpy(&bits, &ticks_per_us, sizeof bits);
  __atomic_store_n(&ticks_per_us_bits, bits, __ATOMIC_RELAXED);
}

// The runtime reads its end before it makes the event's arguments, which takes 2 us and is no part of the node: our own
// reading is too late, and the duration it gives is cut to whole microseconds. In the middle of that microsecond lies the
// best guess; its end is taken where spans of deeper levels must not be left out.
static uint64_t end_of_node(uint64_t start, int64_t duration_us, uint64_t stopped)
{
  uint64_t bits = __atomic_load_n(&ticks_per_us_bits, __ATOMIC_RELAXED);
  if (bits == 0 || duration_us < 0)
    return stopped;
  double ticks_per_us;
  memcpy(&ticks_per_us, &bits, sizeof ticks_per_us);
  double rest = __atomic_load_n(&has_deeper_levels, __ATOMIC_RELAXED) ? 1 : 0.5;
  double ticks = ((double)duration_us + rest) * ticks_per_us;
  return ticks < (double)(stopped - start) ? start + (uint64_t)ticks : stopped;
}

// ---- the profiler: called around every event ------------------------------------------------------------------------

static const char *argument(const struct runtime *runtime, const struct ort_profiling_event *event, const char *key)
{
  const char *value = NULL;
  struct ort_status *status = runtime->functions.event_argument(event, key, &value);
  if (status != NULL) {
    runtime->api.release_status(status);
    return NULL;
  }
  return value;
}

static bool is_node(const struct runtime *runtime, const struct ort_profiling_event *event, const char **ret_name,
                    int64_t *ret_duration_us)
{
  const struct ort_ep_functions *functions = &runtime->functions;
  int category = -1;
  struct ort_status *status = functions->event_category(event, &category);
  if (status == NULL && category == ORT_EVENT_SESSION)
    look_around();
  if (status == NULL && category == ORT_EVENT_NODE)
    status = functions->event_name(event, ret_name);
  if (status == NULL && category == ORT_EVENT_NODE)
    status = functions->event_duration_us(event, ret_duration_us);
  if (status != NULL) {
    runtime->api.release_status(status);
    return false;
  }
  return category == ORT_EVENT_NODE && *ret_name != NULL;
}

static struct xsp_site *site_of(const struct runtime *runtime, const struct ort_profiling_event *event,
                                const char *name)
{
  struct layer_key key = {name, argument(runtime, event, ORT_ARGUMENT_INDEX),
                          argument(runtime, event, ORT_ARGUMENT_OUTPUTS)};
  struct xsp_site *site = layers_find(&key);
  if (site != NULL)
    return site;
  // The first inference of a shape is the only one whose memory figures mean something: later ones reuse its pattern.
  struct layer_facts facts = {
      .operator_type = argument(runtime, event, ORT_ARGUMENT_OPERATOR),
      .provider = argument(runtime, event, ORT_ARGUMENT_PROVIDER),
      .inputs = argument(runtime, event, ORT_ARGUMENT_INPUTS),
      .parameter_bytes = argument(runtime, event, ORT_ARGUMENT_PARAMETER_BYTES),
      .activation_bytes = argument(runtime, event, ORT_ARGUMENT_ACTIVATION_BYTES),
      .output_bytes = argument(runtime, event, ORT_ARGUMENT_OUTPUT_BYTES),
      .alloc_bytes = argument(runtime, event, ORT_ARGUMENT_ALLOC_BYTES),
  };
  return layers_add(&key, &facts);
}

static struct ort_status *start_event(struct ort_profiler *profiler, uint64_t event_id)
{
  uint64_t entered = xsp_clock_ticks();
  uint32_t depth = open_nodes.depth++;
  if (depth < DEPTH_MAXIMUM) {
    struct open_node *node = &open_nodes.nodes[depth];
    node->start = xsp_clock_ticks();
    node->own_ticks = node->start - entered;
  }
  return NULL;
}

static struct ort_status *stop_event(struct ort_profiler *profiler, uint64_t event_id,
                                     const struct ort_profiling_event *event)
{
  uint64_t stopped = xsp_clock_ticks();
  if (open_nodes.depth == 0) // profiling was switched on inside an event
    return NULL;
  uint32_t depth = --open_nodes.depth;
  if (depth >= DEPTH_MAXIMUM)
    return NULL;
  const struct open_node *node = &open_nodes.nodes[depth];
  const struct listener_profiler *listener = (const struct listener_profiler *)profiler;
  const char *name = NULL;
  int64_t duration_us = -1;
  if (is_node(listener->runtime, event, &name, &duration_us)) {
    struct xsp_interval interval = {
        .size = sizeof interval,
        .kind = XSP_KIND_SYNC,
        .clock = XSP_CLOCK_TICKS,
        .start = node->start,
        .end = end_of_node(node->start, duration_us, stopped),
    };
    if (depth == 0 && listener->thread != &open_nodes) // the nodes of a sub-graph lie in the one that runs them
      interval.parent = listener->model;
    xsp_span_emit(site_of(listener->runtime, event, name), &interval);
  }
  __atomic_fetch_add(&own_ticks_total, node->own_ticks + (xsp_clock_ticks() - stopped), __ATOMIC_RELAXED);
  return NULL;
}

static struct ort_status *start_profiling(struct ort_profiler *profiler, int64_t start_offset_ns)
{
  look_around(); // a profiler of one inference is told of its end only
  return NULL;
}

static struct ort_status *end_profiling(struct ort_profiler *profiler, struct ort_profiling_container *container)
{
  return NULL; // nothing to add to ONNX Runtime's own profile
}

static void release_profiler(struct ort_profiler *profiler)
{
  free(profiler);
}

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
  const struct runtime *runtime = ((const struct listener_ep *)ep)->runtime;
  struct listener_profiler *listener = calloc(1, sizeof *listener);
  if (listener == NULL)
    return runtime->api.create_status(ORT_ERROR_FAIL, "out of memory");
  *listener = (struct listener_profiler){
      .profiler = {ORT_API_LISTENER, release_profiler, start_profiling, start_event, stop_event, end_profiling},
      .runtime = runtime,
      .thread = &open_nodes,
      .model = current_model,
  };
  *ret_profiler = &listener->profiler;
  return NULL;
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
  (void)xsp_tracer_join(xsp_tracer_entry(NULL));
  if (first_reading.ns == 0)
    first_reading = take_reading();
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

static void set_model(struct xsp_context model)
{
  current_model = model;
}

static void say(const char *message)
{
  if (the_host != NULL)
    the_host->say(the_host, message);
}

const struct ort_listener *xsp_listener(void)
{
  static const struct ort_listener listener = {sizeof listener, last_registered, set_model, say};
  (void)xsp_tracer_join(xsp_tracer_entry(NULL));
  return &listener;
}

// ---- the tracer's descriptor, for `xsp check` and XSP_TRACERS -------------------------------------------------------

static int tracer_start(const struct xsp_host *host)
{
  the_host = host;
  return 0;
}

const struct xsp_tracer *xsp_tracer_entry(const struct xsp_host *host)
{
  static const struct xsp_tracer tracer = {
      .size = sizeof tracer,
      .level_mask = XSP_LEVEL_MASK(XSP_LEVEL_MODEL) | XSP_LEVEL_MASK(XSP_LEVEL_LAYER),
      .name = "onnxruntime",
      .summary = "models and (1.25 or later) layers of ONNX Runtime, in C programs and in Python",
      .probe = onnxruntime_probe,
      .start = tracer_start,
  };
  return &tracer;
}
