// SPDX-License-Identifier: Apache-2.0
// Reads the 104 bytes of a profiler event of LiteRT; see events.h:
//
//   0 tag (pointer)  8 kind (u32)  16 start, us (u64)  24 duration, us (u64)  32-79 memory at begin and end
//   80 node (i64)  88 subgraph (i64)  96 source (u32)
#include "frameworks/litert/events.h"

#include <string.h>

enum kind { KIND_OPERATOR = 2, KIND_DELEGATED = 8 };

#define DURATION_MOST_US (UINT64_C(1) << 50) // longer values are not times

static uint64_t word_at(const unsigned char *at)
{
  uint64_t word;
  memcpy(&word, at, sizeof word);
  return word;
}

size_t litert_events_written(const unsigned char *bytes, size_t size)
{
  while (size > 0 && bytes[size - 1] == LITERT_EVENT_GUARD)
    size--;
  return (size + 7) / 8 * 8;
}

size_t litert_events_read(const unsigned char *bytes, size_t count, struct litert_event *ret_events)
{
  size_t read = 0;
  for (size_t i = 0; i < count; i++, bytes += LITERT_EVENT_BYTES) {
    uint32_t kind;
    memcpy(&kind, bytes + 8, sizeof kind);
    struct litert_event event = {.is_delegated = kind == KIND_DELEGATED,
                                 .start_us = word_at(bytes + 16),
                                 .duration_us = word_at(bytes + 24),
                                 .node = (int64_t)word_at(bytes + 80)};
    memcpy(&event.tag, bytes, sizeof event.tag);
    bool is_known = kind == KIND_OPERATOR || kind == KIND_DELEGATED;
    if (is_known && event.tag != NULL && event.duration_us < DURATION_MOST_US && event.start_us < DURATION_MOST_US &&
        event.node >= 0)
      ret_events[read++] = event;
  }
  return read;
}
