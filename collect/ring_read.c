// SPDX-License-Identifier: Apache-2.0
// Checks a ring file before its first record is read. Called by session.c when a ring appears.
#include "collect/ring_read.h"

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
  uint32_t count = head->record_count;
  if (count < RING_RECORDS_LEAST || count > RING_RECORDS_MOST || (count & (count - 1)) != 0)
    return "the ring's size is absurd";
  if ((size - RING_HEAD_SIZE) / sizeof(struct record) < count)
    return "the ring is shorter than it says";
  ret_view->head = head;
  ret_view->records = (const struct record *)(const void *)((const char *)bytes + RING_HEAD_SIZE);
  ret_view->record_count = count;
  return NULL;
}
