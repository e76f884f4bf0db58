// SPDX-License-Identifier: Apache-2.0
// What a thread does at its ring's limit: takes the room that the collector gave back, gives storage to more slots, doubles
// the ring, or wakes the collector. Called by ring.c for the calling thread's own ring. A signal handler may come here in
// the middle of it; what must not happen twice runs with signals held.
#include "capture/capture.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CHECK_RECORDS 8192u // between two looks here, at most
#define STEP_RECORDS 8192u  // storage taken at once, 256 KiB: some 50 µs of the thread's time
#define WAKE_RECORDS 16384u // that wait for the collector
#define RETRY_DROPS 65536u  // records dropped between two tries to grow

static uint64_t tail_of(const struct ring_head *ring)
{
  return __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE); // partner: the collector has read all before it
}

static uint64_t slots(const struct ring_head *ring)
{
  return ring->producer.mask + 1;
}

// The first position of the present size.
static uint64_t first_of(const struct ring_head *ring)
{
  return ring->growth_count == 0 ? 0 : ring->growth[ring->growth_count - 1].first;
}

// The first position without a slot: its slot has no storage yet, or holds a record that waits for the collector. Slots
// get their storage in order, during the first round after a growth; and that round ends where a slot of the smaller
// ring may still be in use.
static uint64_t room_end(const struct ring_head *ring)
{
  uint64_t count = slots(ring), first = first_of(ring), tail = tail_of(ring), round = first & ~(count - 1);
  if (ring->backed < count)
    return round + ring->backed;
  return tail < first ? round + count : tail + count;
}

// Storage for more slots, up to `count`.
static bool back_more(struct ring_head *ring, uint64_t count)
{
  uint64_t records = count - ring->backed < STEP_RECORDS ? count - ring->backed : STEP_RECORDS;
  if (file_back("ring-", ring->number, ring, ring_bytes(ring->backed), records * sizeof(struct record)) != 0)
    return false;
  ring->backed += (uint32_t)records;
  return true;
}

// Whether all records are complete. One may not be: the thread was interrupted while it wrote it, and this is the handler.
// It would go on with the ring's new mask and the old position.
static bool is_complete(struct ring_head *ring)
{
  const struct record *records = (const struct record *)((const char *)ring + RING_HEAD_SIZE);
  uint64_t tail = tail_of(ring), first = first_of(ring), position = ring->complete;
  position = position > tail ? position : tail;
  position = position > first ? position : first;
  while (position < ring->producer.head && records[position & ring->producer.mask].commit == (uint32_t)(position + 1))
    position++;
  return (ring->complete = position) >= ring->producer.head;
}

// Where positions go on in twice as many slots. With all records that wait in the lower half of a round of the new size,
// nothing changes for them; else the round's upper half is next, and they stay where they are.
static uint64_t next_first(const struct ring_head *ring)
{
  uint64_t count = slots(ring), head = ring->producer.head, tail = tail_of(ring), last = head > tail ? head - 1 : tail;
  if ((tail & ~(count - 1)) == (last & ~(count - 1)) && (tail & count) == 0)
    return head;
  uint64_t upper = (head & ~(2 * count - 1)) + count;
  return upper >= head ? upper : upper + 2 * count;
}

static bool grow(struct ring_head *ring)
{
  uint64_t count = slots(ring);
  if (count >= ring->most_records || ring->growth_count >= RING_GROWTHS_MOST || !is_complete(ring))
    return false;
  if (!ring_spend(count * sizeof(struct record), true))
    return false;
  if (!back_more(ring, 2 * count)) {
    __atomic_sub_fetch(&capture.session->memory, count * sizeof(struct record), __ATOMIC_RELAXED);
    return false;
  }
  clock_calibrate_if_due(); // a thread that fills its rings runs long enough for one reading to be too few
  uint64_t first = next_first(ring);
  ring->growth[ring->growth_count] = (struct ring_growth){ring->producer.head, first};
  __atomic_store_n(&ring->growth_count, ring->growth_count + 1, __ATOMIC_RELEASE); // partner: ring_seek of collect
  ring->producer.mask = 2 * count - 1;
  __atomic_store_n(&ring->producer.head, first, __ATOMIC_RELEASE);
  return true;
}

// More slots or more storage, unless that was tried not long ago.
static bool enlarge(struct ring_head *ring)
{
  uint64_t dropped = __atomic_load_n(&ring->producer.dropped, __ATOMIC_RELAXED);
  if (dropped < capture_thread.retry_at)
    return false;
  sigset_t before;
  signals_hold(&before);
  bool is_larger = ring->backed < slots(ring) ? back_more(ring, slots(ring)) : grow(ring);
  signals_release(&before);
  capture_thread.retry_at = is_larger ? 0 : dropped + RETRY_DROPS;
  return is_larger;
}

static void wake_collector(void)
{
  struct session_head *session = capture.session;
  if (__atomic_load_n(&session->waits, __ATOMIC_RELAXED) == 0 ||
      __atomic_exchange_n(&session->waits, 0, __ATOMIC_RELAXED) == 0)
    return;
  __atomic_add_fetch(&session->wakes, 1, __ATOMIC_RELEASE);
  (void)syscall(SYS_futex, &session->wakes, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

// False: a handler has set another limit meanwhile, perhaps in a larger ring.
static bool set_limit(struct ring_head *ring, uint64_t before, uint64_t limit)
{
  return __atomic_compare_exchange_n(&ring->producer.limit, &before, limit, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

bool ring_make_room(struct ring_head *ring, uint32_t records)
{
  for (bool may_grow = true;;) {
    uint64_t before = __atomic_load_n(&ring->producer.limit, __ATOMIC_RELAXED), count = slots(ring);
    uint64_t end = room_end(ring) - RING_MARGIN, head = __atomic_load_n(&ring->producer.head, __ATOMIC_RELAXED);
    uint64_t room = end > head ? end - head : 0;
    bool is_recorder = capture.session->flags & SESSION_FLIGHT_RECORDER;
    if (is_recorder && count >= ring->most_records && ring->backed >= count)
      room = UINT64_MAX - head;
    if (head > tail_of(ring) + WAKE_RECORDS)
      wake_collector();
    // A little is not worth coming back for so soon.
    if (room < records || (may_grow && room < count / 8 && room < CHECK_RECORDS / 8)) {
      may_grow = may_grow && enlarge(ring);
      if (may_grow || room >= records)
        continue;
      if (!is_recorder || ring->backed < count) {
        wake_collector();
        return false;
      }
      room = UINT64_MAX - head; // no memory: it overwrites what it has
    }
    (void)is_complete(ring); // a little at a time
    uint64_t check = count / 2 < CHECK_RECORDS ? count / 2 : CHECK_RECORDS;
    if (room != UINT64_MAX - head && room > check && check >= records)
      room = check;
    if (set_limit(ring, before, head + room))
      return true;
  }
}
