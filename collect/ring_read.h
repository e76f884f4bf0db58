// SPDX-License-Identifier: Apache-2.0
// From the bytes of a ring file to checked records. Pure: works on memory that another process may be writing.
#ifndef XSP_COLLECT_RING_READ_H
#define XSP_COLLECT_RING_READ_H

#include "format/session.h"

#include <stddef.h>
#include <string.h>

#define RING_NUMBER_MAXIMUM ((UINT32_C(1) << 24) - 1) // 24 bits of a span's id
#define RING_RECORDS_MOST (UINT32_C(1) << 26)         // 2 GiB: more is no ring of ours

struct ring_view {
  struct ring_head *head; // borrowed
  const struct record *records;
  uint32_t record_count; // checked: a power of two that fits the file
};

enum ring_slot {
  RING_SLOT_RECORD,
  RING_SLOT_EMPTY,       // not written yet, or its writer was killed or is interrupted
  RING_SLOT_OVERWRITTEN, // holds a later record
};

// NULL: fine, `*ret_view` is filled. Else what is wrong, a static text.
const char *ring_check(void *bytes, size_t size, uint32_t number, struct ring_view *ret_view);

// The record at `position`, copied. Partner of the acquire load: capture's release store of `commit`, written last.
static inline enum ring_slot ring_read(const struct ring_view *view, uint64_t position, struct record *ret_record)
{
  const struct record *slot = &view->records[position & (view->record_count - 1)];
  uint32_t expected = (uint32_t)(position + 1);
  uint32_t commit = __atomic_load_n(&slot->commit, __ATOMIC_ACQUIRE);
  if (commit != expected)
    return (int32_t)(commit - expected) > 0 ? RING_SLOT_OVERWRITTEN : RING_SLOT_EMPTY;
  const uint64_t *from = (const uint64_t *)(const void *)slot;
  uint64_t words[4];
  for (int i = 0; i < 4; i++)
    words[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
  memcpy(ret_record, words, sizeof *ret_record);
  // A flight recorder may have begun to overwrite the slot while we copied.
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  commit = __atomic_load_n(&slot->commit, __ATOMIC_RELAXED);
  return commit == expected && ret_record->commit == expected ? RING_SLOT_RECORD : RING_SLOT_OVERWRITTEN;
}

#endif
