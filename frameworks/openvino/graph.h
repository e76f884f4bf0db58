// SPDX-License-Identifier: Apache-2.0
// The operators of a graph as OpenVINO writes it (an IR's XML), as far as counting their work needs them. Texts of anybody:
// bounded, nothing recurses. Pure, but for openvino_graph_export.
#ifndef XSP_FRAMEWORKS_OPENVINO_GRAPH_H
#define XSP_FRAMEWORKS_OPENVINO_GRAPH_H

#include "base/arena.h"
#include "frameworks/common/layer_work.h"
#include "frameworks/openvino/nodes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
  const char *kernel; // of a pool, "[3,3]"; NULL: none
  const char *mode;   // "nearest"; NULL: none
  const char *inner;  // of a Subgraph: the operators in it, "Multiply Add"; NULL: none
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
