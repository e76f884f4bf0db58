// SPDX-License-Identifier: Apache-2.0
// The events of LiteRT's profiler. Its package has no header for them: the layout is measured (ai-edge-litert 2.3.0), and
// how much the library writes for an event is checked each time. Pure.
#ifndef XSP_FRAMEWORKS_LITERT_EVENTS_H
#define XSP_FRAMEWORKS_LITERT_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LITERT_EVENT_BYTES 104u
#define LITERT_EVENT_ROOM 256u // given to the library for each, filled with LITERT_EVENT_GUARD before
#define LITERT_EVENT_GUARD 0xaa
#define LITERT_EVENTS_MOST 65536

struct litert_event { // of an operator; all others (buffers, the call as a whole, telemetry) are left out
  const char *tag;    // the library's: valid until its profiler is reset. "CONV_2D", "Convolution (NHWC, F32) IGEMM"
  bool is_delegated;  // ran in XNNPACK: no start, and `node` counts its own nodes
  uint64_t start_us;  // CLOCK_MONOTONIC; 0 where delegated
  uint64_t duration_us;
  int64_t node; // an operator of the model, or one of the delegate's
};

// How many bytes of `size` the library wrote: up to the last word that is not the guard.
size_t litert_events_written(const unsigned char *bytes, size_t size);
// Reads `count` events into `ret_events`, which has room for as many. Returns how many are operators.
size_t litert_events_read(const unsigned char *bytes, size_t count, struct litert_event *ret_events);

#endif
