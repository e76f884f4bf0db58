// SPDX-License-Identifier: Apache-2.0
// A tracer's own thread: publishes what a vendor's profiler has recorded, while the program runs and once more at its exit.
// One per tracer.
#ifndef XSP_TRACERS_DEVICE_WORKER_H
#define XSP_TRACERS_DEVICE_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct device_worker_options {
  const char *thread_name; // at most 15 bytes
  uint64_t exit_wait_ns;   // how long a flush and the program's exit may wait
  void (*publish)(void);   // on the thread, after each wake and each period_ns: what is here already
  void (*look)(
      bool is_ending); // on the thread, every 250 ms, at a flush and at the end: asks the vendor for the rest, too
  uint64_t period_ns;  // 0, or more than 250 ms: 250 ms
};

// The functions may be called from now on. False: why there is no thread.
bool device_worker_start(const struct device_worker_options *options, char *why, size_t why_size);
// There is something to publish. Any thread, any callback; never waits.
void device_worker_wake(void);
// On any other thread. Returns when all work that the device has ended is published, at the latest after exit_wait_ns.
void device_worker_flush(void);
// At exit, on any other thread: what has been recorded is published, or the time is over (false). A fork's child returns at once.
bool device_worker_finish(void);

#endif
