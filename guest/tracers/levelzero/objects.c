// SPDX-License-Identifier: Apache-2.0
// Records of the program's objects. Called from callbacks of the tracing layer, when calls that make objects have returned.
#include "tracers/levelzero/objects.h"

#include "base/scoped.h"
#include "tracers/annotations/guest_table.h"
#include "tracers/device/host_clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUEUES_MOST 1024u // then those of destroyed ones are used again
#define GROUPS_MOST 64u
#define FIRST_READINGS 16

struct ze ze;
pthread_mutex_t levelzero_lock = PTHREAD_MUTEX_INITIALIZER;

static struct levelzero_device devices[DEVICES_MOST];
static struct levelzero_queue *all_queues; // with the lock
static uint32_t queue_count;
static struct guest_map contexts = {.capacity = 1u << 12}, queues = {.capacity = 1u << 16},
                        lists = {.capacity = 1u << 20}, pools = {.capacity = 1u << 16}, events = {.capacity = 1u << 20};

// ---- devices
static void read_properties(struct levelzero_device *device)
{
  struct ze_device_properties properties = {.head = {ZE_DEVICE_PROPERTIES_1_2, NULL}};
  struct ze_queue_group_properties groups[GROUPS_MOST];
  uint32_t count = GROUPS_MOST;
  if (ze.DeviceGetProperties(device->handle, &properties) != ZE_OK)
    snprintf(properties.name, sizeof properties.name, "Level Zero device %u", device->number);
  properties.name[sizeof properties.name - 1] = '\0';
  if (properties.flags & ZE_DEVICE_IS_SUBDEVICE)
    snprintf(device->name, sizeof device->name, "%s tile %u", properties.name, properties.subdevice);
  else
    snprintf(device->name, sizeof device->name, "%s", properties.name);
  levelzero_clock_start(&device->clock, host_clock_rate(), &properties);
  for (int i = 0; i < FIRST_READINGS; i++)
    levelzero_clock_read(device);
  for (uint32_t i = 0; i < GROUPS_MOST; i++)
    groups[i] = (struct ze_queue_group_properties){.head = {ZE_QUEUE_GROUP_PROPERTIES, NULL}};
  if (ze.DeviceGetCommandQueueGroupProperties(device->handle, &count, groups) != ZE_OK)
    count = 0;
  for (uint32_t i = 0; i < count && i < GROUPS_MOST; i++)
    device->compute_groups |= (uint64_t)((groups[i].flags & ZE_GROUP_HAS_COMPUTE) != 0) << i;
}

void levelzero_clock_read(struct levelzero_device *device)
{
  uint64_t host, cycles, before = xsp_clock_ticks();
  if (ze.DeviceGetGlobalTimestamps(device->handle, &host, &cycles) == ZE_OK)
    levelzero_clock_observe(&device->clock, cycles, before, xsp_clock_ticks());
}

struct levelzero_device *levelzero_device_of(void *handle)
{
  SCOPED_LOCK(&levelzero_lock);
  uint32_t i = 0;
  while (i < DEVICES_MOST - 1 && devices[i].handle != NULL && devices[i].handle != handle)
    i++; // more than there is room for share the last
  struct levelzero_device *device = &devices[i];
  if (device->handle == NULL) {
    device->handle = handle;
    device->number = i;
    read_properties(device);
  }
  return device;
}

void levelzero_devices_each(void (*with)(struct levelzero_device *device))
{
  for (uint32_t i = 0; i < DEVICES_MOST && devices[i].handle != NULL; i++)
    with(&devices[i]);
}

// ---- records by handle: what is there already begins anew where the driver gives its handle out again
static void *record_of(struct guest_map *map, void *handle, size_t size)
{
  void *known = guest_map_get(map, handle), *fresh;
  if (known != NULL || handle == NULL || (fresh = calloc(1, size)) == NULL)
    return known;
  void **place = guest_map_place(map, handle);
  if (place != NULL && __atomic_compare_exchange_n(place, &known, fresh, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    return fresh;
  free(fresh);
  return known;
}

struct levelzero_context *levelzero_context_of(void *handle)
{
  struct levelzero_context *context = record_of(&contexts, handle, sizeof *context);
  if (context != NULL)
    __atomic_store_n(&context->handle, handle, __ATOMIC_RELAXED);
  return context;
}

// ---- queues
void levelzero_queues_each(void (*with)(struct levelzero_queue *queue))
{
  for (struct levelzero_queue *queue = all_queues; queue != NULL; queue = queue->next)
    with(queue);
}

// A program that makes queues for ever has few at a time: the record of one that is gone goes on, with its tracks.
static struct levelzero_queue *unused_queue(const struct levelzero_device *device)
{
  struct levelzero_queue *queue = all_queues;
  while (queue != NULL && (queue->handle != NULL || queue->device != device || queue->first != NULL))
    queue = queue->next;
  return queue;
}

static struct levelzero_queue *make_queue(void *handle, struct levelzero_device *device)
{
  static uint32_t numbers[DEVICES_MOST];
  SCOPED_LOCK(&levelzero_lock);
  struct levelzero_queue *queue = queue_count < QUEUES_MOST ? NULL : unused_queue(device);
  if (queue == NULL && (queue = calloc(1, sizeof *queue)) != NULL) {
    queue->device = device;
    queue->number = ++numbers[device->number];
    queue->next = all_queues;
    all_queues = queue;
    queue_count++;
  }
  if (queue != NULL)
    queue->handle = handle;
  return queue;
}

void levelzero_queue_made(void *handle, void *device)
{
  struct levelzero_queue *queue = make_queue(handle, levelzero_device_of(device));
  if (queue != NULL)
    guest_map_put(&queues, handle, queue);
}

struct levelzero_queue *levelzero_queue_of(void *handle)
{
  return guest_map_get(&queues, handle);
}

void levelzero_queue_gone(struct levelzero_queue *queue)
{
  SCOPED_LOCK(&levelzero_lock);
  queue->handle = NULL;
}

uint16_t levelzero_queue_track(struct levelzero_queue *queue, uint64_t start, uint64_t end)
{
  uint32_t number = 0;
  struct device_lane *lane = device_lanes_take(&queue->lanes, start, end, &number);
  if (lane == NULL && (lane = queue->lanes.lane[0]) == NULL)
    return 0;
  if (lane->track == 0) {
    char name[320], more[24] = "";
    if (number > 0)
      snprintf(more, sizeof more, " lane %u", number + 1);
    snprintf(name, sizeof name, "%s queue %u%s", queue->device->name, queue->number, more);
    struct xsp_track_options options = {
        .size = sizeof options, .name = name, .device_id = queue->device->number, .stream_id = queue->number};
    lane->track = xsp_track_create(&options);
  }
  return (uint16_t)lane->track;
}

// ---- lists
static struct list *make_list(void *handle, void *context, void *device, uint32_t ordinal, bool is_in_order)
{
  struct list *list = record_of(&lists, handle, sizeof *list);
  if (list == NULL)
    return NULL;
  *list = (struct list){.handle = handle,
                        .context = levelzero_context_of(context),
                        .device = levelzero_device_of(device),
                        .ordinal = ordinal,
                        .is_in_order = is_in_order,
                        .commands = list->commands,
                        .capacity = list->capacity};
  list->is_compute = ordinal < 64 && (list->device->compute_groups >> ordinal & 1) != 0;
  return list;
}

struct list *levelzero_list_made(void *handle, void *context, void *device, const struct ze_list_desc *desc)
{
  return make_list(handle, context, device, desc->ordinal, (desc->flags & ZE_LIST_IS_IN_ORDER) != 0);
}

struct list *levelzero_immediate_list_made(void *handle, void *context, void *device, const struct ze_queue_desc *desc)
{
  struct list *list = make_list(handle, context, device, desc->ordinal, (desc->flags & ZE_QUEUE_IS_IN_ORDER) != 0);
  if (list != NULL)
    list->queue = make_queue(handle, list->device);
  return list;
}

struct list *levelzero_list_of(void *handle)
{
  struct list *list = guest_map_get(&lists, handle);
  return list != NULL && list->context != NULL && __atomic_load_n(&list->context->handle, __ATOMIC_RELAXED) != NULL
             ? list
             : NULL;
}

// ---- events
static char pool_kinds[2]; // without and with times: what `pools` leads to

void levelzero_event_pool_made(void *handle, uint32_t flags)
{
  bool has_times = (flags & (ZE_POOL_HAS_TIMESTAMPS | ZE_POOL_HAS_MAPPED_TIMESTAMPS)) != 0;
  guest_map_put(&pools, handle, &pool_kinds[has_times]);
}

void levelzero_event_made(void *handle, void *pool)
{
  const void *kind = guest_map_get(&pools, pool);
  struct event *event = kind == NULL ? guest_map_get(&events, handle) : record_of(&events, handle, sizeof *event);
  if (event != NULL)
    *event = (struct event){.is_alive = kind != NULL, .has_times = kind == &pool_kinds[1]};
}

void levelzero_counter_event_made(void *handle, uint32_t flags)
{
  struct event *event = record_of(&events, handle, sizeof *event);
  if (event != NULL)
    *event = (struct event){.is_alive = true, .has_times = (flags & ~(uint32_t)ZE_COUNTER_EVENT_WITHOUT_TIMES) != 0};
}

struct event *levelzero_event_of(void *handle)
{
  struct event *event = guest_map_get(&events, handle);
  return event != NULL && event->is_alive ? event : NULL;
}
