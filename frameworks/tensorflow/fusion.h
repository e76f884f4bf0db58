// SPDX-License-Identifier: Apache-2.0
// Which nodes of a model became one node of the graph that is executed. TensorFlow's rewrites name such a node after the
// last of them and do not name the others: they are found by comparing the two graphs.
#ifndef XSP_FRAMEWORKS_TENSORFLOW_FUSION_H
#define XSP_FRAMEWORKS_TENSORFLOW_FUSION_H

#include "base/arena.h"
#include "frameworks/tensorflow/graph.h"

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
