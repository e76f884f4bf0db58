// SPDX-License-Identifier: Apache-2.0
// Shapes of tensors as layer tags carry them, decoded: what analytic counts are made from. Texts come from files of
// others: anything that is not understood is "unknown", never a guess. Pure.
#ifndef XSP_ANALYZE_FLOPS_SHAPES_H
#define XSP_ANALYZE_FLOPS_SHAPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHAPE_RANK_MOST 8
#define SHAPES_MOST 64
#define VALUES_MOST 32       // arguments of one call
#define VALUE_NUMBERS_MOST 8 // numbers in one argument

struct element_type {
  uint8_t bytes; // of one element; 0: unknown
  bool is_float;
};
struct shape {
  int rank; // -1: not a tensor, or not known; 0: a scalar, or (in ATen's dialect) anything that is not a tensor
  double dims[SHAPE_RANK_MOST];
  unsigned argument; // of the call: the tensors of a list share one
  struct element_type type;
};
struct shapes {
  size_t count;
  bool is_cut; // there may be more
  struct shape items[SHAPES_MOST];
};

// Arguments that are no tensors, by position: "[2, 2]", "1", "True".
enum value_kind { VALUE_NONE, VALUE_NUMBERS, VALUE_TRUTH, VALUE_TEXT };
struct shape_value {
  enum value_kind kind;
  bool truth;
  size_t count;
  double numbers[VALUE_NUMBERS_MOST];
  char text[8]; // "same", "valid"; longer ones are cut
};
struct values {
  size_t count;
  struct shape_value items[VALUES_MOST];
};

// "[1,64,112,112] [64]", xsp's own form. All of them return false where the text is not of their form.
bool shapes_read(const char *text, size_t length, struct shapes *ret_shapes);
// [{"float":[1,64,112,112]},{"float":[64]}], ONNX Runtime's.
bool shapes_read_typed(const char *text, size_t length, struct shapes *ret_shapes);
// [[1, 64, 112, 112], [], [[2, 3], [4]]], Kineto's "Input Dims": one entry an argument, lists of tensors nested.
bool shapes_read_arguments(const char *text, size_t length, struct shapes *ret_shapes);
// ["float", "Scalar", ""], Kineto's "Input type": fills the types in.
bool shapes_read_types(const char *text, size_t length, struct shapes *shapes);
// ["", "[1, 1]", "True"], Kineto's "Concrete Inputs".
bool shape_values_read(const char *text, size_t length, struct values *ret_values);
// One value alone: "[3,3]", "2", "True".
struct shape_value shape_value_read(const char *text, size_t length);

double shape_elements(const struct shape *shape); // NaN for rank -1; 1 for rank 0

#endif
