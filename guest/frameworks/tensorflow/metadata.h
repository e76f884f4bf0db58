// SPDX-License-Identifier: Apache-2.0
// RunMetadata, what TensorFlow writes about one traced step: when each node ran, and the graph as it was executed. A reader
// of our own, bounded by the bytes it is given. Field numbers: TensorFlow 2.21 (the same since 1.15).
#ifndef XSP_FRAMEWORKS_TENSORFLOW_METADATA_H
#define XSP_FRAMEWORKS_TENSORFLOW_METADATA_H

#include "base/arena.h"
#include "base/slice.h"
#include "base/wire.h"
#include "frameworks/tensorflow/graph.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tensorflow_step { // one execution of one node
  struct slice node;     // in the bytes that were read, as `type`
  struct slice type;     // out of the label "[mklcpu 3MB 3MB] NAME = TYPE(INPUTS)"; empty: not reported
  uint64_t start_ns;     // CLOCK_REALTIME
  uint64_t duration_ns;
  uint64_t alloc_bytes;          // what it asked allocators for while it ran
  struct tensorflow_shape shape; // of its first output; TENSORFLOW_NO_RANK: it has none
  const char *message;           // the whole message, for tensorflow_output_next
  size_t message_length;
};
struct tensorflow_output {
  uint64_t slot;
  struct tensorflow_shape shape; // TENSORFLOW_NO_RANK: not reported
  uint32_t type;                 // DataType; 0: not reported
};

struct tensorflow_steps {
  struct tensorflow_step *items; // in the arena, by start, longer first
  size_t count;
  size_t left_out; // entries of lanes that repeat others (a device's streams), and of nodes without a name
};

// The executions on host lanes. The same node with the same start and duration on several lanes is one execution.
// Strings point into `bytes`. False: `ret_problem` is the reason.
bool tensorflow_steps_read(const void *bytes, size_t length, struct arena *arena, struct tensorflow_steps *ret_steps,
                           const char **ret_problem);
// The next output of a step, over its message. False: there is none.
bool tensorflow_output_next(struct wire *message, struct tensorflow_output *ret_output);
// The graphs as they were executed (partition_graphs), one after the other: `ret_graphs` in the arena.
bool tensorflow_partitions_read(const void *bytes, size_t length, struct arena *arena,
                                struct tensorflow_graph **ret_graphs, size_t *ret_count, const char **ret_problem);

#endif
