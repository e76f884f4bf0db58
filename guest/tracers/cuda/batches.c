// SPDX-License-Identifier: Apache-2.0
// One batch is measured at a time on each device. A device's lock is held from the begin of a launch that is measured to its end:
// ranges have no names, so their order has to be that of the launches. It is held, too, while a kernel is launched that must not be
// repeated, so that no other thread begins to measure then. A launch waits for its kernel, and that may wait for
// another device's, so nothing of another device waits for this lock. Called by launches.c.
#include "tracers/cuda/batches.h"

#include "base/clock.h"
#include "base/scoped.h"
#include "tracers/cuda/metric_tags.h"
#include "tracers/device/tracks.h"

#include <pthread.h>
#include <stdlib.h>

#define CONTEXTS_MOST 64u
#define DEVICES_MOST 64u
#define PERIOD_NS UINT64_C(250000000) // what a SIGKILL may lose, besides the last launch

struct context {
  void *handle;    // atomic; NULL: destroyed. The structure is used again, for contexts of the same device
  uint32_t device; // never changes
  uint32_t id;
  struct ranges *ranges; // NULL: without metrics
  bool needs_ranges;     // it is new, or the next execution measures other metrics
  bool is_open;          // the range profiler is started
  struct batch_launch launches[RANGES_MOST];
  size_t launch_count, range_count;
};

static const struct cupti *cupti;
static struct ranges_wish wish;
static struct context *contexts[CONTEXTS_MOST]; // atomic
static pthread_mutex_t devices[DEVICES_MOST] = {[0 ... DEVICES_MOST - 1] = PTHREAD_MUTEX_INITIALIZER};
static pthread_mutex_t tables =
    PTHREAD_MUTEX_INITIALIZER;  // contexts' places; what is published. Taken last, for a short time
static uint64_t correlation_id; // unique in the process
struct batch_counts cuda_batch_counts;

void cuda_batches_start(const struct cupti *used, const struct ranges_wish *wanted)
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
    const double *values = is_matched ? cuda_ranges_values(context->ranges, range + i) : NULL;
    const struct cuda_metric_plan *plan = values == NULL ? NULL : cuda_ranges_plan(context->ranges);
    uint64_t start = launch->start;
    cuda_batch_counts.failed += is_matched && values == NULL;
    if (plan != NULL && plan->duration < plan->name_count && values[plan->duration] >= 0 &&
        values[plan->duration] < (double)(end - start))
      start = end - (uint64_t)values[plan->duration];
    struct xsp_site *site = launch->kernel != NULL ? launch->kernel : launch->kernels[i];
    const struct device_place place = {context->device, context->id, launch->stream, "stream", ""};
    struct xsp_span span = emit(site, XSP_KIND_EXECUTION, device_track_at(&place, start, end), start, end);
    if (plan != NULL)
      cuda_metric_tags(&span, plan, values);
    end = start;
  }
}

static void publish(struct context *context, const struct batch_launch *launch, size_t range, bool is_matched)
{
  correlation_id++;
  struct xsp_span span =
      emit(launch->call, XSP_KIND_LAUNCH, device_thread_track(launch->thread_id), launch->start, launch->end);
  if (launch->result != 0)
    xsp_span_tag_int(&span, "error", launch->result);
  publish_kernels(context, launch, range, is_matched);
}

// Under its device's lock.
static void end(struct context *context)
{
  size_t range = 0;
  if (context->launch_count == 0 && !context->is_open)
    return;
  bool is_matched = context->is_open && cuda_ranges_stop(context->ranges, context->range_count);
  pthread_mutex_lock(&tables);
  for (size_t i = 0; i < context->launch_count; i++) {
    const struct batch_launch *launch = &context->launches[i];
    publish(context, launch, range, is_matched && launch->is_measured);
    range += launch->is_measured ? launch->kernel_count : 0;
  }
  if (context->is_open && !is_matched)
    cuda_batch_counts.unmatched += range;
  pthread_mutex_unlock(&tables);
  context->is_open = false;
  context->launch_count = context->range_count = 0;
}

// ---- contexts
static struct context *at(size_t place)
{
  return __atomic_load_n(&contexts[place], __ATOMIC_ACQUIRE);
}

// NULL: those that were destroyed, of the device.
static struct context *find(const void *handle, uint32_t device)
{
  for (size_t i = 0; i < CONTEXTS_MOST && at(i) != NULL; i++)
    if (__atomic_load_n(&at(i)->handle, __ATOMIC_ACQUIRE) == handle && (handle != NULL || at(i)->device == device))
      return at(i);
  return NULL;
}

static struct context *make(uint32_t device)
{
  size_t place = 0;
  while (place < CONTEXTS_MOST && contexts[place] != NULL)
    place++;
  struct context *fresh = place < CONTEXTS_MOST && device < DEVICES_MOST ? calloc(1, sizeof *fresh) : NULL;
  if (fresh == NULL)
    return NULL;
  fresh->device = device;
  fresh->needs_ranges = true;
  __atomic_store_n(&contexts[place], fresh, __ATOMIC_RELEASE);
  return fresh;
}

static struct context *context_of(void *handle, uint32_t id)
{
  struct context *context = handle == NULL ? NULL : find(handle, 0);
  uint32_t device = 0;
  if (context != NULL || handle == NULL)
    return context;
  if (cupti->get_device_id == NULL || cupti->get_device_id(handle, &device) != CUPTI_OK)
    device = 0;
  SCOPED_LOCK(&tables);
  context = find(handle, 0);
  if (context == NULL && ((context = find(NULL, device)) != NULL || (context = make(device)) != NULL)) {
    context->id = id;
    __atomic_store_n(&context->handle, handle, __ATOMIC_RELEASE);
  }
  return context;
}

// ---- of one device, under its lock
static void end_others(uint32_t device, const struct context *but)
{
  for (size_t i = 0; i < CONTEXTS_MOST; i++)
    if (at(i) != NULL && at(i) != but && at(i)->device == device)
      end(at(i));
}

static void open_ranges(struct context *context)
{
  struct ranges_wish now = wish;
  now.execution = __atomic_load_n(&wish.execution, __ATOMIC_RELAXED);
  end(context);
  cuda_ranges_close(context->ranges);
  context->ranges = cuda_ranges_open(&now, context->handle, context->device);
  context->needs_ranges = false;
}

static bool is_due(const struct context *context)
{
  return context->launch_count == RANGES_MOST ||
         (context->launch_count > 0 && clock_now_ns(CLOCK_REALTIME) - context->launches[0].start >= PERIOD_NS);
}

static bool begin(struct context *context, size_t kernels)
{
  end_others(context->device, context); // CUPTI does not list a context's counters while another is measured
  if (context->needs_ranges)
    open_ranges(context);
  if (context->ranges == NULL || kernels > cuda_ranges_most(context->ranges))
    return false;
  if (is_due(context) || context->range_count + kernels > cuda_ranges_most(context->ranges))
    end(context);
  if (!context->is_open && !(context->is_open = cuda_ranges_start(context->ranges))) {
    cuda_ranges_close(context->ranges); // not tried again
    context->ranges = NULL;
  }
  return context->is_open;
}

bool cuda_batches_begin(void *handle, uint32_t id, size_t kernels)
{
  struct context *context = context_of(handle, id);
  if (context == NULL)
    return false;
  pthread_mutex_lock(&devices[context->device]);
  bool is_begun = begin(context, kernels);
  if (!is_begun)
    pthread_mutex_unlock(&devices[context->device]);
  return is_begun;
}

bool cuda_batches_exclude(void *handle, uint32_t id)
{
  struct context *context = context_of(handle, id);
  if (context == NULL)
    return false;
  pthread_mutex_lock(&devices[context->device]);
  end_others(context->device, NULL);
  return true;
}

void cuda_batches_release(void *handle, uint32_t id)
{
  pthread_mutex_unlock(&devices[context_of(handle, id)->device]);
}

void cuda_batches_add(void *handle, uint32_t id, const struct batch_launch *launch)
{
  struct context *context = context_of(handle, id);
  if (context == NULL)
    return;
  if (!launch->is_begun) {
    pthread_mutex_lock(&devices[context->device]);
  }
  if (!launch->is_measured && is_due(context))
    end(context);
  context->launches[context->launch_count++] = *launch;
  context->range_count += launch->is_measured ? launch->kernel_count : 0;
  if (launch->kernels != NULL)
    end(context);
  pthread_mutex_unlock(&devices[context->device]);
}

void cuda_batches_end(const void *handle)
{
  const struct context *context = handle == NULL ? NULL : find(handle, 0);
  if (context == NULL)
    return;
  SCOPED_LOCK(&devices[context->device]);
  end_others(context->device, NULL);
}

void cuda_batches_finish(void)
{
  __atomic_add_fetch(&wish.execution, 1, __ATOMIC_RELAXED);
  for (size_t i = 0; i < CONTEXTS_MOST; i++) {
    struct context *context = at(i);
    if (context == NULL)
      continue;
    SCOPED_LOCK(&devices[context->device]);
    end(context);
    context->needs_ranges |= context->ranges != NULL && cuda_ranges_plan(context->ranges)->groups > 1;
  }
}

void cuda_batches_forget(const void *handle)
{
  struct context *context = handle == NULL ? NULL : find(handle, 0);
  if (context == NULL)
    return;
  SCOPED_LOCK(&devices[context->device]);
  end(context);
  cuda_ranges_close(context->ranges);
  context->ranges = NULL;
  context->needs_ranges = true;
  __atomic_store_n(&context->handle, NULL, __ATOMIC_RELEASE);
}
