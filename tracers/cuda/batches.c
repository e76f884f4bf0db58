// SPDX-License-Identifier: Apache-2.0
// One batch is measured at a time on each device. Launches of metrics runs come from callbacks, not from records of CUPTI: those
// have the times of repetitions. Called by launches.c.
#include "tracers/cuda/batches.h"

#include "base/clock.h"
#include "tracers/cuda/metric_tags.h"
#include "tracers/device/tracks.h"

#include <stdlib.h>

#define CONTEXTS_MOST 64u
#define PERIOD_NS UINT64_C(250000000) // what a SIGKILL may lose, besides the last launch

struct context {
  void *handle; // NULL: free
  uint32_t id, device;
  struct ranges *ranges;     // NULL: without metrics
  bool is_open;              // the range profiler is started
  bool is_of_last_execution; // other metrics are next
  struct batch_launch launches[RANGES_MOST];
  size_t launch_count, range_count;
};

static const struct cupti *cupti;
static struct ranges_wish wish;
static struct context *contexts[CONTEXTS_MOST];
static uint64_t correlation_id; // unique in the process
struct batch_counts batch_counts;

void batches_start(const struct cupti *used, const struct ranges_wish *wanted)
{
  cupti = used;
  wish = *wanted;
}

// ---- spans
static struct xsp_span emit(struct xsp_site *site, enum xsp_kind kind, uint16_t track, uint64_t start, uint64_t end)
{
  struct xsp_interval interval = {.size = sizeof interval,
                                  .track = track,
                                  .kind = (uint8_t)kind,
                                  .clock = XSP_CLOCK_REALTIME,
                                  .start = start,
                                  .end = end,
                                  .correlation_id = correlation_id};
  return xsp_span_emit(site, &interval);
}

// The kernel ended when the call did, and began as much before as it ran, if that was measured.
static void publish_kernels(struct context *context, const struct batch_launch *launch, size_t range, bool is_matched)
{
  uint64_t end = launch->end;
  for (size_t i = launch->kernel_count; i-- > 0;) {
    const double *values = is_matched ? ranges_values(context->ranges, range + i) : NULL;
    const struct metric_plan *plan = values == NULL ? NULL : ranges_plan(context->ranges);
    uint64_t start = launch->start;
    batch_counts.failed += is_matched && values == NULL;
    if (plan != NULL && plan->duration < plan->name_count && values[plan->duration] >= 0 &&
        values[plan->duration] < (double)(end - start))
      start = end - (uint64_t)values[plan->duration];
    struct xsp_site *site = launch->kernel != NULL ? launch->kernel : launch->kernels[i];
    const struct device_place place = {context->device, context->id, launch->stream, "stream", ""};
    struct xsp_span span = emit(site, XSP_KIND_EXECUTION, device_track_at(&place, start, end), start, end);
    if (plan != NULL)
      metric_tags(&span, plan, values);
    end = start;
  }
}

static void publish(struct context *context, const struct batch_launch *launch, size_t range, bool is_matched)
{
  correlation_id++;
  struct xsp_span span =
      emit(launch->call, XSP_KIND_LAUNCH, thread_track(launch->thread_id), launch->start, launch->end);
  if (launch->result != 0)
    xsp_span_tag_int(&span, "error", launch->result);
  publish_kernels(context, launch, range, is_matched);
}

static void end(struct context *context)
{
  size_t range = 0;
  bool is_matched = context->is_open && ranges_stop(context->ranges, context->range_count);
  for (size_t i = 0; i < context->launch_count; i++) {
    const struct batch_launch *launch = &context->launches[i];
    publish(context, launch, range, is_matched && launch->is_measured);
    range += launch->is_measured ? launch->kernel_count : 0;
  }
  if (context->is_open && !is_matched)
    batch_counts.unmatched += range;
  context->is_open = false;
  context->launch_count = context->range_count = 0;
}

// ---- contexts
static struct context *find(const void *handle)
{
  for (size_t i = 0; i < CONTEXTS_MOST; i++)
    if (contexts[i] != NULL && contexts[i]->handle == handle)
      return contexts[i];
  return NULL;
}

static void open_ranges(struct context *context)
{
  batches_end(); // CUPTI does not say which counters there are while some are in use
  ranges_close(context->ranges);
  context->ranges = ranges_open(&wish, context->handle, context->device);
  context->is_of_last_execution = false;
}

static struct context *add(void *handle, uint32_t id)
{
  size_t place = 0;
  while (place < CONTEXTS_MOST && contexts[place] != NULL)
    place++;
  struct context *fresh = place < CONTEXTS_MOST ? calloc(1, sizeof *fresh) : NULL;
  if (fresh == NULL)
    return NULL;
  fresh->handle = handle;
  fresh->id = id;
  if (cupti->get_device_id == NULL || cupti->get_device_id(handle, &fresh->device) != CUPTI_OK)
    fresh->device = 0;
  open_ranges(fresh);
  return contexts[place] = fresh;
}

static struct context *context_of(void *handle, uint32_t id)
{
  struct context *known = find(handle);
  if (known == NULL)
    return handle == NULL ? NULL : add(handle, id);
  if (known->is_of_last_execution)
    open_ranges(known);
  return known;
}

static bool is_due(const struct context *context)
{
  return context->launch_count == RANGES_MOST ||
         (context->launch_count > 0 && clock_now_ns(CLOCK_REALTIME) - context->launches[0].start >= PERIOD_NS);
}

bool batches_begin(void *handle, uint32_t id, size_t kernels)
{
  struct context *context = context_of(handle, id);
  if (context == NULL || context->ranges == NULL || kernels > ranges_most(context->ranges))
    return false;
  for (size_t i = 0; i < CONTEXTS_MOST; i++)
    if (contexts[i] != NULL && contexts[i]->is_open && contexts[i] != context && contexts[i]->device == context->device)
      end(contexts[i]);
  if (is_due(context) || context->range_count + kernels > ranges_most(context->ranges))
    end(context);
  if (!context->is_open && !(context->is_open = ranges_start(context->ranges))) {
    ranges_close(context->ranges); // said once
    context->ranges = NULL;
  }
  return context->is_open;
}

void batches_add(void *handle, uint32_t id, const struct batch_launch *launch)
{
  struct context *context = context_of(handle, id);
  if (context == NULL)
    return;
  if (!launch->is_measured && is_due(context)) // else batches_begin has looked
    end(context);
  context->launches[context->launch_count++] = *launch;
  context->range_count += launch->is_measured ? launch->kernel_count : 0;
}

void batches_end(void)
{
  for (size_t i = 0; i < CONTEXTS_MOST; i++)
    if (contexts[i] != NULL)
      end(contexts[i]);
}

void batches_next(void)
{
  wish.execution++;
  for (size_t i = 0; i < CONTEXTS_MOST; i++)
    if (contexts[i] != NULL && contexts[i]->ranges != NULL)
      contexts[i]->is_of_last_execution = ranges_plan(contexts[i]->ranges)->groups > 1;
}

void batches_forget(void *handle)
{
  struct context *context = find(handle);
  if (context == NULL)
    return;
  end(context);
  ranges_close(context->ranges);
  for (size_t i = 0; i < CONTEXTS_MOST; i++)
    if (contexts[i] == context)
      contexts[i] = NULL;
  free(context);
}
