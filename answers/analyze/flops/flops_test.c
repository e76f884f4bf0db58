// SPDX-License-Identifier: Apache-2.0
// Analytic counts: shapes as tags carry them, the published counts of AlexNet, and operators worked out by hand.
#include "analyze/flops/flops.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

// ---- decoding -------------------------------------------------------------------------------------------------------
static void assert_shape(const struct shape *shape, int rank, const double *dims)
{
  assert_int_equal(shape->rank, rank);
  for (int i = 0; i < rank; i++)
    assert_true(shape->dims[i] == dims[i]);
}

static void test_own_form(void **unused)
{
  (void)unused;
  struct shapes shapes;
  assert_true(shapes_read("[1,64,112,112] [64] []", 22, &shapes));
  assert_int_equal(shapes.count, 3);
  assert_shape(&shapes.items[0], 4, (double[]){1, 64, 112, 112});
  assert_shape(&shapes.items[1], 1, (double[]){64});
  assert_int_equal(shapes.items[2].rank, 0);
  assert_int_equal(shapes.items[2].argument, 2);
  assert_true(shapes_read("", 0, &shapes));
  assert_int_equal(shapes.count, 0);
  assert_true(shapes_read("[-1,3]", 6, &shapes)); // a free dimension: not known
  assert_int_equal(shapes.items[0].rank, -1);
  assert_true(isnan(shape_elements(&shapes.items[0])));
  assert_true(shapes_read("[1,1,1,1,1,1,1,1,1]", 19, &shapes));
  assert_int_equal(shapes.items[0].rank, -1);
  assert_true(shapes_read("[99999999999999999999]", 22, &shapes));
  assert_int_equal(shapes.items[0].rank, -1);
  static const char *const wrong[] = {"[1,2", "1,2]", "[1,,2]",   "[1,2,]", "[1 2]",
                                      "[a]",  "[1]x", "[1]  [2]", "[-]",    "1x2"};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
    if (shapes_read(wrong[i], strlen(wrong[i]), &shapes))
      fail_msg("%s", wrong[i]);
  char many[4 * 100];
  for (size_t i = 0; i < 100; i++)
    memcpy(many + 4 * i, "[7] ", 4);
  assert_true(shapes_read(many, sizeof many - 1, &shapes));
  assert_int_equal(shapes.count, SHAPES_MOST);
  assert_true(shapes.is_cut);
}

static void test_forms_of_others(void **unused)
{
  (void)unused;
  struct shapes shapes;
  const char *typed = "[{\"float\":[1,3,48,192]},{\"int64\":[]}]";
  assert_true(shapes_read_typed(typed, strlen(typed), &shapes));
  assert_int_equal(shapes.count, 2);
  assert_shape(&shapes.items[0], 4, (double[]){1, 3, 48, 192});
  assert_int_equal(shapes.items[0].type.bytes, 4);
  assert_true(shapes.items[0].type.is_float);
  assert_int_equal(shapes.items[1].type.bytes, 8);
  assert_false(shapes_read_typed("[1]", 3, &shapes));

  const char *arguments = "[[32, 3], [], [[2, 3], [4]], [7]]";
  const char *types = "[\"c10::Half\", \"Scalar\", \"TensorList\", \"long int\"]";
  assert_true(shapes_read_arguments(arguments, strlen(arguments), &shapes));
  assert_true(shapes_read_types(types, strlen(types), &shapes));
  assert_int_equal(shapes.count, 5);
  assert_shape(&shapes.items[0], 2, (double[]){32, 3});
  assert_int_equal(shapes.items[0].type.bytes, 2);
  assert_int_equal(shapes.items[1].rank, 0);
  assert_int_equal(shapes.items[3].argument, 2);
  assert_shape(&shapes.items[4], 1, (double[]){7});
  assert_int_equal(shapes.items[4].argument, 3);
  assert_int_equal(shapes.items[4].type.bytes, 8);
  static const char *const wrong[] = {"[[1],2]", "[[1,[2]]]", "[[[1],2]]", "[[[[1]]]]",
                                      "{}",      "[[1]",      "[[1]] 2",   "[\"a\"]"};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
    if (shapes_read_arguments(wrong[i], strlen(wrong[i]), &shapes))
      fail_msg("%s", wrong[i]);
}

static void test_values(void **unused)
{
  (void)unused;
  struct values values;
  const char *text =
      "[\"\", \"[2, 3]\", \"True\", \"-1\", \"1.\", \"same\", \"[True, False, True]\", \"[]\", \"[1, 2\"]";
  assert_true(shape_values_read(text, strlen(text), &values));
  assert_int_equal(values.count, 9);
  assert_int_equal(values.items[0].kind, VALUE_NONE);
  assert_int_equal(values.items[1].kind, VALUE_NUMBERS);
  assert_int_equal(values.items[1].count, 2);
  assert_true(values.items[1].numbers[1] == 3);
  assert_int_equal(values.items[2].kind, VALUE_TRUTH);
  assert_true(values.items[2].truth);
  assert_true(values.items[3].numbers[0] == -1);
  assert_int_equal(values.items[4].kind, VALUE_NONE);
  assert_string_equal(values.items[5].text, "same");
  assert_int_equal(values.items[6].count, 3);
  assert_true(values.items[6].numbers[0] == 1 && values.items[6].numbers[1] == 0 && values.items[6].numbers[2] == 1);
  assert_int_equal(values.items[7].kind, VALUE_NUMBERS);
  assert_int_equal(values.items[7].count, 0);
  assert_int_equal(values.items[8].kind, VALUE_NONE);
  assert_false(shape_values_read("[1]", 3, &values));
}

// ---- ONNX -----------------------------------------------------------------------------------------------------------
// Counts of `type` from shapes in our own form; kernel_shape and size as one attribute.
static struct flop_counts onnx(const char *type, const char *inputs, const char *outputs, const char *attribute,
                               const char *value)
{
  struct shapes in;
  struct shapes out;
  assert_true(shapes_read(inputs, strlen(inputs), &in));
  assert_true(shapes_read(outputs, strlen(outputs), &out));
  struct flop_attribute attributes[1] = {{attribute, {0}}};
  if (value != NULL)
    attributes[0].value = shape_value_read(value, strlen(value));
  struct flop_operation operation = {
      .type = type,
      .inputs = &in,
      .outputs = &out,
      .attributes = attributes,
      .attribute_count = attribute != NULL,
      .input_bytes = NAN,
      .parameter_bytes = NAN,
      .output_bytes = NAN,
  };
  return flops_count(&operation);
}

static void assert_counts(const struct flop_counts *counts, double multiply_adds, double adds, double compares,
                          double specials, const char *what)
{
  if (counts->multiply_adds != multiply_adds || counts->adds != adds || counts->compares != compares ||
      counts->specials != specials)
    fail_msg("%s: %.0f %.0f %.0f %.0f", what, counts->multiply_adds, counts->adds, counts->compares, counts->specials);
}

// The counts that the authors of MLModelScope published for BVLC AlexNet, layer by layer; the softmax of theirs is
// without the largest value and its differences, which ours has.
static void test_alexnet(void **unused)
{
  (void)unused;
  static const struct {
    const char *type, *inputs, *outputs, *attribute, *value;
    double multiply_adds, adds, compares, specials;
  } layers[] = {
      {"Identity", "[1,3,227,227]", "[1,3,227,227]", NULL, NULL, 0, 0, 0, 0},
      {"Conv", "[1,3,227,227] [96,3,11,11]", "[1,96,55,55]", NULL, NULL, 105415200, 0, 0, 0},
      {"Relu", "[1,96,55,55]", "[1,96,55,55]", NULL, NULL, 0, 0, 290400, 0},
      {"LRN", "[1,96,55,55]", "[1,96,55,55]", "size", "5", 1452000, 290400, 0, 580800 + 290400},
      {"MaxPool", "[1,96,55,55]", "[1,96,27,27]", "kernel_shape", "[3,3]", 0, 0, 629856, 0},
      {"Conv", "[1,96,27,27] [256,48,5,5]", "[1,256,27,27]", NULL, NULL, 223948800, 0, 0, 0},
      {"Relu", "[1,256,27,27]", "[1,256,27,27]", NULL, NULL, 0, 0, 186624, 0},
      {"LRN", "[1,256,27,27]", "[1,256,27,27]", "size", "5", 933120, 186624, 0, 373248 + 186624},
      {"MaxPool", "[1,256,27,27]", "[1,256,13,13]", "kernel_shape", "[3,3]", 0, 0, 389376, 0},
      {"Conv", "[1,256,13,13] [384,256,3,3]", "[1,384,13,13]", NULL, NULL, 149520384, 0, 0, 0},
      {"Relu", "[1,384,13,13]", "[1,384,13,13]", NULL, NULL, 0, 0, 64896, 0},
      {"Conv", "[1,384,13,13] [384,192,3,3]", "[1,384,13,13]", NULL, NULL, 112140288, 0, 0, 0},
      {"Relu", "[1,384,13,13]", "[1,384,13,13]", NULL, NULL, 0, 0, 64896, 0},
      {"Conv", "[1,384,13,13] [256,192,3,3]", "[1,256,13,13]", NULL, NULL, 74760192, 0, 0, 0},
      {"Relu", "[1,256,13,13]", "[1,256,13,13]", NULL, NULL, 0, 0, 43264, 0},
      {"MaxPool", "[1,256,13,13]", "[1,256,6,6]", "kernel_shape", "[3,3]", 0, 0, 82944, 0},
      {"Gemm", "[1,9216] [4096,9216]", "[1,4096]", NULL, NULL, 37748736, 0, 0, 0},
      {"Relu", "[1,4096]", "[1,4096]", NULL, NULL, 0, 0, 4096, 0},
      {"Dropout", "[1,4096]", "[1,4096]", NULL, NULL, 0, 0, 4096, 0},
      {"Gemm", "[1,4096] [4096,4096]", "[1,4096]", NULL, NULL, 16777216, 0, 0, 0},
      {"Relu", "[1,4096]", "[1,4096]", NULL, NULL, 0, 0, 4096, 0},
      {"Dropout", "[1,4096]", "[1,4096]", NULL, NULL, 0, 0, 4096, 0},
      {"Gemm", "[1,4096] [1000,4096]", "[1,1000]", NULL, NULL, 4096000, 0, 0, 0},
      {"Softmax", "[1,1000]", "[1,1000]", NULL, NULL, 0, 2000, 1000, 2000},
  };
  double multiply_adds = 0;
  assert_int_equal(sizeof layers / sizeof layers[0], 24);
  for (size_t i = 0; i < 24; i++) {
    struct flop_counts counts =
        onnx(layers[i].type, layers[i].inputs, layers[i].outputs, layers[i].attribute, layers[i].value);
    assert_counts(&counts, layers[i].multiply_adds, layers[i].adds, layers[i].compares, layers[i].specials,
                  layers[i].type);
    multiply_adds += counts.multiply_adds;
  }
  assert_true(multiply_adds == 726791936);
}

static void test_onnx_by_hand(void **unused)
{
  (void)unused;
  static const struct {
    const char *type, *inputs, *outputs;
    double multiply_adds, adds, compares, specials;
  } cases[] = {
      {"Conv", "[1,16,8,8] [32,16,3,3] [32]", "[1,32,8,8]", 32 * 64 * 144, 32 * 64, 0, 0}, // a bias
      {"Conv", "[1,16,8,8] [16,1,3,3]", "[1,16,8,8]", 16 * 64 * 9, 0, 0, 0},               // depthwise
      {"FusedConv", "[1,4,2,2] [4,4,1,1] [4] [1,4,2,2]", "[1,4,2,2]", 64, 32, 0, 0},       // and a sum
      {"Conv", "[1,16,100] [32,16,5]", "[1,32,96]", 32 * 96 * 80, 0, 0, 0},                // one dimension
      {"QLinearConv", "[1,4,2,2] [] [] [8,4,1,1] [] []", "[1,8,2,2]", 128, 0, 0, 0},
      {"ConvTranspose", "[1,24,80,80] [24,6,2,2] [6]", "[1,6,160,160]", 24 * 6400 * 24, 6 * 25600, 0, 0},
      {"Gemm", "[2,3] [3,5] [5]", "[2,5]", 30, 10, 0, 0},
      {"Gemm", "[1,200] [2]", "[1,2]", 400, 2, 0, 0}, // the weights are packed away
      {"Gemm", "[3,2] [3,5]", "[2,5]", 30, 0, 0, 0},  // A turned
      {"MatMul", "[8,12,64,32] [8,12,32,64]", "[8,12,64,64]", 8 * 12 * 64 * 64 * 32, 0, 0, 0},
      {"MatMul", "[4,7,10]", "[4,7,20]", 4 * 7 * 20 * 10, 0, 0, 0},          // packed
      {"FusedMatMul", "[2,3,5] [2,3,7]", "[2,5,7]", 2 * 5 * 7 * 3, 0, 0, 0}, // A turned
      {"Attention", "[2,10,64] [64,192] [192]", "[2,10,64]", 20 * 64 * 192 + 20 * 2 * 10 * 64, 20 * 192, 0, 0},
      {"MultiHeadAttention", "[2,10,64] [2,20,64] [2,20,64]", "[2,10,64]", 2 * 2 * 10 * 20 * 64, 0, 0, 0},
      {"Attention", "[2,4,10,16] [2,4,20,16] [2,4,20,8]", "[2,4,10,8]", 2 * 4 * 10 * 20 * 24, 0, 0, 0},
      {"Attention", "[2,4,10,16] [2,2,20,16] [2,2,20,8]", "[2,4,10,8]", 2 * 4 * 10 * 20 * 24, 0, 0, 0},
      {"Attention", "[2,10,64] [2,20,32] [2,20,16]", "[2,10,32]", 2 * 4 * 10 * 20 * 24, 0, 0, 0}, // the same, flat
      {"GlobalAveragePool", "[1,8,4,4]", "[1,8,1,1]", 0, 128, 0, 8},
      {"BatchNormalization", "[1,24,2,2] [24] [24] [24] [24]", "[1,24,2,2]", 96, 0, 0, 0},
      {"LayerNormalization", "[2,8] [8] [8]", "[2,8]", 32, 48, 0, 16},
      {"Softmax", "[2,8]", "[2,8]", 0, 32, 16, 32},
      {"RotaryEmbedding", "[1,4,8,16] [8,8] [8,8]", "[1,4,8,16]", 512, 512, 0, 0},
      {"Add", "[2,8] [8]", "[2,8]", 0, 16, 0, 0},
      {"Sum", "[2,8] [2,8] [2,8]", "[2,8]", 0, 32, 0, 0},
      {"Gelu", "[10]", "[10]", 0, 40, 0, 10},
      {"Sigmoid", "[10]", "[10]", 0, 10, 0, 20},
      {"Concat", "[4] [6]", "[10]", 0, 0, 0, 0},
      {"Reshape", "[2,8] [1]", "[16]", 0, 0, 0, 0},
      {"Conv", "[1,0,8,8] [32,0,3,3]", "[1,32,8,8]", 0, 0, 0, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct flop_counts counts = onnx(cases[i].type, cases[i].inputs, cases[i].outputs, NULL, NULL);
    assert_counts(&counts, cases[i].multiply_adds, cases[i].adds, cases[i].compares, cases[i].specials,
                  cases[i].inputs);
  }
}

// Windows that no profile says, from the model.
static void test_onnx_windows(void **unused)
{
  (void)unused;
  struct flop_counts counts = onnx("ConvTranspose", "[1,24,80,80]", "[1,6,160,160]", "kernel_shape", "[2,2]");
  assert_counts(&counts, 24 * 6400 * 24, 0, 0, 0, "repacked");
  counts = onnx("ConvTranspose", "[1,24,80,80] [6]", "[1,6,160,160]", "kernel_shape", "[2,2]");
  assert_counts(&counts, 24 * 6400 * 24, 6 * 25600, 0, 0, "repacked, with a bias");
  counts = onnx("AveragePool", "[1,8,4,4]", "[1,8,2,2]", "kernel_shape", "[2,2]");
  assert_counts(&counts, 0, 128, 0, 32, "average");
  counts = onnx("Attention", "[2,4,10,16] [2,4,20,16] [2,4,20,8]", "[2,4,10,8]", "mode", "causal");
  assert_counts(&counts, 2 * 4 * 10 * 20 * 24 / 2, 0, 0, 0, "causal");
  counts = onnx("Attention", "[2,10,64] [64,192] [192]", "[2,10,64]", "mode", "causal");
  assert_counts(&counts, 20 * 64 * 192 + 20 * 10 * 64, 20 * 192, 0, 0, "causal, with its projections");
  counts = onnx("Resize", "[1,8,4,4]", "[1,8,8,8]", "mode", "nearest");
  assert_counts(&counts, 0, 0, 0, 0, "nearest");
  counts = onnx("Resize", "[1,8,4,4]", "[1,8,8,8]", "mode", "linear");
  assert_true(isnan(counts.multiply_adds));
  struct shapes in;
  struct shapes out;
  assert_true(shapes_read("[1,24,80,80]", 12, &in) && shapes_read("[1,6,160,160]", 13, &out));
  const struct flop_attribute attributes[] = {{"kernel_shape", shape_value_read("[2,2]", 5)},
                                              {"group", shape_value_read("3", 1)}};
  struct flop_operation operation = {.type = "ConvTranspose",
                                     .inputs = &in,
                                     .outputs = &out,
                                     .attributes = attributes,
                                     .attribute_count = 2,
                                     .input_bytes = 614400,
                                     .parameter_bytes = 0,
                                     .output_bytes = 614400};
  counts = flops_count(&operation);
  assert_counts(&counts, 24 * 6400 * 8, 0, 0, 0, "groups");
  assert_true(counts.bytes == 2 * 614400 + 4 * 24 * 8); // the weights are put back
}

static void test_onnx_unknown(void **unused)
{
  (void)unused;
  static const struct {
    const char *type, *inputs, *outputs;
  } cases[] = {
      {"NoSuchOperator", "[1]", "[1]"},
      {"TopK", "[1,100] [1]", "[1,5]"},
      {"Conv", "[1,3,8,8]", "[1,4,8,8]"},                  // no weights
      {"Conv", "[1,3,8,8] [4,3,3]", "[1,4,8,8]"},          // of another rank
      {"ConvTranspose", "[1,24,80,80]", "[1,24,160,160]"}, // weights packed away: the window is not known
      {"MaxPool", "[1,96,55,55]", "[1,96,27,27]"},         // nor here
      {"LRN", "[1,4]", "[1,4]"},
      {"Resize", "[1,4] [0] [2]", "[1,8]"},
      {"Gemm", "[3,4] [4,5]", "[2,5]"},
      {"Relu", "[1,4]", ""},
      {"Relu", "[-1,4]", "[-1,4]"},
      {"MultiHeadAttention", "[2,10,64] [2,20,48] [2,20,48]", "[2,10,64]"}, // no whole number of heads shares a key
      {"MultiHeadAttention", "[2,10,32] [2,20,64] [2,20,64]", "[2,10,32]"},
      {"MultiHeadAttention", "[2,10,64] [2,20,0] [2,20,0]", "[2,10,0]"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct flop_counts counts = onnx(cases[i].type, cases[i].inputs, cases[i].outputs, NULL, NULL);
    if (!isnan(counts.multiply_adds) || !isnan(flop_counts_flops(&counts)))
      fail_msg("%s", cases[i].type);
  }
  assert_true(flops_find(FLOPS_ONNX, "Conv").rule && flops_find(FLOPS_ONNX, "aten::relu_").rule &&
              !flops_find(FLOPS_ONNX, "relu").rule && !flops_find(FLOPS_ONNX, "aten::").rule);
  assert_true(flops_are_composite(flops_find(FLOPS_ONNX, "aten::contiguous")) &&
              !flops_are_composite(flops_find(FLOPS_ONNX, "aten::view")));
  struct flop_operation nothing = {.type = NULL};
  struct flop_counts counts = flops_count(&nothing);
  assert_true(isnan(counts.bytes));
  nothing = (struct flop_operation){.type = "Conv", .input_bytes = NAN, .parameter_bytes = NAN, .output_bytes = NAN};
  counts = flops_count(&nothing);
  assert_true(isnan(counts.multiply_adds) && isnan(counts.bytes));
  nothing.type = "aten::conv2d";
  counts = flops_count(&nothing);
  assert_true(isnan(counts.multiply_adds) && isnan(counts.bytes));
}

// As ONNX Runtime records them: bytes of activations, parameters, outputs.
static double recorded_bytes(const char *type, const char *inputs, const char *outputs, double input_bytes,
                             double parameter_bytes, double output_bytes)
{
  struct shapes in;
  struct shapes out;
  assert_true(shapes_read(inputs, strlen(inputs), &in) && shapes_read(outputs, strlen(outputs), &out));
  struct flop_operation operation = {.type = type,
                                     .inputs = &in,
                                     .outputs = &out,
                                     .input_bytes = input_bytes,
                                     .parameter_bytes = parameter_bytes,
                                     .output_bytes = output_bytes};
  struct flop_counts counts = flops_count(&operation);
  return counts.bytes;
}

static void test_onnx_bytes(void **unused)
{
  (void)unused;
  assert_true(recorded_bytes("Conv", "[1,3,48,192] [16,3,3,3] [16]", "[1,16,24,96]", 110592, 1792, 147456) ==
              110592 + 1792 + 147456);
  // 2 x 200 packed weights, of four bytes as the output says, are put back.
  assert_true(recorded_bytes("Gemm", "[1,200] [2]", "[1,2]", 800, 8, 8) == 800 + 8 + 8 + 1600);
  assert_true(recorded_bytes("MatMul", "[1,7,200]", "[1,7,2]", 2800, 0, 28) == 2800 + 28 + 800); // half precision
  assert_true(isnan(recorded_bytes("ConvTranspose", "[1,2,3,3]", "[1,2,6,6]", 72, 0, 288)));
  assert_true(recorded_bytes("MaxPool", "[1,2,4,4]", "[1,2,2,2]", 128, 0, 32) == 160); // without a count
  assert_true(recorded_bytes("Reshape", "[4,4] [1]", "[16]", 64, 8, 64) == 0);
  assert_true(recorded_bytes("Gather", "[1000,8] [2]", "[2,8]", 16, 32000, 64) == 128); // two rows
  assert_true(isnan(recorded_bytes("Relu", "[4]", "[4]", NAN, NAN, NAN)));              // of what size?
}

// ---- ATen -----------------------------------------------------------------------------------------------------------
static struct flop_counts aten(const char *type, const char *dims, const char *types, const char *concrete)
{
  struct shapes in;
  struct values values;
  assert_true(shapes_read_arguments(dims, strlen(dims), &in));
  if (types != NULL)
    assert_true(shapes_read_types(types, strlen(types), &in));
  if (concrete != NULL)
    assert_true(shape_values_read(concrete, strlen(concrete), &values));
  struct flop_operation operation = {.type = type,
                                     .inputs = &in,
                                     .values = concrete != NULL ? &values : NULL,
                                     .input_bytes = NAN,
                                     .parameter_bytes = NAN,
                                     .output_bytes = NAN};
  return flops_count(&operation);
}

#define FLOATS "[\"float\",\"float\",\"float\",\"float\",\"float\",\"float\",\"float\"]"

#define CONV1 (64.0 * 112 * 112 * 147)
static const struct {
  const char *type, *dims, *concrete;
  double multiply_adds, adds, compares, specials, floats; // moved
} aten_cases[] = {
    {"aten::mm", "[[128, 5], [5, 64]]", NULL, 128 * 5 * 64, 0, 0, 0, 128 * 5 + 5 * 64 + 128 * 64},
    {"aten::addmm", "[[64], [128, 5], [5, 64]]", NULL, 128 * 5 * 64, 128 * 64, 0, 0, 64 + 640 + 320 + 8192},
    {"aten::bmm", "[[3, 4, 5], [3, 5, 6]]", NULL, 360, 0, 0, 0, 60 + 90 + 72},
    {"aten::baddbmm", "[[3, 4, 6], [3, 4, 5], [3, 5, 6]]", NULL, 360, 72, 0, 0, 72 + 60 + 90 + 72},
    {"aten::mv", "[[4, 5], [5]]", NULL, 20, 0, 0, 0, 29},
    {"aten::addmv", "[[4], [4, 5], [5]]", NULL, 20, 4, 0, 0, 33},
    {"aten::dot", "[[9], [9]]", NULL, 9, 0, 0, 0, 19},
    {"aten::linear", "[[2, 3, 8], [16, 8], [16]]", NULL, 768, 96, 0, 0, 48 + 128 + 16 + 96},
    {"aten::linear", "[[2, 3, 8], [16, 8], []]", NULL, 768, 0, 0, 0, 1 + 48 + 128 + 96}, // a tensor of one, here
    {"aten::matmul", "[[7, 1, 4, 5], [3, 5, 6]]", NULL, 7 * 3 * 4 * 5 * 6, 0, 0, 0, 140 + 90 + 504},
    {"aten::matmul", "[[5], [5, 6]]", NULL, 30, 0, 0, 0, 41},
    {"aten::matmul", "[[4, 5], [5]]", NULL, 20, 0, 0, 0, 29},
    {"aten::conv2d", "[[1, 3, 224, 224], [64, 3, 7, 7], [64]]",
     "[\"\",\"\",\"\",\"[2, 2]\",\"[3, 3]\",\"[1, 1]\",\"1\"]", CONV1, 64 * 112 * 112, 0, 0,
     150528 + 9408 + 64 + 802816},
    {"aten::cudnn_convolution", "[[1, 3, 224, 224], [64, 3, 7, 7]]",
     "[\"\",\"\",\"[3, 3]\",\"[2, 2]\",\"[1, 1]\",\"1\",\"False\",\"False\",\"True\"]", CONV1, 0, 0, 0,
     150528 + 9408 + 802816},
    {"aten::mkldnn_convolution", "[[1, 3, 224, 224], [64, 3, 7, 7], []]",
     "[\"\",\"\",\"\",\"[3, 3]\",\"[2, 2]\",\"[1, 1]\",\"1\"]", CONV1, 0, 0, 0, 1 + 150528 + 9408 + 802816},
    {"aten::conv2d", "[[3, 8, 8], [4, 3, 3, 3], []]", "[\"\",\"\",\"\",\"1\",\"same\",\"1\",\"1\"]", 4 * 64 * 27, 0, 0,
     0, 1 + 192 + 108 + 256}, // without a batch
    {"aten::conv1d", "[[2, 8, 100], [16, 2, 5]]", "[\"\",\"\",\"\",\"[2]\",\"[0]\",\"[2]\",\"4\"]", 2 * 16 * 46 * 10, 0,
     0, 0, 1600 + 160 + 1472}, // dilated: 1 + 2 * 4 = 9 of 100, every second
    {"aten::convolution", "[[1, 8, 4, 4], [8, 6, 2, 2], [6]]",
     "[\"\",\"\",\"\",\"[2, 2]\",\"[0, 0]\",\"[1, 1]\",\"True\",\"[0, 0]\",\"1\"]", 128 * 24, 6 * 64, 0, 0,
     128 + 192 + 6 + 384}, // turned
    {"aten::convolution_backward", "[[1, 4, 8, 8], [1, 3, 8, 8], [4, 3, 3, 3], []]",
     "[\"\",\"\",\"\",\"[4]\",\"[1, 1]\",\"[1, 1]\",\"[1, 1]\",\"False\",\"[0, 0]\",\"1\",\"[True, True, True]\"]",
     2 * 256 * 27, 256, 0, 0, 1 + 256 + 192 + 108 + 192 + 108},
    {"aten::convolution_backward", "[[1, 4, 8, 8], [1, 3, 8, 8], [4, 3, 3, 3], []]",
     "[\"\",\"\",\"\",\"[4]\",\"[1, 1]\",\"[1, 1]\",\"[1, 1]\",\"False\",\"[0, 0]\",\"1\",\"[False, True, False]\"]",
     256 * 27, 0, 0, 0, 1 + 256 + 192 + 108 + 108},
    {"aten::cudnn_convolution_backward_input", "[[], [32, 2048, 7, 7], [2048, 512, 1, 1]]", NULL,
     32.0 * 2048 * 49 * 512, 0, 0, 0, NAN},
    {"aten::cudnn_convolution_backward_weight", "[[], [32, 4, 7, 7], [32, 512, 7, 7]]",
     "[\"[4, 512, 1, 1]\",\"\",\"\"]", 32.0 * 4 * 49 * 512, 0, 0, 0, 1 + 6272 + 32 * 512 * 49 + 2048},
    {"aten::scaled_dot_product_attention", "[[2, 4, 10, 16], [2, 4, 20, 16], [2, 4, 20, 8]]", NULL,
     2 * 4 * 10 * 20 * 24, 0, 0, 0, 1280 + 2560 + 1280 + 640},
    {"aten::_scaled_dot_product_flash_attention", "[[2, 4, 10, 16], [2, 4, 10, 16], [2, 4, 10, 16]]",
     "[\"\",\"\",\"\",\"0.\",\"True\",\"False\"]", 2 * 4 * 10 * 10 * 16, 0, 0, 0, 5120}, // causal: half
    {"aten::_efficient_attention_forward", "[[2, 10, 4, 16], [2, 10, 4, 16], [2, 10, 4, 16]]", NULL,
     2 * 2 * 4 * 10 * 10 * 16, 0, 0, 0, 5120},
    {"aten::_efficient_attention_backward", "[[2, 10, 4, 16], [2, 10, 4, 16], [2, 10, 4, 16], [2, 10, 4, 16]]", NULL,
     5 * 2 * 4 * 10 * 10 * 16, 0, 0, 0, 7 * 1280},
    {"aten::max_pool2d", "[[1, 64, 112, 112]]", "[\"\",\"[3, 3]\",\"[2, 2]\",\"[1, 1]\",\"[1, 1]\",\"False\"]", 0, 0,
     64 * 56 * 56 * 9, 0, 802816 + 200704},
    {"aten::max_pool2d", "[[1, 1, 6, 6]]", "[\"\",\"[3]\",\"[2]\",\"[0]\",\"[1]\",\"True\"]", 0, 0, 9 * 9, 0, 36 + 9},
    {"aten::avg_pool2d", "[[1, 1, 6, 6]]", "[\"\",\"[2, 2]\",\"[]\",\"[0, 0]\",\"False\"]", 0, 36, 0, 9, 45},
    {"aten::adaptive_avg_pool2d", "[[32, 8, 7, 7]]", "[\"\",\"[1, 1]\"]", 0, 12544, 0, 256, 12544 + 256},
    {"aten::batch_norm", "[[2, 3, 4, 4], [3], [3], [3], [3]]", "[\"\",\"\",\"\",\"\",\"\",\"False\"]", 96, 0, 0, 0,
     96 + 12 + 96},
    {"aten::batch_norm", "[[2, 3, 4, 4], [3], [3], [3], [3]]", "[\"\",\"\",\"\",\"\",\"\",\"True\"]", 192, 288, 0, 96,
     96 + 12 + 96},
    {"aten::native_layer_norm", "[[4, 8], [1], [8], [8]]", NULL, 64, 96, 0, 32, 32 + 17 + 32},
    {"aten::_log_softmax", "[[32, 10]]", NULL, 0, 960, 320, 320, 640},
    {"aten::add_", "[[4, 1, 5], [3, 1], []]", NULL, 0, 60, 0, 0, 20 + 3 + 60},
    {"aten::relu", "[[7]]", NULL, 0, 0, 7, 0, 14},
    {"aten::clamp_min", "[[7], [], [7]]", NULL, 0, 0, 7, 0, 14}, // the last is where the result goes
    {"aten::mul", "[[3, 7], [7], [3, 7]]", NULL, 0, 21, 0, 0, 21 + 7 + 21},
    {"aten::mm", "[[2, 3], [3, 5], [2, 5]]", NULL, 30, 0, 0, 0, 31},
    {"aten::sum", "[[4, 5, 6]]", "[\"\",\"[0, -1]\"]", 0, 120, 0, 0, 125},
    {"aten::mean", "[[4, 5, 6]]", "[\"\",\"\"]", 0, 120, 0, 1, 121},
    {"aten::copy_", "[[4, 5], [4, 5]]", NULL, 0, 0, 0, 0, 40},
    {"aten::cat", "[[[4, 5], [2, 5]], []]", NULL, 0, 0, 0, 0, 30 + 1 + 30},
    {"aten::fill_", "[[4, 5]]", NULL, 0, 0, 0, 0, 20},
    {"aten::view", "[[4, 5]]", NULL, 0, 0, 0, 0, 0},
};

static void test_aten_by_hand(void **unused)
{
  (void)unused;
  for (size_t i = 0; i < sizeof aten_cases / sizeof aten_cases[0]; i++) {
    struct flop_counts counts = aten(aten_cases[i].type, aten_cases[i].dims, FLOATS, aten_cases[i].concrete);
    assert_counts(&counts, aten_cases[i].multiply_adds, aten_cases[i].adds, aten_cases[i].compares,
                  aten_cases[i].specials, aten_cases[i].dims);
    if (counts.bytes != 4 * aten_cases[i].floats && !(isnan(counts.bytes) && isnan(aten_cases[i].floats)))
      fail_msg("%s %s: %.0f bytes instead of %.0f", aten_cases[i].type, aten_cases[i].dims, counts.bytes,
               4 * aten_cases[i].floats);
  }
}

static void test_aten_unknown(void **unused)
{
  (void)unused;
  static const struct {
    const char *type, *dims;
  } cases[] = {
      {"aten::conv2d", "[[1, 3, 224, 224], [64, 3, 7, 7], [64], [], [], [], []]"}, // the stride is not recorded
      {"aten::convolution_backward", "[[1, 4, 8, 8], [1, 3, 8, 8], [4, 3, 3, 3]]"},
      {"aten::cudnn_convolution_backward_weight", "[[], [32, 4, 7, 7], [32, 512, 7, 7]]"},
      {"aten::mm", "[[2, 3], [4, 5]]"},
      {"aten::matmul", "[[2, 3, 4], [3, 4, 5]]"},
      {"aten::batch_norm", "[[2, 3, 4, 4], [3], [3], [3], [3]]"}, // training or not?
      {"aten::add", "[[2, 3], [4]]"},
      {"aten::max_pool2d", "[[1, 64, 112, 112]]"},
      {"aten::no_such_operator", "[[1]]"},
      {"aten::einsum", "[[], [[2, 3], [3, 4]], []]"},
      {"aten::mean", "[[4, 5]]"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct flop_counts counts = aten(cases[i].type, cases[i].dims, FLOATS, NULL);
    if (!isnan(counts.multiply_adds) || !isnan(flop_counts_flops(&counts)))
      fail_msg("%s", cases[i].type);
  }
  struct flop_counts counts = aten("aten::mm", "[[2, 3], [3, 5]]", NULL, NULL);
  assert_true(counts.multiply_adds == 30 && isnan(counts.bytes)); // elements of what size?
  counts = aten("aten::mm", "[[2, 3], [3, 5]]", "[\"c10::Half\", \"c10::Half\"]", NULL);
  assert_true(counts.bytes == 2 * (6 + 15 + 10) && counts.element.bytes == 2 && counts.element.is_float);
  counts = aten("aten::eq", "[[8], [8]]", FLOATS, NULL);
  assert_true(counts.compares == 8 && counts.bytes == 64 + 8);
  counts = aten("aten::embedding", "[[1000, 16], [4, 5]]", "[\"float\", \"long int\"]", NULL);
  assert_true(counts.bytes == 2 * 20 * 16 * 4 + 160);
  assert_true(flop_counts_flops(&(struct flop_counts){1, 2, 3, 4, 0, {0, false}}) == 11);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_own_form),     cmocka_unit_test(test_forms_of_others), cmocka_unit_test(test_values),
      cmocka_unit_test(test_alexnet),      cmocka_unit_test(test_onnx_by_hand),    cmocka_unit_test(test_onnx_unknown),
      cmocka_unit_test(test_onnx_windows), cmocka_unit_test(test_onnx_bytes),      cmocka_unit_test(test_aten_by_hand),
      cmocka_unit_test(test_aten_unknown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
