// SPDX-License-Identifier: Apache-2.0
// Aligns the layers of two executions of one network: by name where names agree, else by operator and shape. Pure.
#ifndef XSP_ANALYZE_COMPARE_ALIGN_H
#define XSP_ANALYZE_COMPARE_ALIGN_H

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct align_layer {
  uint32_t name;      // equal names have equal numbers, on both sides
  uint32_t operation; // flops_operator_family, or a number above OPERATOR_FAMILIES for each type without one
  uint64_t shape;     // shape_number
};
#define ALIGN_GROUP_MOST 12 // layers of a pair's side
struct align_group {
  size_t items[ALIGN_GROUP_MOST]; // places, rising
  size_t count;
};
struct align_pair {
  struct align_group a, b; // several layers: the other side has them fused
  bool is_by_name;
};
struct align_result {
  struct align_pair *pairs; // by place on side a
  size_t count;
  bool is_cut; // too many layers between two equal names to align them by structure
};

// Layers in order of execution. Between equal names, time and memory grow with the product of
// the numbers of layers, up to 64 MB. The answer is in `arena`.
struct align_result compare_align_layers(const struct align_layer *a, size_t a_count, const struct align_layer *b,
                                         size_t b_count, struct arena *arena);

// ---- what a layer is (operators.c) ----------------------------------------------------------------------------------
enum operator_family { // numbers of operators; further ones are those of types without a family
  OPERATOR_NONE,       // unknown type
  OPERATOR_CONVOLUTION,
  OPERATOR_TRANSPOSED_CONVOLUTION,
  OPERATOR_PRODUCT, // of matrices
  OPERATOR_ATTENTION,
  OPERATOR_RECURRENT,
  OPERATOR_MAXIMUM_POOL,
  OPERATOR_AVERAGE_POOL, // and means
  OPERATOR_SOFTMAX,
  OPERATOR_CONCATENATION,
  OPERATOR_RESIZE,
  OPERATOR_GATHER,
  // These are often fused into the one before them, or are part of it in another framework.
  OPERATOR_NORMALISATION,
  OPERATOR_ACTIVATION,
  OPERATOR_ARITHMETIC,
  OPERATOR_LAYOUT,
  OPERATOR_FAMILIES
};
// The family of a type in any framework's spelling ("aten::conv2d", "Conv", "CONV_2D"); OPERATOR_FAMILIES: it has none.
uint32_t flops_operator_family(const char *type);
static inline bool operator_is_fusible(uint32_t operation)
{
  return operation >= OPERATOR_NORMALISATION && operation < OPERATOR_FAMILIES;
}
// A number of the sizes in a text such as "[1,64,112,112]", whatever their order: frameworks order dimensions differently. 0: the
// text has none, or is NULL.
uint64_t shape_number(const char *text);

#endif
