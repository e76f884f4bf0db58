// SPDX-License-Identifier: Apache-2.0
// From an event that is signalled to an execution. Looked at where the program has waited, now and then when it launches, and
// at exit: a device's times do not change. Never waits.
#include "tracers/levelzero/slots.h"

#include "tracers/levelzero/lists.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK_SLOTS 64u
#define BLOCKS_MOST 1024u // 65,536 commands in flight or in lists
#define LOOK_EVERY 256u   // launches
#define UNWRITTEN UINT64_MAX

struct block {
  struct block *next;
  void *pool, *memory;
  struct levelzero_slot slots[BLOCK_SLOTS];
};

struct flight_counts flight_counts;
static uint32_t block_count;

void levelzero_count(uint64_t *counter, uint64_t by)
{
  __atomic_add_fetch(counter, by, __ATOMIC_RELAXED);
}

// ---- slots
static void destroy_block(struct levelzero_context *context, struct block *block)
{
  for (uint32_t i = 0; i < BLOCK_SLOTS && block->slots[i].event != NULL; i++)
    ze.EventDestroy(block->slots[i].event);
  if (block->pool != NULL)
    ze.EventPoolDestroy(block->pool);
  if (block->memory != NULL)
    ze.MemFree(context->handle, block->memory);
  free(block);
  block_count--;
}

static bool fill_block(struct levelzero_context *context, struct block *block)
{
  const struct ze_event_pool_desc pool = {
      {ZE_EVENT_POOL_DESC, NULL}, ZE_POOL_IS_HOST_VISIBLE | ZE_POOL_HAS_TIMESTAMPS, BLOCK_SLOTS};
  const struct ze_host_memory_desc memory = {{ZE_HOST_MEMORY_DESC, NULL}, 0};
  struct ze_timestamps *snapshots;
  if (ze.EventPoolCreate(context->handle, &pool, 0, NULL, &block->pool) != ZE_OK ||
      ze.MemAllocHost(context->handle, &memory, BLOCK_SLOTS * sizeof *snapshots, 64, &block->memory) != ZE_OK)
    return false;
  snapshots = block->memory;
  for (uint32_t i = 0; i < BLOCK_SLOTS; i++) {
    const struct ze_event_desc desc = {{ZE_EVENT_DESC, NULL}, i, ZE_SCOPE_IS_HOST, ZE_SCOPE_IS_HOST};
    block->slots[i].context = context;
    block->slots[i].snapshot = &snapshots[i];
    if (ze.EventCreate(block->pool, &desc, &block->slots[i].event) != ZE_OK)
      return false;
  }
  return true;
}

static void add_block(struct levelzero_context *context)
{
  struct block *block = block_count < BLOCKS_MOST ? calloc(1, sizeof *block) : NULL;
  if (block == NULL)
    return;
  block_count++;
  if (!fill_block(context, block)) {
    destroy_block(context, block);
    return;
  }
  block->next = context->blocks;
  context->blocks = block;
  for (uint32_t i = 0; i < BLOCK_SLOTS; i++) {
    block->slots[i].next = context->free;
    context->free = &block->slots[i];
  }
}

struct levelzero_slot *levelzero_slot_take(struct levelzero_context *context)
{
  if (context->free == NULL)
    flights_look();
  if (context->free == NULL)
    add_block(context);
  struct levelzero_slot *slot = context->free;
  if (slot == NULL) {
    levelzero_count(&flight_counts.without_slot, 1);
    return NULL;
  }
  context->free = slot->next;
  *slot = (struct levelzero_slot){
      .context = context, .event = slot->event, .snapshot = slot->snapshot, .watched = slot->event};
  slot->snapshot->context_end = UNWRITTEN;
  return slot;
}

void levelzero_slot_give(struct levelzero_slot *slot)
{
  ze.EventHostReset(slot->event);
  slot->next = slot->context->free;
  slot->context->free = slot;
}

// ---- flights
void flight_start(struct levelzero_queue *queue, struct levelzero_slot *slot)
{
  slot->next = NULL;
  slot->queue = queue;
  if (queue->first == NULL)
    queue->first = slot;
  else
    queue->last->next = slot;
  queue->last = slot;
  if (slot->of_program != NULL)
    slot->of_program->watched = slot;
  levelzero_count(&flight_counts.in_flight, 1);
  static uint32_t started;
  if (++started % LOOK_EVERY == 0)
    flights_look();
}

void flights_cancel(struct levelzero_queue *queue, uint64_t correlation_id)
{
  for (struct levelzero_slot *slot = queue->first; slot != NULL; slot = slot->next)
    slot->is_void = slot->is_void || slot->launch.correlation_id == correlation_id;
}

static bool has_ended(const struct levelzero_slot *slot)
{
  if (slot->is_void)
    return true;
  if (slot->is_by_snapshot)
    return __atomic_load_n(&slot->snapshot->context_end, __ATOMIC_ACQUIRE) != UNWRITTEN;
  return ze.EventQueryStatus(slot->watched) == ZE_OK;
}

void flight_publish(struct levelzero_queue *queue, const struct work *work, const struct launch *launch,
                    const struct ze_timestamps *times, uint64_t now)
{
  struct xsp_interval interval = {.size = sizeof interval,
                                  .kind = XSP_KIND_EXECUTION,
                                  .clock = XSP_CLOCK_TICKS,
                                  .correlation_id = launch->correlation_id,
                                  .flags = XSP_INTERVAL_EARLIER}; // its launch is recorded
  if (work->site == NULL)
    return; // names are full
  if (!levelzero_clock_convert(&queue->device->clock, times, launch->ticks, now, &interval.start, &interval.end)) {
    levelzero_count(&flight_counts.implausible, 1);
    return;
  }
  interval.track = levelzero_queue_track(queue, interval.start, interval.end);
  struct xsp_span span = xsp_span_emit(work->site, &interval);
  if (span.start != 0 && work->bytes >= 0)
    xsp_span_tag_int(&span, "bytes", work->bytes);
}

static void publish(const struct levelzero_slot *slot, uint64_t now)
{
  struct ze_timestamps times;
  if (slot->run != NULL)
    levelzero_run_publish(slot->queue, slot->run, &slot->launch, now);
  else if (ze.EventQueryKernelTimestamp(slot->watched, &times) == ZE_OK)
    flight_publish(slot->queue, &slot->work, &slot->launch, &times, now);
  else
    levelzero_count(&flight_counts.lost_times, 1);
}

// It has its place in the queue no longer.
static void end(struct levelzero_slot *slot, uint64_t now)
{
  if (!slot->is_void)
    publish(slot, now);
  if (slot->of_program != NULL && slot->of_program->watched == slot)
    slot->of_program->watched = NULL;
  if (slot->run != NULL)
    levelzero_run_ended(slot->run); // keeps its slot
  else
    levelzero_slot_give(slot);
  __atomic_sub_fetch(&flight_counts.in_flight, 1, __ATOMIC_RELAXED);
}

static void look_at(struct levelzero_queue *queue)
{
  if (queue->first == NULL || !has_ended(queue->first))
    return;
  levelzero_clock_read(queue->device);
  uint64_t now = xsp_clock_ticks();
  do {
    struct levelzero_slot *slot = queue->first;
    queue->first = slot->next;
    end(slot, now);
  } while (queue->first != NULL && has_ended(queue->first));
}

void flights_look(void)
{
  levelzero_queues_each(look_at);
}

void flight_settle(struct event *event)
{
  struct levelzero_slot *slot = event->watched;
  if (slot == NULL)
    return;
  event->watched = NULL;
  if (has_ended(slot)) {
    levelzero_clock_read(slot->queue->device);
    publish(slot, xsp_clock_ticks());
  } else {
    levelzero_count(&flight_counts.lost_times, 1);
  }
  slot->is_void = true; // flights_look takes it from its queue: earlier ones may still run
}

// ---- a context's end
static struct levelzero_context *leaving;

static void leave_queue(struct levelzero_queue *queue)
{
  struct levelzero_slot **place = &queue->first, *last = NULL;
  while (*place != NULL) {
    struct levelzero_slot *slot = *place;
    if (slot->context != leaving) {
      last = slot;
      place = &slot->next;
      continue;
    }
    *place = slot->next;
    if (slot->of_program != NULL && slot->of_program->watched == slot)
      slot->of_program->watched = NULL;
    levelzero_count(&flight_counts.lost_times, !slot->is_void);
    __atomic_sub_fetch(&flight_counts.in_flight, 1, __ATOMIC_RELAXED);
  }
  queue->last = last;
}

void flights_leave(struct levelzero_context *context)
{
  flights_look();
  leaving = context;
  levelzero_queues_each(leave_queue);
  context->free = NULL;
  while (context->blocks != NULL) {
    struct block *block = context->blocks;
    context->blocks = block->next;
    destroy_block(context, block);
  }
  __atomic_store_n(&context->handle, NULL, __ATOMIC_RELAXED);
}
