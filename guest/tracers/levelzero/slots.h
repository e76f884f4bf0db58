// SPDX-License-Identifier: Apache-2.0
// Commands in flight. Each has a slot: an event of ours with the device's times, where the program gave none. Slots come from
// pools that grow to a bound and are kept until their context ends.
#ifndef XSP_TRACERS_LEVELZERO_SLOTS_H
#define XSP_TRACERS_LEVELZERO_SLOTS_H

#include "tracers/levelzero/objects.h"

struct work { // what an execution is published as
  struct xsp_site *site;
  int64_t bytes; // -1: unknown, or none
};
struct launch {
  uint64_t correlation_id, ticks;
};
struct levelzero_slot {
  struct levelzero_slot *next; // free, or in its queue
  struct levelzero_context *context;
  void *event;                    // ours
  struct ze_timestamps *snapshot; // of the host's memory; where the device copies the times of `event` to
  // ---- in flight
  bool is_by_snapshot;      // done when the snapshot is written, not when an event is signalled
  bool is_void;             // has no times to wait for
  struct event *of_program; // which has the times instead of `event`
  void *watched;            // the event to ask
  struct levelzero_queue *queue;
  struct run *run; // of a list with many commands (lists.c); NULL: one command
  struct work work;
  struct launch launch;
};

// All with levelzero_lock.
struct levelzero_slot *levelzero_slot_take(struct levelzero_context *context); // NULL: none, counted
void levelzero_slot_give(struct levelzero_slot *slot); // its event is ready for use again; not of a context that ended
void flight_start(struct levelzero_queue *queue, struct levelzero_slot *slot);
void flights_cancel(struct levelzero_queue *queue, uint64_t correlation_id); // the call has failed
void flights_look(void);                                                     // publishes what has ended
void flight_settle(struct event *event);               // it is about to be reset or used again: now or never
void flights_leave(struct levelzero_context *context); // it is about to end
void flight_publish(struct levelzero_queue *queue, const struct work *work, const struct launch *launch,
                    const struct ze_timestamps *times, uint64_t now);

extern struct flight_counts {
  uint64_t launches, in_flight;                            // in_flight: now
  uint64_t without_slot, implausible, lost_times, untimed; // commands
} flight_counts;
void levelzero_count(uint64_t *counter, uint64_t by);

#endif
