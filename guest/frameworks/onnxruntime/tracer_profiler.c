// SPDX-License-Identifier: Apache-2.0
// Events of ONNX Runtime become layer spans; see tracer_profiler.h. Called on the threads that execute nodes.
// A guest: no lock, no allocation while nodes run, no output, and no failure that a session could see.
#include "frameworks/onnxruntime/tracer_profiler.h"

#include "frameworks/onnxruntime/layers.h"
#include <xsp/tracer.h>

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

// One per session, or per inference where single inferences are profiled.
struct listener_profiler {
  struct ort_profiler profiler; // first
  const struct runtime *runtime;
  const void *thread;       // that began the inference: its stack of open nodes
  struct xsp_context model; // what layers on other threads are children of
};

static __thread struct xsp_context current_model;
static uint64_t own_ticks_total; // read by the runner around each inference

XSP_API uint64_t xsp_listener_own_ticks(void);

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
  struct xsp_site *site = ort_layers_find(&key);
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
  return ort_layers_add(&key, &facts);
}

static struct ort_status *start_event(struct ort_profiler *profiler, uint64_t event_id)
{
  uint64_t entered = xsp_clock_ticks();
  uint32_t depth = open_nodes.depth++;
  if (depth < DEPTH_MAXIMUM) {
    struct open_node *node = &open_nodes.nodes[depth];
    xsp_count(depth);
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
  xsp_count(XSP_COUNT_PLACES - 1);
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
    struct xsp_span span = xsp_span_emit(site_of(listener->runtime, event, name), &interval);
    xsp_count_tag(&span, depth, XSP_COUNT_PLACES - 1);
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

void profiler_start_clock(void)
{
  if (first_reading.ns == 0)
    first_reading = take_reading();
}

void profiler_set_model(struct xsp_context model)
{
  current_model = model;
}

struct ort_status *profiler_create(const struct runtime *runtime, struct ort_profiler **ret_profiler)
{
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
