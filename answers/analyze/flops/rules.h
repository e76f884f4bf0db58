// SPDX-License-Identifier: Apache-2.0
// Costs of operators: per element, or by a function of the shapes.
#ifndef XSP_ANALYZE_FLOPS_RULES_H
#define XSP_ANALYZE_FLOPS_RULES_H

#include "analyze/flops/flops.h"

enum flop_per { // what the coefficients of a rule are multiplied by
  PER_OUTPUT,   // elements of the first output
  PER_INPUT,    // elements of the first input
  PER_FURTHER,  // elements of the first output, for every input after the first (sum of several)
};
enum flop_traffic {
  MOVES_ALL,     // reads inputs, writes outputs
  MOVES_NOTHING, // a view, or no data at all
  MOVES_PICKED,  // reads of its first input only what it writes
  MOVES_RESULT,  // writes only
};
struct flop_work { // one operation while it is counted
  const struct flop_operation *operation;
  const struct flop_rule *rule;
  struct flop_counts counts;
  double output_elements;  // ATen: of all outputs; NaN: unknown
  double missing_elements; // ONNX: of weights that the framework did not list; 0: none
};
typedef bool flop_count(struct flop_work *work);
// Where a convolution has its tensors: arguments.
struct flop_window {
  int first, end;      // dimensions of the weights that make one element; `end` counts from the last, 0 or negative
  unsigned weights_at; // 0: argument 1
  unsigned bias_at, sum_at; // added to the result; 0: none is counted
  unsigned input_at;
};
struct flop_rule { // a row of the catalogue: a cost, and the operators that have it
  enum flop_per per;
  double multiply_adds, adds, compares, specials; // per element, or as `count` takes them
  enum flop_traffic traffic;
  // Instead of the coefficients: fills the counts (and output_elements in ATen). False: shapes do not suffice.
  flop_count *count;
  struct flop_window window; // of flops_convolution, flops_transposed_convolution
  unsigned factor_at;        // of flops_aten_product: its first argument; the one before is added
  bool is_composite;         // its work is that of the operators in it, where there are any
  bool gives_truths;         // ATen: one byte per element
  bool is_end;               // of the catalogue
  // Names, separated by spaces. ATen: by the number of arguments that are read; further tensors are where the result goes
  // ("add.out"). `aten`: all are read, and the result has the size of the first tensor.
  const char *onnx, *tensorflow, *mxnet, *openvino, *tflite, *aten, *aten1, *aten2, *aten3;
};
extern const struct flop_rule flop_rules[]; // catalog.c
bool flops_lists(const char *names, const char *type,
                 size_t length); // whether one of the names, separated by spaces, is it

// The shape of an argument; NULL where there is none, or it is not a tensor of at least one dimension.
const struct shape *flop_tensor(const struct flop_operation *operation, unsigned argument);
const struct shape *flop_output(const struct flop_operation *operation); // ONNX: the first; NULL
const struct shape_value *flop_value(const struct flop_operation *operation, unsigned argument);
bool flop_truth(const struct flop_operation *operation, unsigned argument, bool *ret_truth); // false: not recorded
const struct shape_value *flop_attribute(const struct flop_operation *operation, const char *name);
double flop_product(const struct shape *shape, int first, int end); // of dimensions first … end - 1
void flop_set(struct flop_work *work, double multiply_adds, double adds, double compares, double specials);

// Costs that depend on shapes (families.c, onnx.c).
flop_count flops_convolution, flops_transposed_convolution;
flop_count flops_dense; // input, weights of [outputs, inputs], perhaps a bias
flop_count flops_matrix_product, flops_attention;
flop_count flops_pool;      // adds and compares an element of the window, specials an element of the output
flop_count flops_reduction; // specials an element of the output, the others an element of the input
flop_count flops_resize;    // by attribute mode: nearest ones only
flop_count flops_onnx_transposed_convolution;
flop_count flops_onnx_gemm, flops_onnx_packed_product, flops_onnx_attention, flops_onnx_local_response;
double flops_kernel_elements(const struct flop_work *work); // of attribute kernel_shape; NaN: unknown

// ATen (aten.c, aten_window.c, aten_attention.c).
flop_count flops_aten_convolution, flops_aten_convolution_backward, flops_aten_attention;
flop_count flops_aten_max_pool, flops_aten_average_pool, flops_aten_adaptive_pool;
flop_count flops_aten_product, flops_aten_linear;
flop_count flops_aten_batch_norm, flops_aten_dropout;
flop_count flops_aten_reduction; // as flops_reduction
flop_count flops_aten_copy, flops_aten_concatenation, flops_aten_embedding, flops_aten_selection, flops_aten_gather;

#endif
