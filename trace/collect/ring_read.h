// SPDX-License-Identifier: Apache-2.0
// From the bytes of a ring file to checked records. Pure: works on memory that another process may be writing.
#ifndef XSP_COLLECT_RING_READ_H
#define XSP_COLLECT_RING_READ_H

#include "format/session.h"

#include <stddef.h>
#include <string.h>

#define RING_NUMBER_MAXIMUM ((UINT32_C(1) << 24) - 1) // 24 bits of a span's id

struct ring_view {
  struct ring_head *head; // borrowed
  const struct record *records;
  uint32_t record_count; // slots that are mapped: those of the ring's size when it was checked
  uint64_t slots;        // of the ring when it wrote the position that ring_seek was last asked for
  uint64_t until;        // the first position for which ring_seek has to be asked again
};

enum ring_read_slot {
  RING_SLOT_RECORD,
  RING_SLOT_EMPTY,       // not written yet, or its writer was killed or is interrupted
  RING_SLOT_OVERWRITTEN, // holds a later record
};

// NULL: fine, `*ret_view` is filled, for position 0. Else what is wrong, a static text.
const char *ring_read_check(void *bytes, size_t size, uint32_t number, struct ring_view *ret_view);
// The slots of the ring now; 0: its head makes no sense.
uint32_t ring_read_slots(const struct ring_head *head);

// The ring's size when it wrote `position`. Returns the position, or where the writer went on where a size ended there. For
// positions from the ring's tail up to a head that was read (acquire) before; at a new head, ask again.
static inline uint64_t ring_seek(struct ring_view *view, uint64_t position)
{
  // Partner: ring_set_size. A table that makes no sense leads to empty slots, at worst.
  uint32_t count = __atomic_load_n(&view->head->size_count, __ATOMIC_ACQUIRE);
  view->until = UINT64_MAX;
  for (uint32_t back = 1; back <= count && back <= RING_SIZES; back++) {
    const struct ring_size *size = &view->head->size[(count - back) % RING_SIZES];
    uint64_t end = __atomic_load_n(&size->end, __ATOMIC_RELAXED),
             first = __atomic_load_n(&size->first, __ATOMIC_RELAXED);
    if (position >= end) {
      view->slots = __atomic_load_n(&size->records, __ATOMIC_RELAXED);
      return position > first ? position : first;
    }
    view->until = end;
  }
  return position;
}

// The record at `position`, below `until`, copied. Partner of the acquire load: capture's release store of `commit`, written
// last.
static inline enum ring_read_slot ring_read(const struct ring_view *view, uint64_t position, struct record *ret_record)
{
  uint64_t place = position & (view->slots - 1);
  if (place >= view->record_count)
    return RING_SLOT_EMPTY; // the ring has grown since it was mapped
  const struct record *slot = &view->records[place];
  uint32_t expected = (uint32_t)(position + 1);
  uint32_t commit = __atomic_load_n(&slot->commit, __ATOMIC_ACQUIRE);
  if (commit == 0 && expected != 0)
    return RING_SLOT_EMPTY; // never written
  if (commit != expected)
    return (int32_t)(commit - expected) > 0 ? RING_SLOT_OVERWRITTEN : RING_SLOT_EMPTY;
  const uint64_t *from = (const uint64_t *)(const void *)slot;
  uint64_t words[4];
  for (int i = 0; i < 4; i++)
    words[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
  memcpy(ret_record, words, sizeof *ret_record);
  if (ret_record->type == 0)
    return RING_SLOT_EMPTY; // never written, where the expected mark is 0
  // A flight recorder may have begun to overwrite the slot while we copied.
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  commit = __atomic_load_n(&slot->commit, __ATOMIC_RELAXED);
  return commit == expected && ret_record->commit == expected ? RING_SLOT_RECORD : RING_SLOT_OVERWRITTEN;
}

#endif
