// SPDX-License-Identifier: Apache-2.0
// A profile of MXNet's process profiler: Chrome events as it writes them. Pure.
#ifndef XSP_FRAMEWORKS_MXNET_PROFILE_H
#define XSP_FRAMEWORKS_MXNET_PROFILE_H

#include "base/error.h"
#include "frameworks/common/pool.h"

#include <stddef.h>
#include <stdint.h>

struct mxnet_event {        // an operator that was executed
  const char *name;         // its type: names of nodes are not recorded
  int64_t start_us, end_us; // CLOCK_REALTIME, cut off
  uint64_t thread;          // as MXNet numbers it, see threads.h
  size_t order;             // in the file
};
struct mxnet_profile {
  struct mxnet_event *events; // by start; in the pool
  size_t count;
};

// `text` may be changed: a second profile of one process begins with a comma too many. Ends without a begin and begins
// without an end are left out. Errors: STATUS_INPUT with the offset.
enum status mxnet_profile_read(char *text, size_t length, const char *path, struct pool *pool,
                               struct mxnet_profile *ret_profile, struct error *err) MUST_CHECK;

#endif
