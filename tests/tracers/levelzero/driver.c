// SPDX-License-Identifier: Apache-2.0
// The driver as the loader sees it: its devices, contexts and events.

#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct levelzero_device sim_devices[DEVICES] = {{0}, {1}};
static int the_driver;
static bool is_up, was_up;
static pid_t owner;

// ---- the driver and its devices
API(init, ze_init_flags_t flags)
{
  if (!is_up)
    sim_start();
  is_up = was_up = true;
  owner = getpid();
  return OK;
}

__attribute__((destructor)) static void down(void)
{
  if (is_up && owner == getpid()) // a fork's child has no thread to stop
    sim_stop();
  is_up = false;
}

static void check_up(void)
{
  if (was_up && !is_up)
    sim_violation("a call after the driver's end");
  if (was_up && owner != getpid())
    sim_violation("a call in a fork's child");
}

API(driver_get, uint32_t *count, ze_driver_handle_t *drivers)
{
  if (*count > 0 && drivers != NULL)
    drivers[0] = (ze_driver_handle_t)&the_driver;
  *count = 1;
  return OK;
}

API(device_get, ze_driver_handle_t driver, uint32_t *count, ze_device_handle_t *handles)
{
  for (uint32_t i = 0; i < *count && i < DEVICES && handles != NULL; i++)
    handles[i] = (ze_device_handle_t)&sim_devices[i];
  *count = DEVICES;
  return OK;
}

API(device_properties, ze_device_handle_t device, ze_device_properties_t *properties)
{
  if (properties->stype != ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2)
    return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  properties->type = ZE_DEVICE_TYPE_GPU;
  properties->flags = 0;
  properties->timerResolution = FREQUENCY;
  properties->timestampValidBits = 64;
  properties->kernelTimestampValidBits = KERNEL_BITS;
  snprintf(properties->name, sizeof properties->name, "Simulated GPU %c",
           'A' + (int)((struct levelzero_device *)device)->number);
  return OK;
}

API(device_groups, ze_device_handle_t device, uint32_t *count, ze_command_queue_group_properties_t *groups)
{
  for (uint32_t i = 0; i < *count && i < 2 && groups != NULL; i++) {
    groups[i].flags =
        ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY | (i == 0 ? ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE : 0);
    groups[i].numQueues = 4;
  }
  *count = 2;
  return OK;
}

API(device_timestamps, ze_device_handle_t device, uint64_t *host, uint64_t *cycles)
{
  *host = sim_now();
  *cycles = sim_cycles(*host);
  return OK;
}

API(context_create, ze_driver_handle_t driver, const ze_context_desc_t *desc, ze_context_handle_t *ret)
{
  *ret = calloc(1, sizeof(struct levelzero_context));
  return OK;
}

API(context_destroy, ze_context_handle_t handle)
{
  struct levelzero_context *context = (struct levelzero_context *)handle;
  if (context->pools != 0 || context->lists != 0 || context->allocations != 0)
    sim_violation("a context is destroyed that has pools of events, lists or memory");
  free(context);
  return OK;
}

// ---- events
API(pool_create, ze_context_handle_t context, const ze_event_pool_desc_t *desc, uint32_t count,
    ze_device_handle_t *list, ze_event_pool_handle_t *ret)
{
  struct pool *pool = calloc(1, sizeof *pool);
  *pool = (struct pool){(struct levelzero_context *)context, desc->flags, 0};
  LOCK;
  pool->context->pools++;
  UNLOCK;
  *ret = (ze_event_pool_handle_t)pool;
  return OK;
}

API(pool_destroy, ze_event_pool_handle_t handle)
{
  struct pool *pool = (struct pool *)handle;
  LOCK;
  if (pool->events != 0)
    sim_violation("a pool is destroyed that has events");
  pool->context->pools--;
  UNLOCK;
  free(pool);
  return OK;
}

// Another process's pool; here it is this one's.
API(pool_handle, ze_event_pool_handle_t pool, ze_ipc_event_pool_handle_t *ret)
{
  memcpy(ret->data, &pool, sizeof pool);
  return OK;
}

API(pool_open, ze_context_handle_t context, ze_ipc_event_pool_handle_t handle, ze_event_pool_handle_t *ret)
{
  const struct pool *pool;
  memcpy(&pool, handle.data, sizeof pool);
  const ze_event_pool_desc_t desc = {.flags = pool->flags};
  return pool_create(context, &desc, 0, NULL, ret);
}

API(event_create, ze_event_pool_handle_t pool, const ze_event_desc_t *desc, ze_event_handle_t *ret)
{
  struct event *event = calloc(1, sizeof *event);
  event->pool = (struct pool *)pool;
  LOCK;
  event->pool->events++;
  UNLOCK;
  *ret = (ze_event_handle_t)event;
  return OK;
}

API(event_destroy, ze_event_handle_t handle)
{
  struct event *event = (struct event *)handle;
  LOCK;
  if (event->users != 0)
    sim_violation("an event is destroyed that commands in flight use");
  event->pool->events--;
  UNLOCK;
  if (event->is_counter)
    pool_destroy((ze_event_pool_handle_t)event->pool);
  free(event);
  return OK;
}

// Intel's extension: an event with a counter, by 16 in its flags with times.
struct counter_desc {
  uint32_t type;
  const void *next;
  uint32_t flags, signal, wait;
};
API(counter_create, ze_context_handle_t context, ze_device_handle_t device, const struct counter_desc *desc,
    ze_event_handle_t *ret)
{
  const ze_event_pool_desc_t pool_desc = {.flags = desc->flags & 16 ? ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP : 0};
  ze_event_pool_handle_t pool;
  pool_create(context, &pool_desc, 0, NULL, &pool);
  event_create(pool, NULL, ret);
  ((struct event *)*ret)->is_counter = true;
  return OK;
}

API(driver_extension, ze_driver_handle_t driver, const char *name, void **ret)
{
  if (strcmp(name, "zexCounterBasedEventCreate2") != 0)
    return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  *ret = (void *)counter_create;
  return OK;
}

API(event_status, ze_event_handle_t event)
{
  check_up();
  LOCK;
  bool is_signalled = ((struct event *)event)->is_signalled;
  UNLOCK;
  return is_signalled ? OK : ZE_RESULT_NOT_READY;
}

API(event_wait, ze_event_handle_t event, uint64_t timeout)
{
  check_up();
  LOCK;
  bool is_signalled = sim_wait(&((struct event *)event)->is_signalled, timeout);
  UNLOCK;
  return is_signalled ? OK : ZE_RESULT_NOT_READY;
}

static ze_result_t set_event(ze_event_handle_t handle, bool is_signalled)
{
  struct event *event = (struct event *)handle;
  LOCK;
  if (!is_signalled && event->is_signalled && event->users != 0)
    sim_violation("an event is reset that commands in flight use");
  event->is_signalled = is_signalled;
  pthread_cond_broadcast(&sim_changed);
  UNLOCK;
  return OK;
}

API(event_signal, ze_event_handle_t event)
{
  return set_event(event, true);
}

API(event_reset, ze_event_handle_t event)
{
  return set_event(event, false);
}

API(event_times, ze_event_handle_t handle, ze_kernel_timestamp_result_t *ret)
{
  const struct event *event = (struct event *)handle;
  uint64_t mask = (UINT64_C(1) << KERNEL_BITS) - 1;
  ze_result_t result = ZE_RESULT_NOT_READY;
  LOCK;
  if ((event->pool->flags & ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP) == 0)
    result = ZE_RESULT_ERROR_INVALID_ARGUMENT;
  else if (event->is_signalled) {
    ret->global = (ze_kernel_timestamp_data_t){sim_cycles(event->start_ns) & mask, sim_cycles(event->end_ns) & mask};
    ret->context = ret->global;
    result = OK;
  }
  UNLOCK;
  return result;
}

// ---- tables
TABLE(Global, ze_global_dditable_t)
{
  *table = (ze_global_dditable_t){.pfnInit = init};
  return OK;
}

TABLE(Driver, ze_driver_dditable_t)
{
  *table = (ze_driver_dditable_t){.pfnGet = driver_get, .pfnGetExtensionFunctionAddress = driver_extension};
  return OK;
}

TABLE(Device, ze_device_dditable_t)
{
  *table = (ze_device_dditable_t){.pfnGet = device_get,
                                  .pfnGetProperties = device_properties,
                                  .pfnGetCommandQueueGroupProperties = device_groups,
                                  .pfnGetGlobalTimestamps = device_timestamps};
  return OK;
}

TABLE(Context, ze_context_dditable_t)
{
  *table = (ze_context_dditable_t){.pfnCreate = context_create, .pfnDestroy = context_destroy};
  return OK;
}

TABLE(EventPool, ze_event_pool_dditable_t)
{
  *table = (ze_event_pool_dditable_t){.pfnCreate = pool_create,
                                      .pfnDestroy = pool_destroy,
                                      .pfnGetIpcHandle = pool_handle,
                                      .pfnOpenIpcHandle = pool_open,
                                      .pfnCloseIpcHandle = pool_destroy};
  return OK;
}

TABLE(Event, ze_event_dditable_t)
{
  *table = (ze_event_dditable_t){.pfnCreate = event_create,
                                 .pfnDestroy = event_destroy,
                                 .pfnHostSignal = event_signal,
                                 .pfnHostSynchronize = event_wait,
                                 .pfnQueryStatus = event_status,
                                 .pfnHostReset = event_reset,
                                 .pfnQueryKernelTimestamp = event_times};
  return OK;
}
