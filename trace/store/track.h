// SPDX-License-Identifier: Apache-2.0
// Tracks: table `track` of an .xsp file (docs/format.md). Part of the front door store.h.
#ifndef XSP_STORE_TRACK_H
#define XSP_STORE_TRACK_H

#include <stdint.h>

#define STORE_NONE INT64_MIN

struct store_rank {   // a process of a job of several, such as a training on several devices
  int64_t world_size; // how many processes the job has; less than 1: it is of no job, and the numbers do not count
  int64_t rank;       // from 0
  int64_t local_rank; // among those on its host; less than 0: unknown
};
struct store_track {
  int64_t run_id, track_id;                            // track_id >= 1, unique within the run
  const char *name, *host, *clock;                     // clock NULL: wall time, else a foreign clock's name
  int64_t process_id, thread_id, device_id, stream_id; // STORE_NONE: does not apply
  struct store_rank rank;                              // of the process
};

#endif
