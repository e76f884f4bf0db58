// SPDX-License-Identifier: Apache-2.0
// Commands that the driver has and that are not finished: what their execution will be published with. From a pool that
// grows with the greatest number in flight, and is taken from and given back without a lock, by any thread.
#ifndef XSP_TRACERS_OPENCL_PENDING_H
#define XSP_TRACERS_OPENCL_PENDING_H

#include "tracers/opencl/kernels.h"
#include "tracers/opencl/objects.h"

#define BYTES_UNKNOWN UINT64_MAX

struct enqueued {             // what a command's execution is published with
  struct opencl_queue *queue; // NULL: not known
  struct xsp_site *site;
  uint64_t correlation_id;
  uint64_t before, after;    // ticks around the call that enqueued it
  uint64_t bytes;            // BYTES_UNKNOWN: or not a copy
  cl_event injected;         // ours to release; NULL: the program's event
  struct launch_shape shape; // dimensions 0: the site has its tags
  bool shape_is_region;      // of an image
};

struct opencl_pending {
  uint32_t index; // its own place in the pool; set once
  uint32_t next;  // atomic: free list
  struct enqueued enqueued;
  bool is_awaited; // a thread waits for it (XSP_SERIALIZE) and gives it back, unless it gave up
  uint32_t state;  // atomic, enum pending_state
};
enum pending_state { PENDING_RUNNING, PENDING_DONE, PENDING_ABANDONED };

struct opencl_pending *opencl_pending_take(void); // NULL: too many
void opencl_pending_give(struct opencl_pending *pending);

#endif
