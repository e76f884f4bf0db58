// SPDX-License-Identifier: Apache-2.0
// Tracks by what they are of: made at the first span, found again by one look in a table. One thread: the tracer's own.
// 0: no track, where memory or tracks are used up.
#ifndef XSP_TRACERS_DEVICE_TRACKS_H
#define XSP_TRACERS_DEVICE_TRACKS_H

#include <stdint.h>

struct device_place {
  uint32_t device, context, id; // a context's queues; numbers of the vendor's
  const char *queue;            // "stream": it has an id, and the track is "GPU 0 stream 7"; NULL: it has none
  const char *what;             // after the name: "", " waits"; a place is the same where this is the same pointer
};

uint16_t device_thread_track(uint32_t thread_id);
uint16_t device_track(const struct device_place *place);
// The same for what may overlap: the first lane (lanes.h) in which [start, end] is free.
uint16_t device_track_at(const struct device_place *place, uint64_t start, uint64_t end);

#endif
