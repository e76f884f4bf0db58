// SPDX-License-Identifier: Apache-2.0
// What one operator costs per element, or the function that says so. Private to flops*.c.
#ifndef XSP_ANALYZE_FLOPS_RULES_H
#define XSP_ANALYZE_FLOPS_RULES_H

#include "analyze/flops/flops.h"

enum flop_per { // what the coefficients of a rule are multiplied by
  PER_OUTPUT,   // elements of the first output
  PER_INPUT,    // elements of the first input
  PER_FURTHER,  // elements of the first output, for every input behind the first (sum of several)
};
enum flop_traffic {
  MOVES_ALL,     // reads inputs, writes outputs
  MOVES_NOTHING, // a view, or no data at all
  MOVES_PICKED,  // reads of its first input only what it writes
  MOVES_RESULT,  // writes only
};
enum flop_result {  // ATen: what the output looks like, which is not recorded
  RESULT_BROADCAST, // all tensors together
  RESULT_TRUTHS,    // the same, of one byte an element
  RESULT_FIRST,     // as the first tensor
  RESULT_UNKNOWN,   // depends on what is not recorded
};
struct flop_work { // one operation while it is counted
  const struct flop_operation *operation;
  struct flop_counts counts;
  double output_elements;  // ATen: of all outputs; NaN: unknown
  double missing_elements; // ONNX: of weights that the framework did not list; 0: none
};
struct flop_rule {
  const char *type;
  enum flop_per per;
  double multiply_adds, adds, compares, specials; // per element
  enum flop_traffic traffic;
  enum flop_result result;
  // Instead of the coefficients: fills the counts (and output_elements in ATen). False: shapes do not suffice.
  bool (*count)(struct flop_work *work);
  bool is_composite; // what it does is done by the operators in it, where there are any
  // ATen: this many arguments are read; tensors behind them are where the result goes ("add.out"). 0: all are read.
  unsigned operands;
};

// Each ends with type NULL.
extern const struct flop_rule flop_rules_onnx[], flop_rules_aten[], flop_rules_tensorflow[], flop_rules_mxnet[],
    flop_rules_openvino[], flop_rules_tflite[];

// Rows of such tables. Per element of the output: multiply-adds, adds, compares, specials.
#define FLOP_EACH(type, multiply_adds, adds, compares, specials)                                                       \
  {                                                                                                                    \
    type, PER_OUTPUT, multiply_adds, adds, compares, specials, MOVES_ALL, RESULT_UNKNOWN, NULL, false, 0               \
  }
#define FLOP_EACH_INPUT(type, adds, compares)                                                                          \
  {                                                                                                                    \
    type, PER_INPUT, 0, adds, compares, 0, MOVES_ALL, RESULT_UNKNOWN, NULL, false, 0                                   \
  }
#define FLOP_EACH_FURTHER(type, adds, compares)                                                                        \
  {                                                                                                                    \
    type, PER_FURTHER, 0, adds, compares, 0, MOVES_ALL, RESULT_UNKNOWN, NULL, false, 0                                 \
  }
#define FLOP_MOVES(type, traffic)                                                                                      \
  {                                                                                                                    \
    type, PER_OUTPUT, 0, 0, 0, 0, traffic, RESULT_UNKNOWN, NULL, false, 0                                              \
  }
#define FLOP_COUNTS(type, function)                                                                                    \
  {                                                                                                                    \
    type, PER_OUTPUT, 0, 0, 0, 0, MOVES_ALL, RESULT_UNKNOWN, function, false, 0                                        \
  }
#define FLOP_RULES_END                                                                                                 \
  {                                                                                                                    \
    NULL, PER_OUTPUT, 0, 0, 0, 0, MOVES_NOTHING, RESULT_UNKNOWN, NULL, false, 0                                        \
  }

// The shape of an argument; NULL where there is none, or it is no tensor of at least one dimension.
const struct shape *flop_tensor(const struct flop_operation *operation, unsigned argument);
const struct shape *flop_output(const struct flop_operation *operation); // ONNX: the first; NULL
const struct value *flop_value(const struct flop_operation *operation, unsigned argument);
const struct value *flop_attribute(const struct flop_operation *operation, const char *name);
double flop_product(const struct shape *shape, int first, int end); // of dimensions first … end - 1
void flop_set(struct flop_work *work, double multiply_adds, double adds, double compares, double specials);

// Families that all dialects have (flops_families.c). Weights: the tensor of that argument, of whose dimensions
// `first` … `end` - 1 make an element of the output (or of the input, transposed); `end` 0: all from `first` on, negative:
// so many from the last.
bool flops_convolution(struct flop_work *work, unsigned weights_at, int first, int end);
bool flops_transposed_convolution(struct flop_work *work, unsigned input_at, unsigned weights_at, int first, int end);
void flops_add_bias(struct flop_work *work, unsigned bias_at); // an addition an element, where there is one of rank 1
bool flops_dense(struct flop_work *work);                      // input, weights of [outputs, inputs], perhaps a bias
bool flops_matrix_product(struct flop_work *work);
double flops_kernel_elements(const struct flop_work *work); // of attribute kernel_shape; NaN: unknown
bool flops_max_pool(struct flop_work *work);
bool flops_average_pool(struct flop_work *work);
bool flops_mean_of_inputs(struct flop_work *work); // sums all it reads, divides all it writes
bool flops_resize(struct flop_work *work);         // by attribute mode: nearest ones only

const char *flops_tensorflow_plain(const char *type); // "_MklNativeFusedConv2D" → "Conv2D"; points into `type`

// ATen's families, each in its own file.
bool flops_aten_convolution(struct flop_work *work);
bool flops_aten_convolution_backward(struct flop_work *work);
bool flops_aten_attention(struct flop_work *work);
bool flops_aten_max_pool(struct flop_work *work);
bool flops_aten_average_pool(struct flop_work *work);
bool flops_aten_adaptive_pool(struct flop_work *work);

#endif
