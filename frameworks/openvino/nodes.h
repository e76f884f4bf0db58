// SPDX-License-Identifier: Apache-2.0
// What OpenVINO's list of profiling information says of a model's nodes. Pure: no library is called.
#ifndef XSP_FRAMEWORKS_OPENVINO_NODES_H
#define XSP_FRAMEWORKS_OPENVINO_NODES_H

#include "base/arena.h"
#include "frameworks/openvino/abi.h"

struct openvino_node {
  const char *name, *type, *primitive; // "" where not reported
  const char *fused;                   // names that were fused into it, comma-separated; NULL: none
  int64_t index;                       // in the list's order, fused ones not counted
  size_t at;                           // its place in the list
};
struct openvino_nodes {
  struct openvino_node *nodes; // in the arena, as the texts
  size_t count;
};

// Inputs, outputs and constants are not nodes; one without a primitive was fused into the last before it that has one.
void openvino_nodes_read(const struct ov_profiling_list *list, struct arena *arena, struct openvino_nodes *ret_nodes);

// The list reports means over all inferences so far, in whole microseconds. The duration of inference n is n times the mean
// minus the sum of the durations before it: sums are exact, one duration is exact to within n microseconds.
// `inferences`: n. `sum_us`: that sum, 0 at first; it is advanced. Never negative.
uint64_t openvino_duration_ns(int64_t mean_us, uint64_t inferences, uint64_t *sum_us);

#endif
