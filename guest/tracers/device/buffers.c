// SPDX-License-Identifier: Apache-2.0
// The pool of buffers: each has a state, and who changes it owns it.
#include "tracers/device/buffers.h"

#include <sys/mman.h>

enum { FREE, TAKEN, FILLED, READ };

static bool change(struct buffer *buffer, uint32_t from, uint32_t to)
{
  return __atomic_load_n(&buffer->state, __ATOMIC_RELAXED) == from &&
         __atomic_compare_exchange_n(&buffer->state, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static bool has_memory(struct buffer *buffer, size_t size)
{
  if (buffer->bytes != NULL)
    return true;
  void *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (bytes == MAP_FAILED)
    return false;
  __atomic_store_n(&buffer->bytes, (uint8_t *)bytes, __ATOMIC_RELEASE);
  return true;
}

uint8_t *device_buffers_take(struct buffers *buffers)
{
  for (uint32_t i = 0; i < BUFFERS_MOST; i++) {
    struct buffer *buffer = &buffers->buffer[i];
    if (!change(buffer, FREE, TAKEN))
      continue;
    if (has_memory(buffer, buffers->size))
      return buffer->bytes;
    device_buffers_release(buffer);
    break;
  }
  __atomic_add_fetch(&buffers->refused, 1, __ATOMIC_RELAXED);
  return NULL;
}

void device_buffers_fill(struct buffers *buffers, const uint8_t *bytes, size_t valid)
{
  for (uint32_t i = 0; bytes != NULL && i < BUFFERS_MOST; i++) {
    struct buffer *buffer = &buffers->buffer[i];
    if (__atomic_load_n(&buffer->bytes, __ATOMIC_ACQUIRE) != bytes)
      continue;
    buffer->valid = valid <= buffers->size ? valid : buffers->size;
    __atomic_store_n(&buffer->state, valid == 0 ? FREE : FILLED, __ATOMIC_RELEASE);
    return;
  }
}

struct buffer *device_buffers_next(struct buffers *buffers)
{
  for (uint32_t i = 0; i < BUFFERS_MOST; i++)
    if (change(&buffers->buffer[i], FILLED, READ))
      return &buffers->buffer[i];
  return NULL;
}

uint32_t device_buffers_next_some(struct buffers *buffers, struct buffer **ret_filled, uint32_t most)
{
  uint32_t count = 0;
  while (count < most && (ret_filled[count] = device_buffers_next(buffers)) != NULL)
    count++;
  return count;
}

void device_buffers_release(struct buffer *buffer)
{
  __atomic_store_n(&buffer->state, FREE, __ATOMIC_RELEASE);
}
