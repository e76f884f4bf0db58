// SPDX-License-Identifier: Apache-2.0
// Rings of the calling thread: get one, write to it, hand it on when the thread ends. The process's rings are claimed
// by compare-and-swap; everything else belongs to one thread and its signal handlers.
//
//                tail: the collector's     head: the owner's        limit
//   positions -----|=========================|------------------------|------------->   slot = position & mask
//     consumed     | records that wait       | room                   | look for more room first
//
// - Write: take a position by one add to `head`, so that a signal handler gets the next; fill the slot; store `commit`,
//   which is the position + 1, by release. The collector takes a record with the `commit` that it expects, so never
//   half of one.
// - At the limit: ring_make_room finds what the collector gave back, or more memory. Else the record is dropped and
//   counted.
// - Open spans are in a list in the ring's head. Those that a thread leaves open become records before its ring is used
//   again.
// - Owner: a thread claims a ring that is free, or whose owner is dead, else makes one. It begins with a record of its
//   own id: the records after it are its own. The destructor of a thread-specific key frees the ring at the thread's
//   end.
//
//   owner_tid:   0 -- claim --> tid -- release, at the thread's end --> 0
//                     dead tid -- claim, once tgkill reports ESRCH --> tid
#include "capture/capture.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <xsp/span_inline.h>

#define REUSE_ROOM (RING_OPEN_SPANS + 1) // records that a ring must take to be handed on: open spans, the new thread
#define DEAD_CHECKS 8u                   // owners asked after per acquisition
#define RETRY_SPANS 1024u                // spans lost between two tries to get a ring
#define KEYS_WITHOUT_MEMORY 32u // glibc: pthread_setspecific calls malloc for later keys, perhaps in a signal handler

_Static_assert(sizeof(struct xsp_ring_v1) == sizeof(struct ring_producer), "one layout, two names");
_Static_assert(offsetof(struct xsp_ring_v1, head) == offsetof(struct ring_producer, head), "head");
_Static_assert(offsetof(struct xsp_ring_v1, limit) == offsetof(struct ring_producer, limit), "limit");
_Static_assert(offsetof(struct xsp_ring_v1, depth_id) == offsetof(struct ring_producer, depth),
               "depth is the low half");
_Static_assert(offsetof(struct ring_producer, next_id) == offsetof(struct ring_producer, depth) + 4,
               "id the high half");
_Static_assert(offsetof(struct xsp_ring_v1, open) == offsetof(struct ring_producer, open), "open");
_Static_assert(sizeof(struct xsp_open_v1) == sizeof(struct open_span) && XSP_OPEN_SPANS_V1 == RING_OPEN_SPANS, "open");
_Static_assert(sizeof(struct xsp_record_v1) == sizeof(struct record), "record");
_Static_assert(offsetof(struct record, type) == 24 && offsetof(struct record, commit) == 28, "type_commit");
_Static_assert(XSP_RECORD_SPAN_V1 == RECORD_SPAN, "type");
_Static_assert(sizeof(struct xsp_thread_v1) == 32, "frozen, version 1");
_Static_assert(offsetof(struct xsp_ring_v1, mask) == offsetof(struct ring_producer, mask), "mask");
_Static_assert(offsetof(struct ring_head, producer) + XSP_RECORDS_OFFSET_V1 == RING_HEAD_SIZE, "records");
_Static_assert(offsetof(struct xsp_ring_v1, open) == 64 && sizeof(struct xsp_ring_v1) == 1088, "frozen, version 1");

__thread struct xsp_thread_v1 xsp_thread_v1 __attribute__((tls_model("initial-exec")));
__thread struct capture_thread capture_thread __attribute__((tls_model("initial-exec")));

static uint32_t dead_cursor;
static pthread_key_t key;
static bool key_made;

static uint32_t thread_id(void)
{
  return (uint32_t)syscall(SYS_gettid);
}

static struct xsp_ring_v1 *producer(struct ring_head *ring)
{
  return (struct xsp_ring_v1 *)&ring->producer;
}

static uint64_t room(struct ring_head *ring)
{
  uint64_t limit = __atomic_load_n(&ring->producer.limit, __ATOMIC_ACQUIRE);
  return limit > ring->producer.head ? limit - ring->producer.head : 0;
}

static void put(struct ring_head *ring, uint64_t start, uint64_t duration, uint64_t site_id, uint32_t type_kind_track)
{
  uint64_t position = xsp_inline_add_v1(&ring->producer.head, 1);
  struct xsp_record_v1 *records = (struct xsp_record_v1 *)((char *)ring + RING_HEAD_SIZE);
  struct xsp_record_v1 *record = &records[position & ring->producer.mask];
  record->start = start;
  record->duration = duration;
  record->site_id = site_id;
  // Partner: the collector takes `commit`, the upper half, by acquire.
  __atomic_store_n(&record->type_commit, type_kind_track | (position + 1) << 32, __ATOMIC_RELEASE);
}

// A handler that forks leaves a child which goes on here without a ring: hence one load and one test everywhere.
struct ring_head *ring_own(void)
{
  return __atomic_load_n(&capture_thread.ring, __ATOMIC_RELAXED);
}

void ring_put(uint64_t start, uint64_t duration, uint64_t site_id, uint32_t type_kind_track)
{
  struct ring_head *ring = ring_own();
  if (ring != NULL)
    put(ring, start, duration, site_id, type_kind_track);
}

struct xsp_ring_v1 *ring_own_producer(void)
{
  struct ring_head *ring = ring_own();
  return ring == NULL ? NULL : producer(ring);
}

// ---- the open list
int ring_find_open(uint64_t start, uint64_t site_id)
{
  struct xsp_ring_v1 *ring = ring_own_producer();
  if (ring == NULL)
    return -1;
  uint32_t depth = (uint32_t)ring->depth_id, listed = depth < RING_OPEN_SPANS ? depth : RING_OPEN_SPANS, valid = 0;
  for (uint32_t i = listed; i-- > 0;) {
    if (ring->open[i].start == start && ring->open[i].site_id == site_id)
      return (int)i;
    valid += ring->open[i].start != 0;
  }
  return depth > valid ? (int)RING_OPEN_SPANS : -1; // more are open than are listed: it is one of those
}

void ring_remove_open(int place)
{
  struct xsp_ring_v1 *ring = ring_own_producer();
  if (ring == NULL)
    return;
  uint32_t depth = (uint32_t)ring->depth_id, listed = depth < RING_OPEN_SPANS ? depth : RING_OPEN_SPANS;
  uint32_t at = (uint32_t)place;
  if (at < listed) {
    __atomic_store_n(&ring->open[at].start, 0, __ATOMIC_RELEASE);
    for (; at + 1 < listed; at++) { // what was started later moves down, each entry valid in one place at most
      uint64_t start = ring->open[at + 1].start;
      __atomic_store_n(&ring->open[at + 1].start, 0, __ATOMIC_RELEASE);
      __atomic_store_n(&ring->open[at].site_id, ring->open[at + 1].site_id, __ATOMIC_RELAXED);
      __atomic_store_n(&ring->open[at].start, start, __ATOMIC_RELEASE);
    }
  }
  (void)xsp_inline_add_v1(&ring->depth_id, ~UINT64_C(0));
}

// Notes what the last owner left open, so that it is reported, and empties the list for the next.
static void close_open(struct ring_head *ring)
{
  struct xsp_ring_v1 *lines = producer(ring);
  for (uint32_t i = 0; i < RING_OPEN_SPANS; i++) {
    if (lines->open[i].start == 0)
      continue;
    if (room(ring) > 0 || ring_make_room(ring, 1))
      put(ring, lines->open[i].start, 0, lines->open[i].site_id, RECORD_OPEN);
    else
      (void)xsp_inline_add_v1(&lines->dropped, 1);
    __atomic_store_n(&lines->open[i].start, 0, __ATOMIC_RELEASE);
  }
  // One instruction: where a thread ends, a handler may take ids in between.
  (void)xsp_inline_add_v1(&lines->depth_id, -(uint64_t)(uint32_t)lines->depth_id);
}

// ---- getting a ring
static bool claim(uint32_t slot, uint32_t from, uint32_t tid)
{
  struct ring_head *ring = __atomic_load_n(&ring_slots[slot].ring, __ATOMIC_ACQUIRE);
  // Partner: `release` below gives the ring up with everything its last owner wrote.
  if (ring == NULL ||
      !__atomic_compare_exchange_n(&ring->owner_tid, &from, tid, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
    return false;
  capture_thread.retry_at = 0;
  if (ring_is_complete(ring) && (room(ring) >= REUSE_ROOM || ring_make_room(ring, REUSE_ROOM)))
    return true;
  __atomic_store_n(&ring->owner_tid, 0, __ATOMIC_RELEASE); // for when it has been drained
  return false;
}

// A ring that a thread of this process has left: given up at its end, or orphaned by an end without destructors.
static struct ring_head *reuse(uint32_t tid, uint32_t *ret_slot)
{
  uint32_t count = __atomic_load_n(&ring_count, __ATOMIC_ACQUIRE);
  for (uint32_t slot = 0; slot < count; slot++) {
    struct ring_head *ring = __atomic_load_n(&ring_slots[slot].ring, __ATOMIC_ACQUIRE);
    if (ring != NULL && __atomic_load_n(&ring->owner_tid, __ATOMIC_RELAXED) == 0 && claim(slot, 0, tid)) {
      *ret_slot = slot;
      return ring;
    }
  }
  for (uint32_t i = 0; i < DEAD_CHECKS && i < count; i++) {
    uint32_t slot = __atomic_fetch_add(&dead_cursor, 1, __ATOMIC_RELAXED) % count;
    struct ring_head *ring = __atomic_load_n(&ring_slots[slot].ring, __ATOMIC_ACQUIRE);
    uint32_t owner = ring == NULL ? 0 : __atomic_load_n(&ring->owner_tid, __ATOMIC_RELAXED);
    if (owner != 0 && owner != tid && syscall(SYS_tgkill, capture.pid, owner, 0) != 0 && errno == ESRCH &&
        claim(slot, owner, tid)) {
      *ret_slot = slot;
      return ring;
    }
  }
  return NULL;
}

static uint32_t current_name(void)
{
  char name[17] = "";
  if (capture_thread.name != 0)
    return capture_thread.name;
  return prctl(PR_GET_NAME, name) == 0 ? catalog_text(name) : 0;
}

static void publish(struct ring_head *ring, uint32_t slot)
{
  struct capture_thread *thread = &capture_thread;
  thread->slot = slot;
  thread->retry_at = 0; // what was tried for another ring says nothing
  thread->ring = ring;
  if (capture.session->tick_clock != SESSION_TICKS_TSC || counting_is_wanted())
    return; // the inline path reads the counter: without it, or with counters, every span takes the slow path
  __atomic_signal_fence(__ATOMIC_SEQ_CST); // a handler of this thread sees all of the ring or none
  xsp_thread_v1.ring = producer(ring);
}

static bool acquire(void)
{
  struct process_head *process = session_process();
  uint32_t tid = thread_id(), slot;
  struct ring_head *ring = process == NULL ? NULL : reuse(tid, &slot);
  if (process != NULL && ring == NULL)
    ring = ring_create(process, tid, &slot);
  if (ring == NULL)
    return false;
  close_open(ring);
  put(ring, tid, process->number, current_name(), RECORD_THREAD);
  clock_calibrate_if_due();
  counting_open();
  if (key_made)
    pthread_setspecific(key, &capture_thread); // its destructor gives the ring up
  publish(ring, slot);
  return true;
}

bool ring_acquire(void)
{
  struct capture_thread *thread = &capture_thread;
  if (thread->ring != NULL)
    return true;
  if (thread->attempts != 0 && ++thread->attempts % RETRY_SPANS != 0)
    return false;
  struct signals_held before;
  signals_hold(&before);
  bool acquired = thread->ring != NULL || acquire(); // a handler may have been here before the signals were held
  thread->attempts = acquired ? 0 : 1;
  signals_release(&before);
  return acquired;
}

// ---- a full ring
bool ring_room(uint32_t records)
{
  struct ring_head *ring = ring_own();
  if (ring == NULL)
    return false;
  if (room(ring) >= records || ring_make_room(ring, records))
    return true;
  ring = ring_own();
  if (ring != NULL)
    (void)xsp_inline_add_v1(&ring->producer.dropped, records);
  return false;
}

void ring_lost(uint64_t records)
{
  struct ring_head *ring = ring_own();
  if (ring != NULL)
    (void)xsp_inline_add_v1(&ring->producer.dropped, records);
  else
    session_count_lost(records);
}

// ---- ends
static void release(void *unused)
{
  struct capture_thread *thread = &capture_thread;
  struct ring_head *ring = thread->ring;
  if (ring == NULL)
    return;
  xsp_thread_v1.ring = NULL;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  close_open(ring);
  counting_close();
  thread->ring = NULL;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  __atomic_store_n(&ring->owner_tid, 0, __ATOMIC_RELEASE); // partner: claim
}

void ring_prepare(void)
{
  key_made = pthread_key_create(&key, release) == 0;
  if (key_made && key >= KEYS_WITHOUT_MEMORY) { // rings of ended threads are found by their dead owners then
    pthread_key_delete(key);
    key_made = false;
  }
}

// The parent's rings stay its own. Private memory takes their addresses, because the fork may have come from a signal
// handler that interrupted a writer: what that still writes must go nowhere.
void ring_start_clean(void)
{
  memset(&xsp_thread_v1, 0, sizeof xsp_thread_v1);
  counting_start_clean();
  uint32_t name = capture_thread.name;
  memset(&capture_thread, 0, sizeof capture_thread);
  capture_thread.name = name;
  for (uint32_t slot = 0; slot < ring_count; slot++)
    if (ring_slots[slot].ring != NULL) {
      char *ring = (char *)ring_slots[slot].ring;
      size_t used = ring_bytes(ring_slots[slot].ring->backed); // writers are in no other slots
      (void)munmap(ring + used, ring_slots[slot].bytes - used);
      (void)mmap(ring, used, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
      ring_slots[slot].ring = NULL;
    }
  ring_count = 0;
}
