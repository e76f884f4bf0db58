// SPDX-License-Identifier: Apache-2.0
// TensorFlow's graphs from protobuf: nodes by name, the functions that they call, and what a SavedModel or a frozen
// graph takes and gives. Files are not trusted; the library is not used. Field numbers: TensorFlow 2.21.
#ifndef XSP_FRAMEWORKS_TENSORFLOW_GRAPH_H
#define XSP_FRAMEWORKS_TENSORFLOW_GRAPH_H

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TENSORFLOW_RANK_MAXIMUM 16
#define TENSORFLOW_NO_RANK (TENSORFLOW_RANK_MAXIMUM + 1u) // the rank is free, or above the maximum

struct tensorflow_shape {
  unsigned rank;                         // or TENSORFLOW_NO_RANK
  int64_t size[TENSORFLOW_RANK_MAXIMUM]; // -1: free
};

struct tensorflow_node { // strings live in the arena
  const char *name, *op;
  const char **inputs; // as written: "name", "name:1", "name:output:0", "^name" (order only)
  size_t input_count;
  const char *function;          // that it calls (attribute f); NULL: none
  const char *fused_ops;         // "BiasAdd Relu" (attribute fused_ops); NULL: none
  const char *window;            // "[1,3,3,1]" (attribute ksize); NULL: none
  const char *activation;        // of a batch norm (attribute activation_mode); NULL: none
  bool is_training;              // of a batch norm
  bool has_side_input;           // of a batch norm (attribute num_side_inputs)
  uint32_t type;                 // attribute dtype; 0: none
  struct tensorflow_shape shape; // attribute shape
};

struct tensorflow_graph {
  const char *name; // of a function; NULL: the graph itself
  struct tensorflow_node *nodes;
  size_t count;
  uint32_t *slots; // by name: number of the node + 1
  size_t slot_count;
  uint64_t seed;
  struct tensorflow_graph *functions; // of the graph itself
  size_t function_count;
};

void tensorflow_shape_read(const void *bytes, size_t length, struct tensorflow_shape *ret_shape); // TensorShapeProto

// Reads a GraphDef. False: `ret_problem` is the reason.
bool tensorflow_graph_read(const void *bytes, size_t length, struct arena *arena, struct tensorflow_graph *ret_graph,
                           const char **ret_problem);
// `name` need not end with NUL. NULL: no such node.
const struct tensorflow_node *tensorflow_graph_find(const struct tensorflow_graph *graph, const char *name,
                                                    size_t length);
const struct tensorflow_graph *tensorflow_function_find(const struct tensorflow_graph *graph, const char *name);
// The length of the node's name in an input's text, which it begins at *ret_name; 0: the input is order only.
size_t tensorflow_input_node(const char *input, const char **ret_name);

// The node that an input's text names; NULL: none in this graph, or the input is order only.
const struct tensorflow_node *tensorflow_graph_input(const struct tensorflow_graph *graph, const char *input);
// By node: is it another's input? In the arena.
bool *tensorflow_graph_consumed(const struct tensorflow_graph *graph, struct arena *arena);

struct tensorflow_port { // a named input or output
  const char *name;      // in the signature, or the node's
  const char *node;
  int index; // of the node's output
  uint32_t type;
  struct tensorflow_shape shape;
};

#define TENSORFLOW_TAGS_MAXIMUM 8
struct tensorflow_model {
  struct tensorflow_graph graph;
  const char *tags[TENSORFLOW_TAGS_MAXIMUM]; // of the SavedModel's part that was chosen
  size_t tag_count;
  const char *signature;                    // NULL: a frozen graph
  struct tensorflow_port *inputs, *outputs; // by name
  size_t input_count, output_count;
  struct tensorflow_port *layers; // of a frozen graph: first outputs of the nodes between, in the file's order
  size_t layer_count;
};

// A frozen graph: inputs are its Placeholders, outputs the nodes after them that nothing consumes.
bool tensorflow_frozen_read(const void *bytes, size_t length, struct arena *arena, struct tensorflow_model *ret_model,
                            const char **ret_problem);
// A saved_model.pb: the part tagged "serve", its signature "serving_default" or the only one it has.
bool tensorflow_saved_read(const void *bytes, size_t length, struct arena *arena, struct tensorflow_model *ret_model,
                           const char **ret_problem);

// fusion.c: which nodes of a model became one node of the executed graph. TensorFlow's rewrites name such a node after the
// last of them and do not name the others: they are found by comparing the two graphs.
struct tensorflow_originals {
  const char *main;  // full name of the node after which the layer is named
  const char *names; // full names in the order of the data, with spaces between
  const char *types; // likewise: "Conv2D BiasAdd"
  size_t count;      // 0: the node is an original one
};

// Of `node`, which is one of the nodes of `executed` (several graphs); `model` is the graph as the file has it, whose
// function calls are followed as TensorFlow inlines them ("CALL/NAME"). Strings are made in `arena`.
void tensorflow_originals_find(const struct tensorflow_graph *model, const struct tensorflow_graph *executed,
                               size_t executed_count, const struct tensorflow_node *node, struct arena *arena,
                               struct tensorflow_originals *ret_originals);

// "_MklNativeFusedConv2D" → "Conv2D": what a type is without the marks of rewrites. Points into `type`.
const char *tensorflow_plain_type(const char *type);

#endif
