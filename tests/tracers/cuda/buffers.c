// SPDX-License-Identifier: Apache-2.0
// The simulated libcupti: the client's buffers, one a thread from 13.0 on. They are asked for under a lock, on the thread
// that has a record, and given back without it.
#include "profiler.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BUFFER_MINIMUM 1024

struct slot {
  pthread_mutex_t lock;
  uint8_t *data; // NULL: none
  size_t size, used, records, records_maximum, last_size;
  struct slot *next;
};

bool buffers_are_per_thread;
static CUpti_BuffersCallbackRequestFunc request;
static CUpti_BuffersCallbackCompleteFunc complete;
static struct slot shared = {.lock = PTHREAD_MUTEX_INITIALIZER}, *slots = &shared;
static pthread_mutex_t slots_lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local struct slot *own;
static size_t dropped;

void buffers_use(CUpti_BuffersCallbackRequestFunc requested, CUpti_BuffersCallbackCompleteFunc completed)
{
  request = requested;
  complete = completed;
}

size_t buffers_take_dropped(void)
{
  return __atomic_exchange_n(&dropped, 0, __ATOMIC_RELAXED);
}

static struct slot *slot_of_thread(void)
{
  if (!buffers_are_per_thread)
    return &shared;
  if (own)
    return own;
  own = calloc(1, sizeof *own);
  pthread_mutex_init(&own->lock, NULL);
  pthread_mutex_lock(&slots_lock); // which the thread sanitizer sees, though this file is not built with it
  own->next = slots;
  slots = own;
  pthread_mutex_unlock(&slots_lock);
  return own;
}

struct handover {
  uint8_t *data;
  size_t size, used;
};

static void *hand_over_here(void *argument)
{
  const struct handover *handover = argument;
  complete(NULL, 0, handover->data, handover->size, handover->used);
  return NULL;
}

static void hand_over(struct handover handover)
{
  count(COUNT_COMPLETED);
  pthread_t thread;
  if (simulator_has_fault("many-threads") && pthread_create(&thread, NULL, hand_over_here, &handover) == 0)
    pthread_join(thread, NULL);
  else
    hand_over_here(&handover);
}

// Under the slot's lock. What it returns is to be handed over without the lock; data NULL: nothing.
static struct handover take(struct slot *slot)
{
  struct handover taken = {slot->data, slot->size, slot->used};
  bool ends_with_kernel =
      taken.data && slot->last_size > 0 && slot->last_size == layouts_size(CUPTI_ACTIVITY_KIND_KERNEL);
  if (ends_with_kernel && (faults_hits("cut", 2) || faults_hits("cut-shown", 2))) {
    taken.used -= 40;
    count(COUNT_CUT);
  }
  slot->data = NULL;
  slot->size = slot->used = slot->records = slot->last_size = 0;
  return taken;
}

static struct handover ask(void)
{
  struct handover given = {0};
  size_t maximum = 0;
  count(COUNT_REQUESTED);
  if (request)
    request(&given.data, &given.size, &maximum);
  given.used = maximum;
  return given;
}

// Under the slot's lock. A buffer that is too small comes back, too, empty.
static struct handover find_buffer(struct slot *slot)
{
  uint64_t start_ns = now_ns();
  struct handover given = ask();
  if (given.data && given.size >= (simulator_has_fault("tiny-refused") ? 131072 : BUFFER_MINIMUM)) {
    slot->data = given.data;
    slot->size = given.size;
    slot->records_maximum = given.used;
    if (activity_is_enabled(CUPTI_ACTIVITY_KIND_OVERHEAD))
      slot->used = slot->last_size = layouts_overhead(start_ns, now_ns(), slot->data);
    return (struct handover){0};
  }
  count(COUNT_REFUSED);
  given.used = 0;
  return given;
}

static void count_record(const void *record)
{
  CUpti_ActivityKind kind = *(const CUpti_ActivityKind *)record;
  static const uint8_t counts[64] = {[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL] = COUNT_KERNELS + 1,
                                     [CUPTI_ACTIVITY_KIND_MEMCPY] = COUNT_MEMCPYS + 1,
                                     [CUPTI_ACTIVITY_KIND_MEMCPY2] = COUNT_MEMCPYS + 1,
                                     [CUPTI_ACTIVITY_KIND_MEMSET] = COUNT_MEMSETS + 1,
                                     [CUPTI_ACTIVITY_KIND_DRIVER] = COUNT_CALLS + 1,
                                     [CUPTI_ACTIVITY_KIND_RUNTIME] = COUNT_CALLS + 1,
                                     [CUPTI_ACTIVITY_KIND_SYNCHRONIZATION] = COUNT_SYNCS + 1};
  if (kind >= 64) {
    count(COUNT_UNKNOWN);
    return;
  }
  if (counts[kind])
    count(counts[kind] - 1);
  const uint64_t *words = record; // kernels, copies and sets begin and end at the same places
  if (counts[kind] && counts[kind] <= COUNT_MEMSETS + 1 && words[2] == 0 && words[3] == 0)
    count(COUNT_WITHOUT_TIMES);
}

static void put(const void *record, size_t size)
{
  struct slot *slot = slot_of_thread();
  struct handover full = {0}, refused = {0};
  pthread_mutex_lock(&slot->lock);
  bool is_full = slot->data && (slot->used + size > slot->size ||
                                (slot->records_maximum > 0 && slot->records >= slot->records_maximum));
  if (is_full)
    full = take(slot);
  if (!slot->data)
    refused = find_buffer(slot);
  if (slot->data) {
    memcpy(slot->data + slot->used, record, size);
    slot->used += size;
    slot->records++;
    slot->last_size = size;
    count_record(record);
  } else {
    __atomic_add_fetch(&dropped, 1, __ATOMIC_RELAXED);
    count(COUNT_DROPPED);
  }
  pthread_mutex_unlock(&slot->lock);
  if (full.data)
    hand_over(full);
  if (refused.data)
    hand_over(refused);
}

void buffers_put(const void *record, size_t size)
{
  if (faults_hits("drops", 4)) {
    __atomic_add_fetch(&dropped, 1, __ATOMIC_RELAXED);
    count(COUNT_DROPPED);
    return;
  }
  put(record, size);
  uint32_t other[12] = {KIND_UNKNOWN};
  if (faults_hits("unknown-kinds", 3))
    put(other, sizeof other);
  other[0] = KIND_INVALID;
  if (faults_hits("invalid-kinds", 10))
    put(other, sizeof other);
}

void buffers_flush(void)
{
  pthread_mutex_lock(&slots_lock);
  struct slot *slot = slots;
  pthread_mutex_unlock(&slots_lock);
  for (; slot; slot = slot->next) {
    pthread_mutex_lock(&slot->lock);
    struct handover taken = take(slot);
    pthread_mutex_unlock(&slot->lock);
    if (taken.data)
      hand_over(taken);
  }
  if (!faults_hits("empty-buffers", 2))
    return;
  struct handover empty = ask();
  empty.used = 0;
  if (empty.data)
    hand_over(empty);
}
