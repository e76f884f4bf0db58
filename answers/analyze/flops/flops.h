// SPDX-License-Identifier: Apache-2.0
// Analytic work of one operator, from its shapes: what the mathematics needs, not what hardware counted. Conventions:
// docs/analyses.md, "Analytic flops". An operator that is not known, or whose shapes do not suffice, has no count. Pure.
#ifndef XSP_ANALYZE_FLOPS_FLOPS_H
#define XSP_ANALYZE_FLOPS_FLOPS_H

#include "analyze/flops/shapes.h"

struct flop_counts {           // NaN: unknown; the first four are all known or all unknown
  double multiply_adds;        // one multiplication and the addition of its product: two flops
  double adds;                 // additions, subtractions, multiplications by themselves
  double compares;             // comparisons, signs, roundings, selections
  double specials;             // divisions, powers, roots, exponentials, and functions made of them
  double bytes;                // unique inputs, weights and outputs, each moved once; views move nothing
  struct element_type element; // what it is computed in, as far as recorded, else the result's; bytes 0: unknown
};
extern const struct flop_counts flop_counts_unknown;
double flop_counts_flops(const struct flop_counts *counts); // 2 * multiply_adds + the rest

struct flop_attribute { // by name: "kernel_shape"
  const char *name;
  struct shape_value value;
};
enum flop_dialect { // whose names operators have; ATen's say so themselves ("aten::")
  FLOPS_ONNX,
  FLOPS_TENSORFLOW,
  FLOPS_MXNET,
  FLOPS_OPENVINO,
  FLOPS_TFLITE,
};
struct flop_rule;
struct flop_match {             // what the catalogue has on an operator
  const struct flop_rule *rule; // NULL: nothing
  bool is_aten;
  unsigned operands; // ATen: so many arguments are read, further tensors are results ("add.out"); 0: all are read
};
struct flop_operation {
  enum flop_dialect dialect;
  const char *type;                        // "Conv", "aten::addmm"
  const struct flop_match *match;          // of both; NULL: it is looked up
  const char *fused;                       // operators on its result, with spaces between: "BiasAdd Relu"; NULL: none
  const struct shapes *inputs;             // NULL: not recorded
  const struct shapes *outputs;            // NULL: not recorded (ATen): follows from the inputs
  const struct values *values;             // ATen: arguments by position; NULL: not recorded
  const struct flop_attribute *attributes; // ONNX
  size_t attribute_count;
  // Bytes of variable inputs, of constant ones (weights) and of outputs as the framework recorded them; NaN: unknown.
  double input_bytes, parameter_bytes, output_bytes;
};
// flop_counts_unknown where the operator is not in the catalogue.
struct flop_counts flops_count(const struct flop_operation *operation);
struct flop_match flops_find(enum flop_dialect dialect, const char *type); // walks over the catalogue
// What an operator does, by its name alone, in whichever dialect knows it; of a node's path the last part counts.
enum flop_class {
  FLOPS_UNKNOWN,
  FLOPS_PRODUCTS,    // convolutions, matrix products, attention
  FLOPS_ELEMENTWISE, // some arithmetic for each element
  FLOPS_OTHERS,      // pools, reductions, picks by an index
  FLOPS_MOVES,       // copies or joins data without arithmetic
};
enum flop_class flops_class(const char *name);
bool flops_moves_nothing(const char *name); // a view of PyTorch
// What the gradients of an operator of PyTorch cost, in times of the operator itself: by flops of products, else by what is
// read and computed for each element.
double flops_gradients(const char *name);
// Whether its work depends on the operators nested in it ("aten::contiguous").
bool flops_are_composite(struct flop_match match);

#endif
