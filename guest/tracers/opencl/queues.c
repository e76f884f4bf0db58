// SPDX-License-Identifier: Apache-2.0
// Queues get CL_QUEUE_PROFILING_ENABLE added; whatever the program asks about its queues and events is answered as if it
// had not been. Called from the program's threads; a lookup takes no lock.
#include "tracers/opencl/objects.h"

#include "tracers/annotations/guest_table.h"
#include "tracers/opencl/calibrate.h"
#include "tracers/opencl/commands.h"
#include "tracers/opencl/drain.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct guest_map queues = {.capacity = UINT32_C(1) << 16};
static struct opencl_queue *all_queues[QUEUES_MOST]; // atomic, for opencl_queues_each
static uint32_t queue_count;                         // atomic
static struct opencl_device devices[DEVICES_MOST];

// ---- devices
// Another thread may be measuring its clock, for a millisecond; one that does not come back is not waited for.
static void wait_until_ready(const struct opencl_device *device)
{
  const struct timespec pause = {0, 100000};
  for (int i = 0; i < 2000 && __atomic_load_n(&device->is_ready, __ATOMIC_ACQUIRE) == 0; i++)
    nanosleep(&pause, NULL);
}

static struct opencl_device *device_of(cl_context context, cl_device_id handle)
{
  for (uint32_t i = 0; i < DEVICES_MOST; i++) {
    struct opencl_device *device = &devices[i];
    cl_device_id found = __atomic_load_n(&device->handle, __ATOMIC_ACQUIRE);
    if (found == NULL &&
        __atomic_compare_exchange_n(&device->handle, &found, handle, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
      device->number = i;
      if (opencl_next.clGetDeviceInfo(handle, CL_DEVICE_NAME, sizeof device->name - 1, device->name, NULL) !=
          CL_SUCCESS)
        snprintf(device->name, sizeof device->name, "OpenCL device %u", i);
      opencl_calibrate_device(device, context);
      __atomic_store_n(&device->is_ready, 1, __ATOMIC_RELEASE);
      return device;
    }
    if (found == handle) {
      wait_until_ready(device);
      return device;
    }
  }
  return &devices[DEVICES_MOST - 1]; // more than there is room for share the last
}

void opencl_devices_each(void (*with)(struct opencl_device *device))
{
  for (uint32_t i = 0; i < DEVICES_MOST; i++)
    if (__atomic_load_n(&devices[i].is_ready, __ATOMIC_ACQUIRE) != 0)
      with(&devices[i]);
}

void opencl_queues_each(void (*with)(struct opencl_queue *queue))
{
  for (uint32_t i = 0; i < QUEUES_MOST; i++) {
    struct opencl_queue *queue = __atomic_load_n(&all_queues[i], __ATOMIC_ACQUIRE);
    if (queue != NULL && __atomic_load_n(&queue->handle, __ATOMIC_ACQUIRE) != NULL)
      with(queue);
  }
}

// ---- making them known
static int64_t number_on(const struct opencl_device *device)
{
  static uint32_t numbers[DEVICES_MOST];
  return __atomic_add_fetch(&numbers[device - devices], 1, __ATOMIC_RELAXED);
}

// A record whose queue the program has released; its number and tracks go on with the new one.
static struct opencl_queue *released_record(cl_command_queue handle, const struct opencl_device *device)
{
  for (uint32_t i = 0; i < QUEUES_MOST; i++) {
    struct opencl_queue *queue = __atomic_load_n(&all_queues[i], __ATOMIC_ACQUIRE);
    cl_command_queue none = NULL;
    if (queue != NULL && queue->device == device &&
        __atomic_compare_exchange_n(&queue->handle, &none, handle, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
      return queue;
  }
  return NULL;
}

// A fresh record, or a used one once there are many: a program that makes queues for ever has few at a time.
static struct opencl_queue *record_for(cl_command_queue handle, struct opencl_device *device)
{
  struct opencl_queue *queue = NULL;
  if (__atomic_load_n(&queue_count, __ATOMIC_RELAXED) >= QUEUES_MOST)
    queue = released_record(handle, device);
  if (queue != NULL || (queue = calloc(1, sizeof *queue)) == NULL)
    return queue;
  queue->handle = handle;
  queue->device = device;
  queue->number = number_on(device);
  uint32_t place = __atomic_fetch_add(&queue_count, 1, __ATOMIC_RELAXED);
  if (place < QUEUES_MOST)
    __atomic_store_n(&all_queues[place], queue, __ATOMIC_RELEASE);
  return queue;
}

static void set_properties(struct opencl_queue *queue, const cl_queue_properties *properties)
{
  free(queue->properties);
  queue->properties = NULL;
  queue->property_count = 0;
  if (properties == NULL)
    return;
  uint32_t count = 0;
  while (properties[count] != 0)
    count += 2;
  queue->properties = malloc((count + 1) * sizeof *properties);
  if (queue->properties == NULL)
    return;
  memcpy(queue->properties, properties, (count + 1) * sizeof *properties);
  queue->property_count = count + 1;
}

static void know_queue(cl_command_queue handle, cl_context context, cl_device_id device_handle,
                       cl_command_queue_properties asked, cl_command_queue_properties given,
                       const cl_queue_properties *properties)
{
  int saved_errno = errno;
  struct opencl_device *device = device_of(context, device_handle);
  struct opencl_queue *queue = record_for(handle, device);
  if (queue == NULL)
    return;
  queue->added = given & ~asked;
  queue->removed = asked & ~given;
  queue->has_times = (given & CL_QUEUE_PROFILING_ENABLE) != 0;
  set_properties(queue, properties);
  __atomic_store_n(&queue->references, 1, __ATOMIC_RELAXED);
  guest_map_put(&queues, handle, queue);
  opencl_drain_at_exit();
  errno = saved_errno;
}

// Made by an extension's function or before this layer: it is as it is.
static struct opencl_queue *adopt(cl_command_queue handle)
{
  cl_device_id device = NULL;
  cl_context context = NULL;
  cl_command_queue_properties properties = 0;
  if (handle == NULL ||
      opencl_next.clGetCommandQueueInfo(handle, CL_QUEUE_DEVICE, sizeof device, &device, NULL) != CL_SUCCESS ||
      opencl_next.clGetCommandQueueInfo(handle, CL_QUEUE_CONTEXT, sizeof context, &context, NULL) != CL_SUCCESS ||
      opencl_next.clGetCommandQueueInfo(handle, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL) !=
          CL_SUCCESS)
    return NULL; // not a queue: the driver will report it
  know_queue(handle, context, device, properties, properties, NULL);
  return guest_map_get(&queues, handle);
}

struct opencl_queue *opencl_queue_of(cl_command_queue handle)
{
  struct opencl_queue *queue = guest_map_get(&queues, handle);
  return __builtin_expect(queue != NULL, 1) ? queue : adopt(handle);
}

static uint32_t make_track(const struct opencl_queue *queue, struct device_lane *lane, uint32_t number)
{
  char name[192];
  const struct opencl_device *device = queue->device;
  bool is_ready = __atomic_load_n(&device->is_ready, __ATOMIC_ACQUIRE) != 0;
  int length =
      snprintf(name, sizeof name, "%s queue %lld", is_ready ? device->name : "OpenCL device", (long long)queue->number);
  if (number > 0 && length > 0 && (size_t)length < sizeof name)
    snprintf(name + length, sizeof name - (size_t)length, " lane %u", number + 1);
  struct xsp_track_options options = {
      .size = sizeof options, .name = name, .device_id = device->number, .stream_id = queue->number};
  uint32_t made = xsp_track_create(&options), none = 0;
  return __atomic_compare_exchange_n(&lane->track, &none, made, false, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE) ? made
                                                                                                           : none;
}

uint16_t opencl_queue_track(struct opencl_queue *queue, uint64_t start, uint64_t end)
{
  uint32_t number = 0;
  struct device_lane *lane = device_lanes_take(&queue->lanes, start, end, &number);
  if (lane == NULL) {
    lane = __atomic_load_n(&queue->lanes.lane[0], __ATOMIC_ACQUIRE);
    if (lane == NULL)
      return 0;
  }
  uint32_t track = __atomic_load_n(&lane->track, __ATOMIC_ACQUIRE);
  return (uint16_t)(track != 0 ? track : make_track(queue, lane, number));
}

// ---- what the program calls
static cl_command_queue_properties given_for(cl_command_queue_properties asked)
{
  if (asked & CL_QUEUE_ON_DEVICE) // nothing of the host's runs there
    return asked;
  if (opencl_commands_serialize)
    asked &= ~(cl_command_queue_properties)CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
  return asked | CL_QUEUE_PROFILING_ENABLE;
}

cl_command_queue CL_API_CALL opencl_clCreateCommandQueue(cl_context context, cl_device_id device,
                                                         cl_command_queue_properties asked, cl_int *ret_error)
{
  cl_command_queue_properties given = given_for(asked);
  cl_command_queue queue = opencl_next.clCreateCommandQueue(context, device, given, ret_error);
  if (queue == NULL && given != asked) { // refused: then as the program wants it, and its own error
    given = asked;
    queue = opencl_next.clCreateCommandQueue(context, device, given, ret_error);
  }
  if (queue != NULL)
    know_queue(queue, context, device, asked, given, NULL);
  return queue;
}

#define PROPERTIES_MOST 64u // keys and values; a program that gives more has its queue as it is

cl_command_queue CL_API_CALL opencl_clCreateCommandQueueWithProperties(cl_context context, cl_device_id device,
                                                                       const cl_queue_properties *properties,
                                                                       cl_int *ret_error)
{
  cl_queue_properties changed[PROPERTIES_MOST + 3];
  cl_command_queue_properties asked = 0;
  uint32_t count = 0, place = PROPERTIES_MOST;
  for (; properties != NULL && properties[count] != 0 && count < PROPERTIES_MOST; count += 2) {
    changed[count] = properties[count];
    changed[count + 1] = properties[count + 1];
    if (properties[count] == CL_QUEUE_PROPERTIES) {
      asked = (cl_command_queue_properties)properties[count + 1];
      place = count;
    }
  }
  cl_command_queue_properties given = count < PROPERTIES_MOST ? given_for(asked) : asked;
  if (place == PROPERTIES_MOST) {
    place = count;
    changed[count++] = CL_QUEUE_PROPERTIES;
  } // else its value is replaced
  if (place == count - 1)
    count++;
  changed[place + 1] = (cl_queue_properties)given;
  changed[count] = 0;
  cl_command_queue queue = NULL;
  if (given != asked)
    queue = opencl_next.clCreateCommandQueueWithProperties(context, device, changed, ret_error);
  if (queue == NULL) {
    given = asked;
    queue = opencl_next.clCreateCommandQueueWithProperties(context, device, properties, ret_error);
  }
  if (queue != NULL)
    know_queue(queue, context, device, asked, given, properties);
  return queue;
}

cl_int CL_API_CALL opencl_clRetainCommandQueue(cl_command_queue handle)
{
  struct opencl_queue *queue = guest_map_get(&queues, handle);
  cl_int error = opencl_next.clRetainCommandQueue(handle);
  if (queue != NULL && error == CL_SUCCESS)
    __atomic_add_fetch(&queue->references, 1, __ATOMIC_RELAXED);
  return error;
}

cl_int CL_API_CALL opencl_clReleaseCommandQueue(cl_command_queue handle)
{
  struct opencl_queue *queue = guest_map_get(&queues, handle);
  // Before the call: another thread may be given this address as soon as it is free.
  if (queue != NULL && __atomic_sub_fetch(&queue->references, 1, __ATOMIC_RELAXED) == 0)
    __atomic_store_n(&queue->handle, NULL, __ATOMIC_RELEASE);
  return opencl_next.clReleaseCommandQueue(handle);
}

cl_int CL_API_CALL opencl_clGetCommandQueueInfo(cl_command_queue handle, cl_command_queue_info what, size_t size,
                                                void *value, size_t *ret_size)
{
  const struct opencl_queue *queue = guest_map_get(&queues, handle);
  if (queue == NULL || (queue->added | queue->removed) == 0)
    return opencl_next.clGetCommandQueueInfo(handle, what, size, value, ret_size);
  if (what == CL_QUEUE_PROPERTIES) {
    cl_command_queue_properties properties = 0;
    cl_int error = opencl_next.clGetCommandQueueInfo(handle, what, sizeof properties, &properties, NULL);
    properties = (properties & ~queue->added) | queue->removed;
    return error != CL_SUCCESS ? error : opencl_answer(&properties, sizeof properties, size, value, ret_size);
  }
  if (what == CL_QUEUE_PROPERTIES_ARRAY) { // the driver's own answer shows whether it knows the query
    cl_int error = opencl_next.clGetCommandQueueInfo(handle, what, 0, NULL, NULL);
    return error != CL_SUCCESS ? error
                               : opencl_answer(queue->properties, queue->property_count * sizeof *queue->properties,
                                               size, value, ret_size);
  }
  return opencl_next.clGetCommandQueueInfo(handle, what, size, value, ret_size);
}

cl_int CL_API_CALL opencl_clSetCommandQueueProperty(cl_command_queue handle, cl_command_queue_properties properties,
                                                    cl_bool enable, cl_command_queue_properties *ret_old)
{
  struct opencl_queue *queue = guest_map_get(&queues, handle);
  if (queue == NULL)
    return opencl_next.clSetCommandQueueProperty(handle, properties, enable, ret_old);
  cl_command_queue_properties kept = queue->has_times ? CL_QUEUE_PROFILING_ENABLE : 0; // not to be switched off
  cl_int error =
      opencl_next.clSetCommandQueueProperty(handle, enable ? properties : properties & ~kept, enable, ret_old);
  if (error != CL_SUCCESS)
    return error;
  if (ret_old != NULL)
    *ret_old = (*ret_old & ~queue->added) | queue->removed;
  if (enable)
    queue->added &= ~properties;
  else
    queue->added |= properties & kept;
  return error;
}

cl_int CL_API_CALL opencl_clGetEventProfilingInfo(cl_event event, cl_profiling_info what, size_t size, void *value,
                                                  size_t *ret_size)
{
  cl_command_queue handle = NULL;
  if (opencl_next.clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof handle, &handle, NULL) == CL_SUCCESS) {
    const struct opencl_queue *queue = guest_map_get(&queues, handle);
    if (queue != NULL && (queue->added & CL_QUEUE_PROFILING_ENABLE))
      return CL_PROFILING_INFO_NOT_AVAILABLE;
  }
  return opencl_next.clGetEventProfilingInfo(event, what, size, value, ret_size);
}
