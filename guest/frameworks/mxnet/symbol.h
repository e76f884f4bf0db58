// SPDX-License-Identifier: Apache-2.0
// A symbol of MXNet as JSON (NAME-symbol.json, or what the library makes of it): its nodes. Pure.
#ifndef XSP_FRAMEWORKS_MXNET_SYMBOL_H
#define XSP_FRAMEWORKS_MXNET_SYMBOL_H

#include "base/error.h"
#include "frameworks/common/pool.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MXNET_NO_NODE SIZE_MAX
struct mxnet_entry { // what an operator reads: the output of a node
  size_t node, output;
};
struct mxnet_node {
  const char *op, *name; // op "null": a variable. Never NULL
  const char *fused;     // names of the operators that a fused one was made of, comma-separated; NULL: none
  // Attributes; NULL: not there
  const char *shape;  // of a variable, "(0, 3, 224, 224)"
  const char *layout; // "NCHW"
  const char *groups; // num_group
  const char *kernel, *pool_type, *global_pool, *act_type;
  const char *fused_ops; // of a fused one: what it computes on the result of its convolution or product; NULL: nothing
  size_t inputs[2];      // the first two, by node
  const struct mxnet_entry *entries; // all of them
  size_t entry_count;
};
struct mxnet_symbol {
  struct mxnet_node *nodes; // in the pool, as all texts
  size_t count;
};

// Errors: STATUS_INPUT with the offset.
enum status mxnet_symbol_read(const char *text, size_t length, const char *path, struct pool *pool,
                              struct mxnet_symbol *ret_symbol, struct error *err) MUST_CHECK;
static inline bool mxnet_is_variable(const struct mxnet_node *node)
{
  return node->op[0] == 'n' && node->op[1] == 'u' && node->op[2] == 'l' && node->op[3] == 'l' && node->op[4] == 0;
}

// What the operator is, where one name covers several: "relu" of an Activation, "global_avg_pool" of a Pooling; else op.
const char *mxnet_operator(const struct mxnet_node *node);

#endif
