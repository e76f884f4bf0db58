// SPDX-License-Identifier: Apache-2.0
// Makes rings, small ones: ring_grow.c gives them what their threads turn out to need. Called by a thread for itself, with
// signals held; a slot of the table and bytes of the session's memory are claimed by compare-and-swap.
#include "capture/capture.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#define FIRST_RING_RECORDS 1024u // of a process: 32 KiB, so that a short program makes no system call for its spans

struct ring_slot ring_slots[RINGS_MOST];
uint32_t ring_count;

bool ring_spend(uint64_t bytes, bool leave_some)
{
  struct session_head *session = capture.session;
  uint64_t limit = leave_some ? session->memory_limit / 8 * 7 : session->memory_limit;
  uint64_t spent = __atomic_load_n(&session->memory, __ATOMIC_RELAXED);
  do
    if (spent >= limit || bytes > limit - spent)
      return false;
  while (
      !__atomic_compare_exchange_n(&session->memory, &spent, spent + bytes, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  return true;
}

static uint32_t take_slot(struct ring_head *ring, size_t bytes)
{
  uint32_t slot = __atomic_load_n(&ring_count, __ATOMIC_RELAXED);
  do
    if (slot >= RINGS_MOST)
      return RINGS_MOST;
  while (!__atomic_compare_exchange_n(&ring_count, &slot, slot + 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  ring_slots[slot].bytes = bytes;
  __atomic_store_n(&ring_slots[slot].ring, ring, __ATOMIC_RELEASE);
  return slot;
}

static bool overwrites(void)
{
  return capture.session->flags & SESSION_FLIGHT_RECORDER;
}

// What a ring begins with, and the most that it may grow to.
static uint32_t first_records(void)
{
  uint32_t most = capture.session->ring_records, records = RING_RECORDS_LEAST;
  uint32_t wanted = __atomic_load_n(&ring_count, __ATOMIC_RELAXED) == 0 ? FIRST_RING_RECORDS : RING_RECORDS_LEAST;
  if (overwrites() ? wanted > most : wanted < most)
    wanted = most;
  while (records < wanted && records < RING_RECORDS_MOST)
    records *= 2;
  return records;
}

static uint32_t most_records(uint32_t records)
{
  uint64_t share = capture_file_address_share() / (1 + __atomic_load_n(&ring_count, __ATOMIC_RELAXED));
  uint32_t most = overwrites() ? capture.session->ring_records : RING_RECORDS_MOST;
  while (records < most && records < RING_RECORDS_MOST && ring_bytes(UINT64_C(2) * records) <= share)
    records *= 2;
  return records;
}

static struct ring_head *create_sized(const char *path, uint32_t records, uint32_t most)
{
  struct ring_head *ring = NULL;
  do // fewer addresses where the processor has few
    ring = capture_file_create(path, ring_bytes(records), ring_bytes(most));
  while (ring == NULL && (errno == ENOMEM || errno == EAGAIN) && (most /= 2) > records);
  if (ring == NULL)
    return NULL;
  ring->version = SESSION_VERSION;
  ring->head_size = sizeof *ring;
  ring->backed = ring->usable = records;
  ring->most_records = most;
  ring->producer.next_id = 1;
  ring_set_size(ring, 0, 0, records);
  return ring;
}

static struct ring_head *create(const char *path, uint32_t records)
{
  if (!ring_spend(ring_bytes(records), false))
    return NULL;
  struct ring_head *ring = create_sized(path, records, most_records(records));
  if (ring == NULL)
    __atomic_sub_fetch(&capture.session->memory, ring_bytes(records), __ATOMIC_RELAXED);
  return ring;
}

struct ring_head *ring_create(const struct process_head *process, uint32_t tid, uint32_t *ret_slot)
{
  char path[PATH_MAX];
  uint32_t number = __atomic_fetch_add(&capture.session->next_ring, 1, __ATOMIC_RELAXED), records = first_records();
  capture_file_path_number(path, "ring-", number);
  struct ring_head *ring = create(path, records);
  if (ring == NULL && records > RING_RECORDS_LEAST)
    ring = create(path, RING_RECORDS_LEAST);
  if (ring != NULL) {
    size_t bytes = ring_bytes(ring->most_records);
    ring->number = number;
    ring->process = process->number;
    ring->owner_tid = tid;
    *ret_slot = take_slot(ring, bytes);
    if (*ret_slot < RINGS_MOST) {
      __atomic_store_n(&ring->magic, RING_MAGIC, __ATOMIC_RELEASE);
      return ring;
    }
    __atomic_sub_fetch(&capture.session->memory, ring_bytes(ring->backed), __ATOMIC_RELAXED);
    munmap(ring, bytes);
    unlink(path);
  }
  capture_file_number_return(&capture.session->next_ring, number);
  return NULL;
}
