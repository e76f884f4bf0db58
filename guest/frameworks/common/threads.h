// SPDX-License-Identifier: Apache-2.0
// Threads of this process by std::hash<std::thread::id> of libstdc++, the number under which TensorFlow's and MXNet's profilers
// report a thread. A table has the threads that live while it is made. Any thread may make one, outside of predictions.
#ifndef XSP_FRAMEWORKS_COMMON_THREADS_H
#define XSP_FRAMEWORKS_COMMON_THREADS_H

#include "frameworks/common/pool.h"

#include <stdint.h>

struct known_thread {
  uint64_t hash;
  uint32_t id; // the kernel's number, as gettid
};
struct thread_table {
  const struct known_thread *threads; // in the pool
  size_t count;
};
struct thread_table framework_threads_list(struct pool *pool); // empty where memory is out or the kernel refuses

// The kernel's number; 0: no thread of the table has this hash.
uint32_t framework_threads_find(const struct thread_table *table, uint64_t hash);

#endif
