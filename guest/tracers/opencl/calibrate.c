// SPDX-License-Identifier: Apache-2.0
// Readings of a device's clock between two of the session's. Before the first command of a device: markers on a queue of
// our own, the closest first. If they show that the device's clock is one of the host's (on CPUs it is), that one is read
// from then on. Else the time at which each command was queued is an observation, and the device's timer is read.
#include "tracers/opencl/calibrate.h"

#include "base/clock.h"
#include "tracers/device/host_clock.h"

#define MARKERS 24
#define TIMER_INTERVAL_NS 100e6
#define HOST_CLOCK_INTERVAL_NS 10e6
#define RATE_ERROR_OF_HOST_CLOCK 5e-5 // of what start measured over milliseconds; then it is measured again
#define RATE_ERROR_LEAST_OF_RAW 1e-7  // nobody steers it: the same counter as our ticks, in other units

static const clockid_t host_clocks[] = {CLOCK_MONOTONIC_RAW, CLOCK_MONOTONIC, CLOCK_REALTIME, CLOCK_BOOTTIME};
#define HOST_CLOCKS (sizeof host_clocks / sizeof host_clocks[0])

static cl_command_queue make_queue(cl_context context, cl_device_id device)
{
  cl_int error = CL_SUCCESS;
  const cl_queue_properties properties[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
  cl_command_queue queue = NULL;
  if (opencl_next.clCreateCommandQueueWithProperties != NULL)
    queue = opencl_next.clCreateCommandQueueWithProperties(context, device, properties, &error);
  if (queue == NULL && opencl_next.clCreateCommandQueue != NULL)
    queue = opencl_next.clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, &error);
  return queue;
}

struct marker {
  struct clock_observation seen;
  uint64_t before_ns[HOST_CLOCKS], after_ns[HOST_CLOCKS];
};

static cl_int enqueue_marker(cl_command_queue queue, cl_event *ret_event)
{
  if (opencl_next.clEnqueueMarkerWithWaitList != NULL)
    return opencl_next.clEnqueueMarkerWithWaitList(queue, 0, NULL, ret_event);
  return opencl_next.clEnqueueMarker == NULL ? CL_INVALID_OPERATION : opencl_next.clEnqueueMarker(queue, ret_event);
}

static bool read_marker(cl_command_queue queue, struct marker *ret_marker)
{
  cl_event event = NULL;
  cl_ulong queued = 0;
  for (uint32_t i = 0; i < HOST_CLOCKS; i++)
    ret_marker->before_ns[i] = clock_now_ns(host_clocks[i]);
  uint64_t before = xsp_clock_ticks();
  cl_int error = enqueue_marker(queue, &event);
  uint64_t after = xsp_clock_ticks();
  for (uint32_t i = 0; i < HOST_CLOCKS; i++)
    ret_marker->after_ns[i] = clock_now_ns(host_clocks[i]);
  if (error != CL_SUCCESS || event == NULL)
    return false;
  error = opencl_next.clWaitForEvents(1, &event);
  if (error == CL_SUCCESS)
    error = opencl_next.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_QUEUED, sizeof queued, &queued, NULL);
  opencl_next.clReleaseEvent(event);
  ret_marker->seen = (struct clock_observation){queued, before, queued, after};
  return error == CL_SUCCESS && queued != 0;
}

// The host's clock whose readings enclose the device's time at each marker: with windows of microseconds in a range of
// years that is not an accident.
static bool find_host_clock(const struct marker *markers, uint32_t count, clockid_t *ret_clock)
{
  for (uint32_t clock = 0; clock < HOST_CLOCKS; clock++) {
    uint32_t agree = 0;
    for (uint32_t i = 0; i < count; i++)
      agree += markers[i].before_ns[clock] <= markers[i].seen.device_low &&
               markers[i].seen.device_low <= markers[i].after_ns[clock];
    if (count >= MARKERS / 2 && agree == count) {
      *ret_clock = host_clocks[clock];
      return true;
    }
  }
  return false;
}

static void measure(struct opencl_device *device, cl_command_queue queue)
{
  struct marker markers[MARKERS];
  uint32_t count = 0, best = 0;
  while (count < MARKERS && read_marker(queue, &markers[count])) {
    const struct clock_observation *seen = &markers[count].seen, *least = &markers[best].seen;
    if (seen->ticks_high - seen->ticks_low < least->ticks_high - least->ticks_low)
      best = count;
    count++;
  }
  device->has_host_clock = find_host_clock(markers, count, &device->host_clock);
  if (device->has_host_clock) {
    struct clock_observation seen = host_clock_read(device->host_clock);
    device_clock_start(&device->clock, device->clock.first_rate, RATE_ERROR_OF_HOST_CLOCK,
                       device->host_clock == CLOCK_MONOTONIC_RAW ? RATE_ERROR_LEAST_OF_RAW : RATE_ERROR_LEAST);
    device_clock_observe(&device->clock, &seen);
    return;
  }
  for (uint32_t i = best; i < count; i++)
    device_clock_observe(&device->clock, &markers[i].seen);
}

void opencl_calibrate_device(struct opencl_device *device, cl_context context)
{
  device_clock_start(&device->clock, host_clock_rate(), RATE_ERROR_FIRST, RATE_ERROR_LEAST);
  cl_ulong device_ns = 0, host_ns = 0;
  device->has_timer = opencl_next.clGetDeviceAndHostTimer != NULL &&
                      opencl_next.clGetDeviceAndHostTimer(device->handle, &device_ns, &host_ns) == CL_SUCCESS;
  cl_command_queue queue = make_queue(context, device->handle);
  if (queue == NULL)
    return; // the first command's own times will do
  measure(device, queue);
  opencl_next.clReleaseCommandQueue(queue);
}

// True for one thread at a time, when the last reading is old.
static bool is_due(struct opencl_device *device, uint64_t now_ticks, double interval_ns)
{
  uint64_t asked = __atomic_load_n(&device->asked_ticks, __ATOMIC_RELAXED);
  return now_ticks > asked && (double)(now_ticks - asked) >= interval_ns * device->clock.first_rate &&
         __atomic_compare_exchange_n(&device->asked_ticks, &asked, now_ticks, false, __ATOMIC_RELAXED,
                                     __ATOMIC_RELAXED);
}

void opencl_calibrate_by_timer(struct opencl_device *device, uint64_t now_ticks)
{
  if (!device->has_timer || device->has_host_clock || !is_due(device, now_ticks, TIMER_INTERVAL_NS))
    return;
  cl_ulong device_ns = 0, host_ns = 0;
  uint64_t before = xsp_clock_ticks();
  if (opencl_next.clGetDeviceAndHostTimer(device->handle, &device_ns, &host_ns) != CL_SUCCESS)
    return;
  const struct clock_observation seen = {device_ns, before, device_ns, xsp_clock_ticks()};
  device_clock_observe(&device->clock, &seen);
}

void opencl_calibrate_by_host_clock(struct opencl_device *device, uint64_t now_ticks)
{
  if (!device->has_host_clock || !is_due(device, now_ticks, HOST_CLOCK_INTERVAL_NS))
    return;
  const struct clock_observation seen = host_clock_read(device->host_clock);
  device_clock_observe(&device->clock, &seen);
}
