// SPDX-License-Identifier: Apache-2.0
// What a thread does at its ring's limit: takes the room that the collector gave back, gives storage to more slots, doubles
// the ring, returns storage, or wakes the collector. Called by ring.c for the calling thread's own ring. A signal handler
// may come here in the middle of it; what must not happen twice runs with signals held.
#include "capture/capture.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CHECK_RECORDS 8192u   // between two looks here, at most
#define STEP_RECORDS 8192u    // storage taken at once, 256 KiB: some 50 µs of the thread's time
#define RETURN_RECORDS 65536u // storage returned at once, 2 MiB
#define ALL_STEPS UINT32_MAX
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
  return ring->size[(ring->size_count - 1) % RING_SIZES].first;
}

// The first position without a slot: its slot holds a record that waits for the collector. In the first round after a
// growth a slot of the smaller ring may still be in use.
static uint64_t room_end(const struct ring_head *ring)
{
  uint64_t count = slots(ring), first = first_of(ring), tail = tail_of(ring);
  return tail < first ? (first & ~(count - 1)) + count : tail + count;
}

// Whether an entry of the table is not needed any more. One of those that stay must hold for the first record that waits.
static bool may_change_size(const struct ring_head *ring)
{
  return ring->size_count < RING_SIZES || ring->size[(ring->size_count + 1) % RING_SIZES].end <= tail_of(ring);
}

static bool is_largest(const struct ring_head *ring)
{
  return slots(ring) >= ring->most_records || !may_change_size(ring);
}

// Once for all slots of a growth: changes of the program's mappings hold up its other threads.
static bool make_usable(struct ring_head *ring, uint64_t records)
{
  uint64_t usable = ring->usable;
  if (usable < records &&
      capture_file_use(ring, ring_bytes(usable), (records - usable) * sizeof(struct record), true) != 0)
    return false;
  ring->usable = (uint32_t)(usable < records ? records : usable);
  return true;
}

// Storage for more of the slots that the next growth adds. The first step pays for all of them.
static bool back_more(struct ring_head *ring)
{
  uint64_t count = slots(ring), left = 2 * count - ring->backed, records = left < STEP_RECORDS ? left : STEP_RECORDS;
  bool is_first = ring->backed == count;
  if (is_first && !ring_spend(count * sizeof(struct record), true))
    return false;
  if (make_usable(ring, 2 * count) &&
      capture_file_back("ring-", ring->number, ring, ring_bytes(ring->backed), records * sizeof(struct record)) == 0) {
    ring->backed += (uint32_t)records;
    return true;
  }
  if (is_first)
    __atomic_sub_fetch(&capture.session->memory, count * sizeof(struct record), __ATOMIC_RELAXED);
  return false;
}

// Whether all records are complete. One may not be: the thread was interrupted while it wrote it, and this is the handler.
// It would go on with the ring's new mask and the old position.
bool ring_is_complete(struct ring_head *ring)
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

static void double_slots(struct ring_head *ring)
{
  uint64_t count = slots(ring), first = next_first(ring);
  clock_calibrate_if_due(); // a thread that fills its rings runs long enough for one reading to be too few
  ring_set_size(ring, ring->producer.head, first, 2 * count);
  __atomic_store_n(&ring->producer.head, first, __ATOMIC_RELEASE);
}

// Gives storage to the slots of the next growth, `steps` of it, or all; then doubles the ring. Not long after memory was
// short: false. Only with signals held are records looked at: a handler may return the storage of those that were collected.
static bool grow(struct ring_head *ring, unsigned steps)
{
  uint64_t dropped = __atomic_load_n(&ring->producer.dropped, __ATOMIC_RELAXED);
  if (dropped < capture_thread.retry_at || is_largest(ring))
    return false;
  struct signals_held before;
  signals_hold(&before);
  if (steps > 0)
    __atomic_store_n(&ring->keep_records, 0, __ATOMIC_RELAXED); // what the collector has seen is over
  bool has_memory = true, is_complete = ring_is_complete(ring);
  for (unsigned i = 0; is_complete && has_memory && i < steps && ring->backed < 2 * slots(ring); i++)
    has_memory = back_more(ring);
  bool is_due = is_complete && has_memory && steps == ALL_STEPS;
  if (is_due)
    double_slots(ring);
  signals_release(&before);
  capture_thread.retry_at = has_memory ? 0 : dropped + RETRY_DROPS;
  return is_due;
}

// Whether the ring may have `keep` slots from its head on: the records that wait, incomplete ones too, lie in the same ones
// then, with room after them.
static bool may_shrink(const struct ring_head *ring, uint64_t keep)
{
  uint64_t in_round = slots(ring) - 1, head = ring->producer.head, tail = tail_of(ring);
  bool is_low = tail >= first_of(ring) && (tail & ~in_round) == (head & ~in_round) && (head & in_round) < keep / 4;
  return (tail == head || is_low) && may_change_size(ring);
}

// Returns a piece of the storage after the first `keep` slots. False: it cannot be returned.
static bool return_piece(struct ring_head *ring, uint64_t keep)
{
  uint64_t backed = ring->backed, left = backed - keep, records = left < RETURN_RECORDS ? left : RETURN_RECORDS;
  if (capture_file_return(ring, ring_bytes(backed - records), records * sizeof(struct record)) != 0)
    return false;
  ring->backed = (uint32_t)(backed - records);
  __atomic_sub_fetch(&capture.session->memory, ring_counted_bytes(backed) - ring_counted_bytes(ring->backed),
                     __ATOMIC_RELAXED);
  return true;
}

// What the collector asks for, a piece at a time: the ring becomes smaller when its records lie well for it.
static void shrink(struct ring_head *ring)
{
  struct signals_held before;
  signals_hold(&before);
  uint64_t keep = __atomic_load_n(&ring->keep_records, __ATOMIC_RELAXED), head = ring->producer.head;
  bool is_over = keep >= ring->backed, is_large = slots(ring) > keep;
  if (!is_over && (!is_large || may_shrink(ring, keep))) {
    bool is_returned = return_piece(ring, keep);
    if (is_returned && is_large) {
      ring_set_size(ring, head, head, keep);
      __atomic_store_n(&ring->producer.limit, head, __ATOMIC_RELEASE);
    }
    is_over = !is_returned || ring->backed == keep;
    if (ring->backed == keep &&
        capture_file_use(ring, ring_bytes(keep), (ring->usable - keep) * sizeof(struct record), false) == 0)
      ring->usable = (uint32_t)keep;
  }
  if (is_over)
    __atomic_store_n(&ring->keep_records, 0, __ATOMIC_RELAXED);
  signals_release(&before);
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
  bool overwrites = capture.session->flags & SESSION_FLIGHT_RECORDER;
  if (__atomic_load_n(&ring->keep_records, __ATOMIC_RELAXED) != 0)
    shrink(ring);
  for (bool may_grow = true;;) {
    uint64_t before = __atomic_load_n(&ring->producer.limit, __ATOMIC_RELAXED), count = slots(ring);
    uint64_t end = room_end(ring) - RING_MARGIN, head = __atomic_load_n(&ring->producer.head, __ATOMIC_RELAXED);
    uint64_t room = end > head ? end - head : 0, waiting = head - tail_of(ring);
    bool is_stuck = capture_thread.retry_at != 0 || is_largest(ring);
    if (waiting >= WAKE_RECORDS || (is_stuck && waiting >= count / 2))
      wake_collector();
    if (overwrites && is_largest(ring))
      room = UINT64_MAX - head;
    else if (may_grow && (room < records || room < (count < CHECK_RECORDS ? count : CHECK_RECORDS) / 8)) {
      may_grow = grow(ring, ALL_STEPS); // also for a little room, which is not worth coming back for so soon
      continue;
    } else if (room < records) {
      if (!overwrites)
        return false;
      room = UINT64_MAX - head; // no memory: it overwrites what it has
    } else if (count > STEP_RECORDS) {
      (void)grow(ring, waiting >= count / 4 * 3 ? 4 : 0); // ahead of time, so that no growth takes long
    }
    uint64_t check = count / 2 < CHECK_RECORDS ? count / 2 : CHECK_RECORDS;
    if (room != UINT64_MAX - head && room > check && check >= records)
      room = check;
    if (set_limit(ring, before, head + room))
      return true;
  }
}
