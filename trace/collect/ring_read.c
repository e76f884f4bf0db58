// SPDX-License-Identifier: Apache-2.0
// Checks a ring file before its first record is read. Called by session.c when a ring appears.
#include "collect/ring_read.h"

#include <stdbool.h>

// Each word is read once: a hostile writer may change it behind the check.
uint32_t ring_read_slots(const struct ring_head *head)
{
  uint32_t count = __atomic_load_n(&head->size_count, __ATOMIC_ACQUIRE);
  uint64_t records = __atomic_load_n(&head->size[(count - 1) % RING_SIZES].records, __ATOMIC_RELAXED);
  bool is_sound = records >= RING_RECORDS_LEAST && records <= RING_RECORDS_MOST && (records & (records - 1)) == 0;
  return is_sound ? (uint32_t)records : 0;
}

const char *ring_read_check(void *bytes, size_t size, uint32_t number, struct ring_view *ret_view)
{
  struct ring_head *head = bytes;
  if (size < RING_HEAD_SIZE)
    return "the ring is cut short";
  if (__atomic_load_n(&head->magic, __ATOMIC_ACQUIRE) != RING_MAGIC)
    return "the ring is none of ours";
  if (head->version != SESSION_VERSION)
    return "the ring has another version";
  if (head->head_size < sizeof *head || head->head_size > RING_HEAD_SIZE)
    return "the ring's head is broken";
  if (head->number != number || number > RING_NUMBER_MAXIMUM)
    return "the ring's number is not its file's";
  uint32_t count = ring_read_slots(head);
  if (count == 0)
    return "the ring's size is absurd";
  if ((size - RING_HEAD_SIZE) / sizeof(struct record) < count)
    return "the ring is shorter than it says";
  *ret_view = (struct ring_view){.head = head,
                                 .records = (const void *)((const char *)bytes + RING_HEAD_SIZE),
                                 .record_count = count,
                                 .slots = count};
  return NULL;
}
