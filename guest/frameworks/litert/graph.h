// SPDX-License-Identifier: Apache-2.0
// The operators of a TFLite model as its file has them, and which of them an event of XNNPACK is. Files are not trusted.
// Pure, but for litert_graph_open.
#ifndef XSP_FRAMEWORKS_LITERT_GRAPH_H
#define XSP_FRAMEWORKS_LITERT_GRAPH_H

#include "base/arena.h"
#include "frameworks/common/layer_work.h"
#include "frameworks/litert/events.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// file.c: whether a file is whole. LiteRT follows offsets after the end of a truncated one, and crashes.
// True where an offset of the flatbuffer leads out of it; `place` names the part. A file that is not a TFLite model is not damaged
// of this function's business: false.
bool litert_file_is_cut(const unsigned char *bytes, size_t size, char *place, size_t place_size);
bool litert_file_damage(const char *path, char *place, size_t place_size); // the same of a file

#define LITERT_GRAPH_RANK_MOST 8u

struct litert_tensor {
  const char *name;                      // ""; not there
  int32_t sizes[LITERT_GRAPH_RANK_MOST]; // where the batch is free: at batch 1
  uint8_t rank, element_bytes;
  bool has_free_batch, has_free_others; // dimension 0 is free; any other is
  bool is_constant;
};
struct litert_node {               // an operator
  int32_t code;                    // BuiltinOperator; negative: custom
  const char *type;                // "CONV_2D"; NULL: none that work is counted of
  const char *activation;          // "RELU", fused into it; NULL: none
  const int32_t *inputs, *outputs; // numbers of tensors; -1: left out
  size_t input_count, output_count;
  int32_t window[2]; // of a pool; 0: none
};
struct litert_graph { // all in the arena
  struct litert_tensor *tensors;
  size_t tensor_count;
  struct litert_node *nodes; // in the order of execution
  size_t node_count;
};

// The graph of the first signature. False: not such a file, or an offset leads out of it.
bool litert_graph_read(const unsigned char *bytes, size_t size, struct arena *arena, struct litert_graph *ret_graph);
bool litert_graph_open(const char *path, struct arena *arena, struct litert_graph *ret_graph);

enum litert_part { // of an operator
  LITERT_WHOLE,
  LITERT_MAIN,       // without its activation, which has an event of its own
  LITERT_ACTIVATION, // that one
  LITERT_PUT_IN,     // of none: XNNPACK's own reshape or copy
  LITERT_UNKNOWN,
};
struct litert_match {
  enum litert_part part;
  size_t node;
};
// What each event is of the graph. Events of the interpreter name their operator. XNNPACK keeps the order, and may leave out
// what it fuses: only an order in which every other operator has an event of a type that it can become is believed. False:
// there is none, and only events of the interpreter are known.
bool litert_graph_match(const struct litert_graph *graph, const struct litert_event *events, size_t count,
                        struct litert_match *ret_matches);

struct litert_work {        // of one operator
  const char *name, *shape; // of its first output; NULL: not known
  struct layer_tags tags;
  const char *activation; // its type, the last of the tags: fused_ops; NULL: none
  const char *activation_name;
};
// By operator, where the free batch is `batch` times that of the file; 0: other dimensions are free, too, and shapes that
// depend on them are not known.
struct litert_work *litert_work_read(const struct litert_graph *graph, int64_t batch, struct arena *arena);

#endif
