// SPDX-License-Identifier: Apache-2.0
// Makes rings and lets full ones grow, within the process's share of memory. Called by a thread for itself, with signals
// held; a slot of the table and bytes of the share are claimed by compare-and-swap.
#include "capture/capture.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#define RECORDS_MOST (UINT32_C(1) << 24)

struct ring_slot ring_slots[RINGS_MOST];
uint32_t ring_count;

static bool spend(uint64_t bytes, uint64_t share)
{
  uint64_t spent = __atomic_load_n(&capture.ring_bytes, __ATOMIC_RELAXED);
  do
    if (spent >= capture.ring_bytes_limit || bytes > (capture.ring_bytes_limit - spent) / share)
      return false;
  while (!__atomic_compare_exchange_n(&capture.ring_bytes, &spent, spent + bytes, false, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED));
  return true;
}

static void give_back(uint64_t bytes)
{
  __atomic_sub_fetch(&capture.ring_bytes, bytes, __ATOMIC_RELAXED);
}

static uint32_t take_slot(struct ring_head *ring, size_t bytes, size_t address_bytes)
{
  uint32_t slot = __atomic_load_n(&ring_count, __ATOMIC_RELAXED);
  do
    if (slot >= RINGS_MOST)
      return RINGS_MOST;
  while (!__atomic_compare_exchange_n(&ring_count, &slot, slot + 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  ring_slots[slot].bytes = bytes;
  ring_slots[slot].address_bytes = address_bytes;
  __atomic_store_n(&ring_slots[slot].ring, ring, __ATOMIC_RELEASE);
  return slot;
}

// What a ring of `records` may grow to. Its addresses are set aside from the start: a writer that was interrupted holds
// a pointer into it.
static size_t largest_bytes(uint64_t records)
{
  size_t bytes = RING_HEAD_SIZE + records * sizeof(struct record);
  uint64_t most = file_address_share();
  most = most < capture.ring_bytes_limit ? most : capture.ring_bytes_limit;
  while (records < RECORDS_MOST && RING_HEAD_SIZE + 2 * records * sizeof(struct record) <= most)
    bytes = RING_HEAD_SIZE + (records *= 2) * sizeof(struct record);
  return bytes;
}

static struct ring_head *create_sized(uint32_t number, uint32_t records, uint32_t process, uint32_t tid,
                                      uint32_t *ret_slot)
{
  char path[PATH_MAX];
  file_path_number(path, "ring-", number);
  size_t bytes = RING_HEAD_SIZE + records * sizeof(struct record);
  size_t address_bytes = capture.grows ? largest_bytes(records) : bytes;
  struct ring_head *ring = file_create(path, bytes, address_bytes);
  if (ring == NULL)
    return NULL;
  ring->version = SESSION_VERSION;
  ring->head_size = sizeof *ring;
  ring->number = number;
  ring->record_count = records;
  ring->process = process;
  ring->owner_tid = tid;
  ring->producer.next_id = 1;
  ring->producer.mask = records - 1;
  bool overwrites = capture.session->flags & SESSION_FLIGHT_RECORDER;
  ring->producer.limit = overwrites ? UINT64_MAX : records - RING_MARGIN;
  *ret_slot = take_slot(ring, bytes, address_bytes);
  if (*ret_slot < RINGS_MOST) {
    __atomic_store_n(&ring->magic, RING_MAGIC, __ATOMIC_RELEASE);
    return ring;
  }
  munmap(ring, address_bytes);
  unlink(path);
  errno = EMFILE;
  return NULL;
}

// A new ring, smaller where memory or the process's share of it is short. Takes at most an eighth of what is left, so
// that later threads find something too.
struct ring_head *ring_create(const struct process_head *process, uint32_t tid, uint32_t *ret_slot)
{
  uint32_t number = 0, records = RING_RECORDS_LEAST;
  while (records < capture.session->ring_records && records < RECORDS_MOST)
    records *= 2;
  struct ring_head *ring = NULL;
  bool may_be_smaller = true;
  for (; ring == NULL && may_be_smaller && records >= RING_RECORDS_LEAST; records /= 2) {
    size_t bytes = RING_HEAD_SIZE + records * sizeof(struct record);
    if (!spend(bytes, records == RING_RECORDS_LEAST ? 1 : 8))
      continue;
    if (number == 0)
      number = __atomic_fetch_add(&capture.session->next_ring, 1, __ATOMIC_RELAXED);
    ring = create_sized(number, records, process->number, tid, ret_slot);
    if (ring == NULL)
      give_back(bytes);
    may_be_smaller = errno == ENOSPC || errno == ENOMEM || errno == EFBIG || errno == EDQUOT;
  }
  if (ring == NULL && number != 0)
    file_number_return(&capture.session->next_ring, number);
  return ring;
}

bool ring_grow(struct ring_head *ring)
{
  struct ring_slot *slot = &ring_slots[capture_thread.slot];
  size_t more = ring->record_count * sizeof(struct record), bytes = RING_HEAD_SIZE + more;
  if (ring->producer.limit !=
      ring->record_count - RING_MARGIN) // somebody gave space back after all: it may have wrapped
    return false;
  char path[PATH_MAX];
  file_path_number(path, "ring-", ring->number);
  if (bytes + more > slot->address_bytes || !spend(more, 1))
    return false;
  if (file_extend(path, bytes, bytes + more, ring) != 0) {
    give_back(more);
    return false;
  }
  file_touch(ring, bytes, bytes + more);
  clock_calibrate_if_due(); // a thread that fills its rings runs long enough for one triple to be too few
  slot->bytes = bytes + more;
  __atomic_store_n(&ring->record_count, ring->record_count * 2, __ATOMIC_RELEASE);
  ring->producer.mask = ring->record_count - 1; // the same slot as before for every position so far: it never wrapped
  __atomic_store_n(&ring->producer.limit, ring->record_count - RING_MARGIN, __ATOMIC_RELEASE); // last: now it is used
  return true;
}
