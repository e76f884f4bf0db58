// SPDX-License-Identifier: Apache-2.0
// Runs of recorded lists. A run's list of ours:
//   barrier; times of all events to memory; barrier; reset the events that are ours; barrier that signals the run's event.
// Called from callbacks, before the driver has the program's call. Rejected: to read events on the host between two runs,
// because a program may launch the next one before the last has ended.
#include "tracers/levelzero/lists.h"

#include <stdlib.h>

#define RUNS_MOST 64u // of a list, in flight together
#define COMMANDS_MOST 65536u
#define LAST_WAIT_NS UINT64_C(1000000000)

struct run {
  struct run *next;
  struct list *list;
  void *handle;                // of our list
  struct levelzero_slot *slot; // whose event is signalled at its end
  struct ze_timestamps *times;
  bool is_busy;
};

bool levelzero_list_record(struct list *list, const struct recorded *command)
{
  if (list->count == list->capacity) {
    uint32_t capacity = list->capacity == 0 ? 64 : list->capacity * 2;
    struct recorded *more = capacity > COMMANDS_MOST ? NULL : realloc(list->commands, capacity * sizeof *more);
    if (more == NULL)
      return false;
    list->commands = more;
    list->capacity = capacity;
  }
  list->commands[list->count++] = *command;
  return true;
}

// ---- lists of ours
static bool append_times(const struct list *list, void *ours, struct ze_timestamps *times)
{
  void **events = malloc(list->count * sizeof *events);
  if (events == NULL)
    return false;
  for (uint32_t i = 0; i < list->count; i++)
    events[i] = list->commands[i].slot != NULL ? list->commands[i].slot->event : list->commands[i].of_program;
  uint32_t error = ze.CommandListAppendQueryKernelTimestamps(ours, list->count, events, times, NULL, NULL, 0, NULL);
  free(events);
  return error == ZE_OK && ze.CommandListAppendBarrier(ours, NULL, 0, NULL) == ZE_OK;
}

// `times` NULL: only makes events ready again. NULL: the driver would not.
static void *make_follower(const struct list *list, struct ze_timestamps *times, void *signal)
{
  const struct ze_list_desc desc = {{ZE_COMMAND_LIST_DESC, NULL}, list->ordinal, 0};
  void *ours = NULL;
  if (ze.CommandListCreate(list->context->handle, list->device->handle, &desc, &ours) != ZE_OK)
    return NULL;
  bool is_made =
      ze.CommandListAppendBarrier(ours, NULL, 0, NULL) == ZE_OK && (times == NULL || append_times(list, ours, times));
  for (uint32_t i = 0; i < list->count && is_made; i++)
    if (list->commands[i].slot != NULL)
      is_made = ze.CommandListAppendEventReset(ours, list->commands[i].slot->event) == ZE_OK;
  if (is_made && ze.CommandListAppendBarrier(ours, signal, 0, NULL) == ZE_OK && ze.CommandListClose(ours) == ZE_OK)
    return ours;
  ze.CommandListDestroy(ours);
  return NULL;
}

static void destroy_run(struct run *run)
{
  if (run->handle != NULL)
    ze.CommandListDestroy(run->handle);
  if (run->times != NULL)
    ze.MemFree(run->list->context->handle, run->times);
  if (run->slot != NULL)
    levelzero_slot_give(run->slot);
  free(run);
}

static struct run *make_run(struct list *list)
{
  const struct ze_host_memory_desc desc = {{ZE_HOST_MEMORY_DESC, NULL}, 0};
  struct run *run = calloc(1, sizeof *run);
  void *memory = NULL;
  if (run == NULL)
    return NULL;
  run->list = list;
  if (ze.MemAllocHost(list->context->handle, &desc, list->count * sizeof *run->times, 64, &memory) == ZE_OK) {
    run->times = memory;
    if ((run->slot = levelzero_slot_take(list->context)) != NULL)
      run->handle = make_follower(list, run->times, run->slot->event);
  }
  if (run->handle == NULL) {
    destroy_run(run);
    return NULL;
  }
  run->slot->run = run;
  run->next = list->runs;
  list->runs = run;
  return run;
}

static struct run *free_run(struct list *list)
{
  uint32_t busy = 0;
  for (int look = 0; look < 2; look++) {
    busy = 0;
    for (struct run *run = list->runs; run != NULL; run = run->next, busy++)
      if (!run->is_busy)
        return run;
    if (busy > 0 && look == 0)
      flights_look();
  }
  return busy < RUNS_MOST ? make_run(list) : NULL;
}

void *levelzero_list_follow(struct list *list, struct levelzero_queue *queue, const struct launch *launch)
{
  if (list->count == 0)
    return NULL;
  struct run *run = queue == NULL ? NULL : free_run(list);
  if (run == NULL) {
    levelzero_count(&flight_counts.without_slot, queue == NULL ? 0 : list->count);
    if (list->clearing == NULL)
      list->clearing = make_follower(list, NULL, NULL);
    return list->clearing;
  }
  run->is_busy = true;
  run->slot->is_void = false;
  run->slot->launch = *launch;
  flight_start(queue, run->slot);
  return run->handle;
}

// ---- ends
void levelzero_run_publish(struct levelzero_queue *queue, struct run *run, const struct launch *launch, uint64_t now)
{
  for (uint32_t i = 0; i < run->list->count; i++)
    flight_publish(queue, &run->list->commands[i].work, launch, &run->times[i], now);
}

void levelzero_run_ended(struct run *run)
{
  ze.EventHostReset(run->slot->event);
  run->is_busy = false;
}

// The program knows that its list has ended, ours may take some microseconds more. What does not end is left to the driver.
static bool wait_for(const struct run *run)
{
  if (run->is_busy && ze.EventHostSynchronize(run->slot->event, LAST_WAIT_NS) == ZE_OK)
    flights_look();
  return !run->is_busy;
}

void levelzero_list_forget(struct list *list)
{
  bool is_over = true;
  for (struct run *run = list->runs, *next; run != NULL; run = next) {
    next = run->next;
    if (wait_for(run)) {
      destroy_run(run);
      continue;
    }
    run->slot->is_void = true;
    levelzero_count(&flight_counts.lost_times, list->count);
    is_over = false;
  }
  for (uint32_t i = 0; i < list->count && is_over; i++)
    if (list->commands[i].slot != NULL)
      levelzero_slot_give(list->commands[i].slot);
  if (list->clearing != NULL && is_over)
    ze.CommandListDestroy(list->clearing);
  list->runs = NULL;
  list->clearing = NULL;
  list->count = 0;
}
