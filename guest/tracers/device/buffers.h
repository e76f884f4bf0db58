// SPDX-License-Identifier: Apache-2.0
// Buffers for records of a vendor: a fixed number, so that a program that launches faster than its records are read
// loses records, counted, instead of memory. Without locks: they are taken and filled on the program's threads.
#ifndef XSP_TRACERS_DEVICE_BUFFERS_H
#define XSP_TRACERS_DEVICE_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BUFFERS_MOST 256u

struct buffer {
  uint8_t *bytes; // atomic; mapped at the first use, never unmapped
  size_t valid;
  uint32_t state; // atomic
};

struct buffers {
  size_t size;      // of each, in bytes; the owner's choice
  uint64_t refused; // atomic: times that none was free
  struct buffer buffer[BUFFERS_MOST];
};

uint8_t *device_buffers_take(struct buffers *buffers); // NULL: none is free
void device_buffers_fill(struct buffers *buffers, const uint8_t *bytes,
                         size_t valid);                      // it has `valid` bytes of records
struct buffer *device_buffers_next(struct buffers *buffers); // a filled one, or NULL. One thread
uint32_t device_buffers_next_some(struct buffers *buffers, struct buffer **ret_filled,
                                  uint32_t most);   // how many there are
void device_buffers_release(struct buffer *buffer); // it is free again

#endif
