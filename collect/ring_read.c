// SPDX-License-Identifier: Apache-2.0
// Checks a ring file before its first record is read. Called by session.c when a ring appears.
#include "collect/ring_read.h"

#include <stdbool.h>

// Each word is read once: a hostile writer may change it behind the check.
static uint32_t slots_of(const struct ring_head *head, uint32_t *ret_first)
{
  uint32_t first = __atomic_load_n(&head->first_records, __ATOMIC_RELAXED);
  uint32_t growths = __atomic_load_n(&head->growth_count, __ATOMIC_ACQUIRE);
  bool is_sound = first >= RING_RECORDS_LEAST && (first & (first - 1)) == 0 && growths <= RING_GROWTHS_MOST &&
                  first <= RING_RECORDS_MOST >> growths;
  *ret_first = first;
  return is_sound ? first << growths : 0;
}

uint32_t ring_slots(const struct ring_head *head)
{
  uint32_t first;
  return slots_of(head, &first);
}

const char *ring_check(void *bytes, size_t size, uint32_t number, struct ring_view *ret_view)
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
  uint32_t first, count = slots_of(head, &first);
  if (count == 0)
    return "the ring's size is absurd";
  if ((size - RING_HEAD_SIZE) / sizeof(struct record) < count)
    return "the ring is shorter than it says";
  *ret_view = (struct ring_view){.head = head,
                                 .records = (const void *)((const char *)bytes + RING_HEAD_SIZE),
                                 .record_count = count,
                                 .slots = first};
  return NULL;
}
