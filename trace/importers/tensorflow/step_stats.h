// SPDX-License-Identifier: Apache-2.0
// What TensorFlow's timelines and its StepStats share: devices by their names, and nodes of a graph that ran on them.
// Private to this folder. One thread at a time.
#ifndef XSP_IMPORTERS_TENSORFLOW_STEP_STATS_H
#define XSP_IMPORTERS_TENSORFLOW_STEP_STATS_H

#include "base/vector.h"
#include "importers/importer.h"

enum step_device { // what the nodes of a device in the file are
  STEP_HOST,       // operators as TensorFlow's executor ran them
  STEP_KERNELS,    // kernels of all streams of a GPU
  STEP_COPIES,     // copies of a GPU
  STEP_STREAM,     // one stream of a GPU: what it has is in the two above again, where they exist
};
// "/job:localhost/replica:0/task:0/device:GPU:0", "/device:GPU:0/stream:all", "/gpu:0/memcpy", "/gpu:0/stream:12".
enum step_device step_device_of(struct slice name);

struct step_node {
  uint32_t name, op; // ids of import_string; 0: not known
  uint32_t track_id;
  int64_t start_ns, duration_ns, span_id;
  enum step_device device;
};
struct step_reading { // starts as {.import = …, .last_span_id = 0}; ends with step_done
  struct import *import;
  int64_t last_span_id;
  bool has_all_streams;            // a device has all kernels: nodes of single streams are skipped
  VECTOR(struct step_node) layers; // name, start and id of the host's nodes
  VECTOR(struct step_node) device_nodes;
};

// A node that ran: a layer, or a node of a GPU that is stored by step_finish. *ret_span_id: for its tags; 0: it is skipped,
// and counted.
enum status step_add(struct step_reading *reading, struct step_node *node, int64_t *ret_span_id,
                     struct error *err) MUST_CHECK;
// A new track of a device: "device:GPU:0/stream:all", of the device's number.
enum status step_track(struct import *import, struct slice device, unsigned lane, uint32_t *ret_track_id,
                       struct error *err) MUST_CHECK;
// Stores kernels and copies. Each belongs to the latest operator of its name that had begun.
enum status step_finish(struct step_reading *reading, struct error *err) MUST_CHECK;
void step_done(struct step_reading *reading);

#endif
