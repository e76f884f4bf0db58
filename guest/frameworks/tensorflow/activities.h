// SPDX-License-Identifier: Apache-2.0
// What TensorFlow's recorder of activities (TraceMeRecorder) gave back: a std::vector of threads, each with a std::deque of
// events, as libstdc++ lays them out. Read without C++, and never trusted: anything that is not as expected ends the reading.
#ifndef XSP_FRAMEWORKS_TENSORFLOW_ACTIVITIES_H
#define XSP_FRAMEWORKS_TENSORFLOW_ACTIVITIES_H

#include "frameworks/common/pool.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct activity {
  const char *name; // "NODE:TYPE", "FunctionRun#id=7,_r=1#"; in the pool
  size_t length;
  size_t thread;             // place in `threads`
  uint64_t start_ns, end_ns; // CLOCK_REALTIME
};
struct activities {
  struct activity *items; // by thread, then start, longer first
  size_t count;
  uint64_t *threads; // what TensorFlow numbers them by, see threads.h
};

enum activities_found {
  ACTIVITIES_UNKNOWN, // not laid out as expected
  ACTIVITIES_READ,
  ACTIVITIES_LOST, // too many, or out of memory
};
// `events` is the vector.
enum activities_found activities_read(const void *events, struct pool *pool, struct activities *ret_activities);

struct operation { // that was computed in a step
  const char *name, *type;
  uint64_t start_ns, end_ns;
  uint64_t thread;     // as in `threads` of the activities
  size_t parent;       // place in the same array of one that it was computed within; SIZE_MAX: none
  int64_t alloc_bytes; // requested of allocators on its thread, by it and by no operation within it
};
// The operations of the steps that a call started which lasted from `start_ns` to `end_ns`, in order of
// their start. What other steps computed meanwhile (input pipelines, other threads) is left out.
bool activities_operations(const struct activities *activities, uint64_t start_ns, uint64_t end_ns, struct pool *pool,
                           struct operation **ret_operations, size_t *ret_count);

#endif
