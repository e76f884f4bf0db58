// SPDX-License-Identifier: Apache-2.0
// How a command gets the device's times, on the program's threads. The program's events are never changed:
//   no event           one of ours
//   an event           one of ours; then a command of ours signals the program's
//   one with times     it has what we need; read before the program resets it or uses it again
#include "tracers/levelzero/commands.h"

#include "base/scoped.h"
#include "tracers/device/call_event.h"
#include "tracers/levelzero/lists.h"

#include <stdlib.h>

// Above the 32-bit numbers of other tracers and OpenCL's, below 2^40, up to which collect keeps ids as they are.
#define CORRELATION_BASE (UINT64_C(3) << 33)

void levelzero_call_begin(struct levelzero_call *call, struct xsp_site *site)
{
  *call = (struct levelzero_call){
      .is_open = true, .site = site, .span = xsp_span_start(site), .launch = {.ticks = xsp_clock_ticks()}};
  device_call_event(XSP_PHASE_BEGIN, site, &call->span);
}

void levelzero_call_end(struct levelzero_call *call, uint32_t result)
{
  if (call->span.start == 0)
    return;
  if (result != ZE_OK && result != ZE_NOT_READY)
    xsp_span_tag_int(&call->span, "error", result);
  device_call_event(XSP_PHASE_END, call->site, &call->span);
  xsp_span_finish(&call->span);
}

static void correlate(struct levelzero_call *call)
{
  call->launch.correlation_id = CORRELATION_BASE + __atomic_fetch_add(&flight_counts.launches, 1, __ATOMIC_RELAXED);
  xsp_span_correlate(&call->span, XSP_KIND_LAUNCH, call->launch.correlation_id);
}

// ---- one command
// With the lock. NULL: it has no times.
static struct levelzero_slot *choose(struct levelzero_call *call, void **event)
{
  struct list *list = call->list;
  struct event *given = levelzero_event_of(*event);
  if ((*event != NULL && given == NULL) || (list->queue == NULL && !list->is_compute)) {
    levelzero_count(&flight_counts.untimed, 1);
    return NULL;
  }
  bool has_times = given != NULL && given->has_times;
  if (has_times) {
    flight_settle(given);
    if (given->is_reset_by_device) {
      levelzero_count(&flight_counts.lost_times, 1);
      return NULL;
    }
  }
  struct levelzero_slot *slot = levelzero_slot_take(list->context);
  if (slot == NULL)
    return NULL;
  if (has_times) {
    slot->of_program = given;
    slot->watched = call->of_program = *event;
  } else {
    call->to_signal = *event;
    *event = slot->event;
  }
  return slot;
}

void levelzero_command_begin(struct levelzero_call *call, struct xsp_site *site, void *list, void **event,
                             struct work work)
{
  levelzero_call_begin(call, site);
  call->list = levelzero_list_of(list);
  if (call->span.start == 0 || call->list == NULL)
    return;
  if (call->list->queue != NULL)
    correlate(call);
  call->work = work;
  SCOPED_LOCK(&levelzero_lock);
  call->slot = choose(call, event);
}

// In an unordered list a barrier would hold back what follows, and wait for what comes before: there, the copy of the times
// waits for the command alone. Lists for copies cannot do that; what runs them is ordered.
static void signal_for_program(struct levelzero_call *call)
{
  struct levelzero_slot *slot = call->slot;
  void *list = call->list->handle;
  if (!call->list->is_in_order && call->list->is_compute &&
      ze.CommandListAppendQueryKernelTimestamps(list, 1, &slot->event, slot->snapshot, NULL, call->to_signal, 1,
                                                &slot->event) == ZE_OK)
    slot->is_by_snapshot = call->list->queue != NULL;
  else
    ze.CommandListAppendBarrier(list, call->to_signal, 0, NULL);
}

// With the lock.
static void record(struct levelzero_call *call)
{
  struct levelzero_slot *slot = call->slot;
  struct recorded command = {slot, NULL, call->work};
  if (slot->of_program != NULL) {
    command = (struct recorded){NULL, call->of_program, call->work};
    levelzero_slot_give(slot);
  }
  if (!levelzero_list_record(call->list, &command))
    levelzero_count(&flight_counts.without_slot, 1);
}

void levelzero_command_end(struct levelzero_call *call, uint32_t result)
{
  struct levelzero_slot *slot = call->slot;
  if (slot != NULL && result == ZE_OK && call->to_signal != NULL)
    signal_for_program(call);
  levelzero_call_end(call, result);
  if (slot == NULL)
    return;
  SCOPED_LOCK(&levelzero_lock);
  if (result != ZE_OK) {
    levelzero_slot_give(slot);
  } else if (call->list->queue == NULL) {
    record(call);
  } else {
    slot->work = call->work;
    slot->launch = call->launch;
    flight_start(call->list->queue, slot);
  }
}

// ---- lists
void levelzero_execute_begin(struct levelzero_call *call, struct xsp_site *site, struct levelzero_queue *queue,
                             uint32_t *count, void ***lists)
{
  levelzero_call_begin(call, site);
  uint32_t wanted = *count, given = 0;
  if (call->span.start != 0) {
    correlate(call);
    call->queue = queue;
  }
  call->lists = *lists == NULL ? NULL : malloc((size_t)wanted * 2 * sizeof *call->lists);
  if (call->lists == NULL)
    return;
  SCOPED_LOCK(&levelzero_lock);
  for (uint32_t i = 0; i < wanted; i++) {
    struct list *list = levelzero_list_of((*lists)[i]);
    call->lists[given++] = (*lists)[i];
    void *ours = list == NULL || list->queue != NULL ? NULL : levelzero_list_follow(list, call->queue, &call->launch);
    if (ours != NULL)
      call->lists[given++] = ours;
  }
  *count = given;
  *lists = call->lists;
}

void levelzero_execute_end(struct levelzero_call *call, uint32_t result)
{
  levelzero_call_end(call, result);
  free(call->lists);
  if (result == ZE_OK || call->queue == NULL)
    return;
  SCOPED_LOCK(&levelzero_lock);
  flights_cancel(call->queue, call->launch.correlation_id);
}
