// SPDX-License-Identifier: Apache-2.0
// Rings that stay nearly empty return their storage to the session: a thread of the program makes its own ring smaller, the
// collector those without a thread. Called at each look at the rings.
#include "collect/place.h"
#include "collect/state.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

// Sends an owner whose records are all collected to its slow path at its next one. Later than that it comes by itself. The
// limit is another each time, so that an owner who sets it notices.
static void call_owner(struct ring_head *head, uint64_t position, uint64_t tail)
{
  uint64_t limit = __atomic_load_n(&head->producer.limit, __ATOMIC_RELAXED);
  if (position == tail && limit > position)
    (void)__atomic_compare_exchange_n(&head->producer.limit, &limit, position, false, __ATOMIC_RELEASE,
                                      __ATOMIC_RELAXED);
}

// With the rights of an owner. False: not all is collected yet, or the file system cannot.
static bool shrink(struct collect_session *session, uint32_t number, uint32_t keep)
{
  struct ring_file *ring = &session->rings.items[number];
  struct ring_head *head = ring->view.head;
  uint64_t position = __atomic_load_n(&head->producer.head, __ATOMIC_RELAXED), from = ring_bytes(keep);
  uint32_t backed = __atomic_load_n(&head->backed, __ATOMIC_RELAXED);
  struct stat facts;
  char name[32];
  snprintf(name, sizeof name, "ring-%u", number);
  int file = position == ring->resume && backed > keep ? collect_place_file(session->folder, name, O_RDWR, &facts) : -1;
  if (file < 0)
    return false;
  bool is_done = (uint64_t)facts.st_size > from && fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                                             (off_t)from, facts.st_size - (off_t)from) == 0;
  close(file);
  if (!is_done)
    return false;
  if (head->producer.mask >= keep)
    ring_set_size(head, position, position, keep);
  head->producer.limit = position;
  head->backed = keep;
  __atomic_sub_fetch(&session->head->memory, ring_counted_bytes(backed) - ring_counted_bytes(keep), __ATOMIC_RELAXED);
  return true;
}

// As long as the collector is its owner, no thread takes the ring. After a kill in between none ever does. Nothing is lost
// by it: all of the ring was collected.
static void shrink_unowned(struct collect_session *session, uint32_t number, uint32_t keep)
{
  struct ring_head *head = session->rings.items[number].view.head;
  uint32_t nobody = 0; // partners: `claim` and `release` of capture
  if (!__atomic_compare_exchange_n(&head->owner_tid, &nobody, RING_OWNER_COLLECTOR, false, __ATOMIC_ACQUIRE,
                                   __ATOMIC_RELAXED))
    return;
  if (shrink(session, number, keep))
    __atomic_store_n(&head->keep_records, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&head->owner_tid, 0, __ATOMIC_RELEASE);
}

static void ask(struct collect_session *session, uint32_t number, uint64_t keep)
{
  struct ring_file *ring = &session->rings.items[number];
  struct ring_head *head = ring->view.head;
  if (session->flight_recorder || __atomic_load_n(&head->backed, __ATOMIC_RELAXED) <= keep)
    return;
  if (__atomic_load_n(&head->owner_tid, __ATOMIC_RELAXED) == 0) {
    shrink_unowned(session, number, (uint32_t)keep);
  } else {
    __atomic_store_n(&head->keep_records, (uint32_t)keep, __ATOMIC_RELAXED);
    ring->is_asked = true;
  }
}

// A ring that was never more than a quarter full of `keep` slots for a while needs no more of them.
void collect_session_look_for_quiet(struct collect_session *session, uint32_t number, uint64_t position, int64_t now_ns)
{
  struct ring_file *ring = &session->rings.items[number];
  uint64_t waiting = position > ring->resume ? position - ring->resume : 0, least = session->head->ring_records,
           keep = RING_RECORDS_LEAST;
  ring->most_waiting = waiting > ring->most_waiting ? waiting : ring->most_waiting;
  if (ring->quiet_since_ns == 0)
    ring->quiet_since_ns = now_ns;
  if (now_ns - ring->quiet_since_ns >= session->quiet_ns) {
    while ((keep < least || keep < 4 * ring->most_waiting) && keep < RING_RECORDS_MOST)
      keep *= 2;
    ask(session, number, keep);
    ring->quiet_since_ns = now_ns;
    ring->most_waiting = waiting;
  }
  ring->is_asked = ring->is_asked && __atomic_load_n(&ring->view.head->keep_records, __ATOMIC_RELAXED) != 0;
  if (ring->is_asked)
    call_owner(ring->view.head, position, ring->resume);
}
