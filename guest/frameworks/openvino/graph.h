// SPDX-License-Identifier: Apache-2.0
// The operators of a graph as OpenVINO writes it (an IR's XML), as far as counting their work needs them. Texts of anybody:
// bounded, nothing recurses. Pure, but for openvino_graph_export.
#ifndef XSP_FRAMEWORKS_OPENVINO_GRAPH_H
#define XSP_FRAMEWORKS_OPENVINO_GRAPH_H

#include "base/arena.h"
#include "frameworks/common/layer_work.h"
#include "frameworks/openvino/abi.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// nodes.c: the nodes that OpenVINO's list of profiling information has.
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

#define OPENVINO_RANK_MOST 8u
#define OPENVINO_PORTS_MOST 64u // of one operator; what comes behind is not kept

struct openvino_tensor {
  int64_t sizes[OPENVINO_RANK_MOST];
  size_t rank;           // LAYER_RANK_UNKNOWN: more dimensions, or free ones
  uint8_t element_bytes; // 0: not known
  bool is_float32, is_constant;
};
struct openvino_operator { // texts in the arena
  uint64_t id;
  const char *name, *type;
  const char *kernel;  // of a pool, "[3,3]"; NULL: none
  const char *mode;    // "nearest"; NULL: none
  const char *sources; // the model's own nodes that became it, "bn1, conv1"; NULL: not written
  const char *inner;   // of a Subgraph: the operators in it, "Multiply Add"; NULL: none
  struct openvino_tensor *inputs, *outputs;
  size_t input_count, output_count;
};
struct openvino_graph {
  struct openvino_operator *items;
  size_t count;
};

// False: not such an XML, or cut.
bool openvino_graph_read(const char *text, size_t length, struct arena *arena, struct openvino_graph *ret_graph);

// The nodes as layers without times: what their operators and those fused into them are.
struct layer_report *openvino_layers_read(const struct openvino_graph *graph, const struct openvino_nodes *nodes,
                                          struct arena *arena);

// What the bytes of an exported model hold of its graph: some versions have it plain, some veiled. The text is in `bytes`,
// which are changed. NULL: there is none.
const char *openvino_graph_find(char *bytes, size_t size, size_t *ret_length);
// Has the compiled model write itself and reads its graph; empty where that cannot be had.
void openvino_graph_export(const struct openvino_api *api, const struct ov_compiled_model *compiled,
                           struct arena *arena, struct openvino_graph *ret_graph);

#endif
