// SPDX-License-Identifier: Apache-2.0
// The process's table of rings. Private to ring.c and ring_create.c.
#ifndef XSP_CAPTURE_RING_CREATE_H
#define XSP_CAPTURE_RING_CREATE_H

#include "capture/capture.h"

#define RINGS_MOST 16384u

struct ring_slot {
  struct ring_head *ring;      // atomic; NULL: being filled
  size_t bytes, address_bytes; // mapped; set aside
};
extern struct ring_slot ring_slots[RINGS_MOST];
extern uint32_t ring_count; // atomic

// A ring of the thread `tid` and its slot. NULL: no memory, no room in the table, or the process's share is used up.
struct ring_head *ring_create(const struct process_head *process, uint32_t tid, uint32_t *ret_slot);
bool ring_grow(struct ring_head *ring); // the calling thread's, full, which nobody drains: twice its size. False: not

#endif
