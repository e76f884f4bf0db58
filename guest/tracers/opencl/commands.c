// SPDX-License-Identifier: Apache-2.0
// Launch and execution of a command. The launch is a span on the calling thread; the execution is published on the
// driver's thread that reports the completion. Neither takes a lock, and neither allocates once the pool has its size.
#include "tracers/opencl/commands.h"

#include "tracers/device/call_event.h"
#include "tracers/opencl/calibrate.h"
#include "tracers/opencl/drain.h"
#include "tracers/opencl/serial.h"

#include <errno.h>

// Above the 32-bit numbers of other tracers in the process, below 2^40, up to which collect keeps ids as they are.
#define CORRELATION_BASE (UINT64_C(1) << 33)

struct command_name {
  const char *function, *execution, *category, *copy_kind;
};
#define NAME_ROW(function_, ...) [COMMAND_##function_] = {#function_, __VA_ARGS__},
static const struct command_name command_names[COMMAND_KINDS] = {LAYER_COMMANDS(NAME_ROW)};

static struct xsp_site launch_sites[COMMAND_KINDS];
bool opencl_commands_serialize;
const volatile uint32_t *opencl_commands_levels = &xsp_unregistered_v1;
static struct xsp_site execution_sites[COMMAND_KINDS];
struct command_counts opencl_command_counts;

static struct xsp_site make_site(const char *name, const char *category)
{
  return (struct xsp_site){.size = sizeof(struct xsp_site),
                           .mask = XSP_LEVEL_MASK(XSP_LEVEL_KERNEL),
                           .levels = &xsp_unregistered_v1,
                           .level = XSP_LEVEL_KERNEL,
                           .name = name,
                           .category = category,
                           .tracer = OPENCL_TRACER};
}

void opencl_commands_start(void)
{
  const struct xsp_site *any = xsp_site_create(OPENCL_TRACER, XSP_LEVEL_KERNEL, "clEnqueueNDRangeKernel", "api");
  if (any != NULL) // its switches are those of all our sites
    opencl_commands_levels = any->levels;
  for (int kind = 0; kind < COMMAND_KINDS; kind++) {
    const struct command_name *name = &command_names[kind];
    launch_sites[kind] = make_site(name->function, "api");
    execution_sites[kind] = make_site(name->execution, name->category);
    if (name->copy_kind != NULL)
      xsp_site_tag_string(&execution_sites[kind], "copy_kind", name->copy_kind);
  }
}

static void count(uint64_t *counter)
{
  __atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
}

// ---- completion, on the driver's threads
static uint64_t event_time(cl_event event, cl_profiling_info what)
{
  cl_ulong ns = 0;
  cl_int error = opencl_next.clGetEventProfilingInfo(event, what, sizeof ns, &ns, NULL);
  return error == CL_SUCCESS ? ns : 0;
}

static void tag_execution(const struct enqueued *enqueued, const struct xsp_span *span)
{
  char text[SHAPE_TEXT_SIZE];
  if (enqueued->bytes != BYTES_UNKNOWN)
    xsp_span_tag_int(span, "bytes", (int64_t)enqueued->bytes);
  if (enqueued->shape.dimensions == 0)
    return;
  opencl_launch_shape_text(enqueued->shape.global, text);
  xsp_span_tag_string(span, enqueued->shape_is_region ? "region" : "grid", text);
  if (enqueued->shape.has_local) {
    opencl_launch_shape_text(enqueued->shape.local, text);
    xsp_span_tag_string(span, "block", text);
  }
}

static void note_error(struct opencl_device *device, double error_ns)
{
  uint64_t error = (uint64_t)error_ns + 1, known = __atomic_load_n(&device->error_ns, __ATOMIC_RELAXED);
  while (error > known &&
         !__atomic_compare_exchange_n(&device->error_ns, &known, error, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    ;
}

static void publish(const struct enqueued *enqueued, cl_event event)
{
  uint64_t now = xsp_clock_ticks();
  uint64_t queued = event_time(event, CL_PROFILING_COMMAND_QUEUED);
  uint64_t start = event_time(event, CL_PROFILING_COMMAND_START);
  uint64_t end = event_time(event, CL_PROFILING_COMMAND_END);
  if (start == 0 || end < start) {
    count(&opencl_command_counts.without_times);
    return;
  }
  struct opencl_device *device = enqueued->queue->device;
  struct device_clock *clock = &device->clock;
  struct xsp_interval interval = {.size = sizeof interval,
                                  .kind = XSP_KIND_EXECUTION,
                                  .clock = XSP_CLOCK_TICKS,
                                  .correlation_id = enqueued->correlation_id};
  double start_error = 0, end_error = 0;
  opencl_calibrate_by_host_clock(device, now);
  if (queued != 0 && queued <= start)
    device_clock_observe(clock, &(struct clock_observation){queued, enqueued->before, queued, enqueued->after});
  interval.end = device_clock_ticks(clock, end, &end_error);
  // Where the device did not note when it was queued, or its clock has moved since: it ran between call and callback.
  if (queued == 0 || queued > start || interval.end > now) {
    device_clock_observe(clock, &(struct clock_observation){start, enqueued->before, end, now});
    interval.end = device_clock_ticks(clock, end, &end_error);
  }
  interval.start = device_clock_ticks(clock, start, &start_error);
  if (interval.end < interval.start) // a correction is between the two
    interval.end = interval.start;
  note_error(device, start_error > end_error ? start_error : end_error);
  interval.track = opencl_queue_track(enqueued->queue, interval.start, interval.end);
  struct xsp_span span = xsp_span_emit(enqueued->site, &interval);
  if (span.start != 0)
    tag_execution(enqueued, &span);
}

static void CL_CALLBACK completed(cl_event event, cl_int status, void *data)
{
  int saved_errno = errno;
  struct opencl_pending *pending = data;
  if (status == CL_COMPLETE)
    publish(&pending->enqueued, event);
  else
    count(&opencl_command_counts.failed);
  if (pending->enqueued.injected != NULL)
    opencl_next.clReleaseEvent(pending->enqueued.injected);
  if (!pending->is_awaited || !opencl_serial_report(pending))
    opencl_pending_give(pending);
  opencl_drain_finished();
  errno = saved_errno;
}

// ---- launch, on the program's threads
static cl_event *begin(struct command *command, struct xsp_site *launch, struct xsp_site *execution,
                       cl_command_queue queue, cl_event *event)
{
  command->event = event;
  command->is_watched = false;
  if (opencl_commands_serialize)
    opencl_serial_enter();
  command->launch = launch;
  command->span = xsp_span_start(launch);
  device_call_event(XSP_PHASE_BEGIN, launch, &command->span);
  if (command->span.start == 0 && !opencl_commands_serialize)
    return event;
  command->is_watched = true;
  struct enqueued *enqueued = &command->enqueued;
  *enqueued = (struct enqueued){.queue = opencl_queue_of(queue)};
  if (event == NULL && enqueued->queue != NULL && (enqueued->queue->has_times || opencl_commands_serialize))
    command->event = &enqueued->injected;
  if (command->span.start != 0) {
    enqueued->site = execution;
    enqueued->correlation_id =
        CORRELATION_BASE + __atomic_fetch_add(&opencl_command_counts.launches, 1, __ATOMIC_RELAXED);
    xsp_span_correlate(&command->span, XSP_KIND_LAUNCH, enqueued->correlation_id);
  }
  enqueued->before = xsp_clock_ticks();
  return command->event;
}

cl_event *opencl_command_begin(struct command *command, enum command_kind kind, cl_command_queue queue, cl_event *event)
{
  int saved_errno = errno;
  cl_event *to_driver = begin(command, &launch_sites[kind], &execution_sites[kind], queue, event);
  errno = saved_errno;
  return to_driver;
}

cl_event *opencl_command_begin_kernel(struct command *command, enum command_kind kind, cl_command_queue queue,
                                      struct opencl_kernel *kernel, const struct launch_shape *shape, cl_event *event)
{
  int saved_errno = errno;
  bool has_tags = true;
  struct xsp_site *site = opencl_kernel_site(kernel, shape, &has_tags);
  struct xsp_site *launch =
      kind == COMMAND_clEnqueueNDRangeKernel && kernel->launch != NULL ? kernel->launch : &launch_sites[kind];
  cl_event *to_driver = begin(command, launch, site, queue, event);
  if (!has_tags && command->is_watched)
    command->enqueued.shape = *shape;
  errno = saved_errno;
  return to_driver;
}

// True where `completed` will be called for the command; it may have been, then.
static bool follow(const struct command *command)
{
  struct opencl_pending *pending = opencl_pending_take();
  if (pending == NULL) {
    count(&opencl_command_counts.lost);
    return false;
  }
  pending->enqueued = command->enqueued;
  pending->is_awaited = opencl_commands_serialize;
  __atomic_store_n(&pending->state, PENDING_RUNNING, __ATOMIC_RELAXED);
  opencl_drain_started();
  if (opencl_next.clSetEventCallback(*command->event, CL_COMPLETE, completed, pending) != CL_SUCCESS) {
    opencl_drain_finished();
    opencl_pending_give(pending);
    count(&opencl_command_counts.lost);
    return false;
  }
  if (opencl_commands_serialize)
    opencl_serial_wait(pending, command->enqueued.queue->handle);
  return true;
}

static void end_watched(struct command *command, cl_int error, uint64_t bytes)
{
  struct enqueued *enqueued = &command->enqueued;
  enqueued->after = xsp_clock_ticks();
  enqueued->bytes = bytes;
  if (error != CL_SUCCESS)
    xsp_span_tag_int(&command->span, "error", error);
  device_call_event(XSP_PHASE_END, command->launch, &command->span);
  xsp_span_finish(&command->span);
  if (error != CL_SUCCESS || enqueued->queue == NULL)
    return;
  if (!enqueued->queue->has_times && !opencl_commands_serialize) {
    count(&opencl_command_counts.without_times);
    return;
  }
  bool is_followed = false;
  if (command->event == NULL || *command->event == NULL || opencl_next.clSetEventCallback == NULL)
    count(&opencl_command_counts.lost);
  else
    is_followed = follow(command);
  if (!is_followed && enqueued->injected != NULL)
    opencl_next.clReleaseEvent(enqueued->injected);
  opencl_calibrate_by_timer(enqueued->queue->device, enqueued->after);
}

cl_int opencl_command_end(struct command *command, cl_int error, uint64_t bytes)
{
  if (command->is_watched) {
    int saved_errno = errno;
    end_watched(command, error, bytes);
    errno = saved_errno;
  }
  if (opencl_commands_serialize)
    opencl_serial_leave();
  return error;
}
