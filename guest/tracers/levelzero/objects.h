// SPDX-License-Identifier: Apache-2.0
// What the program has made: devices, contexts, queues, lists, events, by their handles. Looked up without a lock on any
// thread; what is behind `levelzero_lock` says so. Nothing is ever freed: handles that the driver gives out again find their
// old record, which begins anew.
#ifndef XSP_TRACERS_LEVELZERO_OBJECTS_H
#define XSP_TRACERS_LEVELZERO_OBJECTS_H

#include "tracers/device/lanes.h"
#include "tracers/levelzero/abi.h"
#include "tracers/levelzero/clock.h"

#include <pthread.h>
#include <xsp/span.h>

#define LEVELZERO_TRACER "levelzero"
#define DEVICES_MOST 64u

extern struct ze ze;                   // the loader's functions; set before anything here is called
extern pthread_mutex_t levelzero_lock; // held for microseconds; a fork's child never takes it

struct levelzero_slot;
struct levelzero_device {
  void *handle;
  uint32_t number;
  uint64_t compute_groups; // a bit for each group of queues that runs kernels
  uint16_t memory_track;
  uint64_t allocated; // atomic: bytes of the program's in the device's memory
  struct clock clock; // with the lock
  char name[272];
};
struct levelzero_queue { // of a command queue, or of an immediate list
  struct levelzero_queue *next;
  void *handle; // NULL: destroyed
  struct levelzero_device *device;
  uint32_t number; // on its device
  struct device_lanes lanes;
  struct levelzero_slot *first, *last; // with the lock: what is in flight, in the order of its launch
};
struct levelzero_context {
  void *handle;                // atomic; NULL: destroyed
  struct levelzero_slot *free; // with the lock
  struct block *blocks;        // likewise
};
struct event { // of the program's
  bool is_alive, has_times, is_reset_by_device;
  struct levelzero_slot *watched; // with the lock: the command in flight that it gives the times of
};
struct list {
  void *handle;
  struct levelzero_context *context;
  struct levelzero_device *device;
  struct levelzero_queue *queue; // of an immediate list
  uint32_t ordinal;
  bool is_in_order, is_compute;
  struct recorded *commands; // of others: with times of their own (lists.c)
  uint32_t count, capacity;
  struct run *runs;
  void *clearing; // a list of ours that makes its events ready again; NULL: none yet
};

struct levelzero_device *levelzero_device_of(void *handle);
struct levelzero_context *levelzero_context_of(void *handle);
struct levelzero_queue *levelzero_queue_of(void *handle);
struct list *levelzero_list_of(void *handle);   // NULL: made where xsp was not there, or its context has ended
struct event *levelzero_event_of(void *handle); // NULL: made where xsp was not there, as by an extension

// With the lock.
uint16_t levelzero_queue_track(struct levelzero_queue *queue, uint64_t start, uint64_t end);
void levelzero_clock_read(struct levelzero_device *device);
void levelzero_devices_each(void (*with)(struct levelzero_device *device));
void levelzero_queues_each(void (*with)(struct levelzero_queue *queue));

// What was made, or is about to go.
void levelzero_queue_made(void *handle, void *device);
void levelzero_queue_gone(struct levelzero_queue *queue);
struct list *levelzero_list_made(void *handle, void *context, void *device, const struct ze_list_desc *desc);
struct list *levelzero_immediate_list_made(void *handle, void *context, void *device, const struct ze_queue_desc *desc);
void levelzero_event_pool_made(void *handle, uint32_t flags);
void levelzero_event_made(void *handle, void *pool);
void levelzero_counter_event_made(void *handle, uint32_t flags);

#endif
