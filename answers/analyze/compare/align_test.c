// SPDX-License-Identifier: Apache-2.0
// Alignment of layers by hand-made networks.
#include "analyze/compare/align.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MOST 64

struct network {
  struct align_layer layers[MOST];
  size_t count;
};

// Layers "NAME:TYPE:SIZE", separated by spaces. A name is a letter or a number; "?": no type.
static struct network read_network(const char *text)
{
  struct network network = {0};
  char name[16], type[32];
  int size, length;
  for (; sscanf(text, " %15[^:]:%31[^:]:%d%n", name, type, &size, &length) == 3; text += length) {
    uint32_t number = name[1] == 0 ? (uint32_t)name[0] : 256 + (uint32_t)atoi(name);
    network.layers[network.count++] =
        (struct align_layer){number, flops_operator_family(type[0] == '?' ? NULL : type), (uint64_t)size};
  }
  return network;
}

static void put_group(char *text, const struct align_group *group)
{
  for (size_t i = 0; i < group->count; i++)
    sprintf(text + strlen(text), "%s%zu", i > 0 ? "+" : "", group->items[i]);
}

// The pairs as "0=0 1+2=1", places on either side; a "!" follows those that pair by structure.
static void expect(const char *a_text, const char *b_text, const char *pairs)
{
  struct network a = read_network(a_text), b = read_network(b_text);
  struct arena arena = {0};
  char text[1024] = "";
  struct align_result result = compare_align_layers(a.layers, a.count, b.layers, b.count, &arena);
  for (size_t i = 0; i < result.count; i++) {
    strcat(text, i > 0 ? " " : "");
    put_group(text, &result.pairs[i].a);
    strcat(text, "=");
    put_group(text, &result.pairs[i].b);
    strcat(text, result.pairs[i].is_by_name ? "" : "!");
  }
  assert_string_equal(text, pairs);
  assert_false(result.is_cut);
  arena_done(&arena);
}

static void test_equal_names(void **unused)
{
  (void)unused;
  expect("a:Conv:9 b:Relu:9 c:Gemm:5", "a:Conv:9 b:Relu:9 c:Gemm:5", "0=0 1=1 2=2");
  expect("a:Conv:9 b:MaxPool:9 c:Gemm:5", "a:Conv:9 x:LSTM:9 b:MaxPool:9 c:Gemm:5", "0=0 1=2 2=3");
  expect("a:?:0 b:?:0 c:?:0", "a:?:0 b:?:0 c:?:0", "0=0 1=1 2=2");
  expect("a:Conv:9 a:Conv:9 a:Conv:9", "a:Conv:9 a:Conv:9", "0=0 1=1");                    // the rest has no partner
  expect("a:Conv:9 b:Gemm:8 c:MaxPool:7", "b:Gemm:8 a:Conv:9 c:MaxPool:7", "0=1 1=0 2=2"); // in another order
  expect("", "a:Conv:9", "");
  expect("a:Conv:9", "", "");
}

static void test_an_equal_name_of_another_operator_is_no_pair(void **unused)
{
  (void)unused;
  expect("a:Conv:9 b:Gemm:9", "a:MaxPool:9 b:Gemm:9", "1=1");
}

static void test_operators_where_names_differ(void **unused)
{
  (void)unused;
  expect("a:Conv:9 b:MaxPool:4 c:Conv:4 d:Gemm:5", "1a:CONV_2D:9 2a:MAX_POOL_2D:4 3a:conv2d:4 4a:FullyConnected:5",
         "0=0! 1=1! 2=2! 3=3!");
  // Shapes choose among operators.
  expect("a:Conv:1 b:Conv:2 c:Conv:3", "1a:Conv:1 3a:Conv:3", "0=0! 2=1!");
}

static void test_fused_operators(void **unused)
{
  (void)unused;
  expect("a:Conv:9 b:BatchNormalization:9 c:Relu:9 d:Conv:8 e:BatchNormalization:8 f:Add:8 g:Relu:8",
         "1a:FusedConv:9 2a:FusedConv:8", "0+1+2=0! 3+4+5+6=1!");
  expect("a:FusedConv:9", "a:Conv:9 b:Relu:9", "0=0+1"); // of one name
  expect("a:Conv:9", "1a:Pad:9 2a:Conv:9", "0=0+1!");    // before it
  // Not across others: the activation is the LSTM's, which b lacks, and not fused into the convolution after it.
  expect("a:Conv:9 b:LSTM:9 c:Relu:9", "1a:Conv:9", "0=0!");
  expect("a:Conv:9 b:LSTM:8 c:Relu:8 d:Conv:7", "1a:Conv:9 2a:Conv:7", "0=0! 3=1!");
  // A pair has room for twelve, and the others are of no other one.
  expect("a:Conv:9 b:Mul:9 c:Mul:9 d:Mul:9 e:Mul:9 f:Mul:9 g:Mul:9 h:Mul:9 i:Mul:9 j:Mul:9 k:Mul:9 l:Mul:9 m:Mul:9 "
         "n:Conv:8",
         "1a:Conv:9 2a:Conv:8", "0+1+2+3+4+5+6+7+8+9+10+11=0! 13=1!");
}

// The shortcut of a block is executed before the other branch, or after it.
static void test_branches_in_another_order(void **unused)
{
  (void)unused;
  expect("a:Conv:1 b:Conv:2 c:Conv:3 s:Conv:4 e:Conv:5", "1a:Conv:1 4a:Conv:4 2a:Conv:2 3a:Conv:3 5a:Conv:5",
         "0=0! 1=2! 2=3! 3=1! 4=4!");
}

static void test_few_equal_names_are_no_anchors(void **unused)
{
  (void)unused;
  expect("n:Conv:1 b:Conv:2 c:Conv:3 d:Conv:4 e:Conv:5 f:Conv:6",
         "1a:Conv:1 2a:Conv:2 3a:Conv:3 4a:Conv:4 5a:Conv:5 n:Conv:6", "0=0! 1=1! 2=2! 3=3! 4=4! 5=5!");
}

static void test_many_layers(void **unused)
{
  (void)unused;
  const size_t count = 8000;
  struct arena arena = {0};
  struct align_layer *a = arena_alloc_array(&arena, 2 * count, sizeof *a);
  struct align_layer *b = arena_alloc_array(&arena, 2 * count, sizeof *b);
  for (uint32_t i = 0; i < 2 * count; i++) {
    a[i] = (struct align_layer){i, OPERATOR_CONVOLUTION, i % 97 + 1};
    b[i] = (struct align_layer){i + 100000, OPERATOR_CONVOLUTION, i % 97 + 1};
  }
  struct align_result result = compare_align_layers(a, count, b + 1, count, &arena); // one later
  assert_int_equal(result.count, count);
  assert_int_equal(result.pairs[1].a.items[0], 1);
  assert_int_equal(result.pairs[1].b.items[0], 0);
  assert_false(result.is_cut);
  result = compare_align_layers(a, 2 * count, b, 2 * count, &arena);
  assert_true(result.is_cut);
  assert_int_equal(result.count, 2 * count); // in order
  arena_done(&arena);
}

static void test_operators_in_all_spellings(void **unused)
{
  (void)unused;
  static const struct {
    const char *type;
    uint32_t family;
  } known[] = {
      {"Conv", OPERATOR_CONVOLUTION},
      {"aten::_convolution", OPERATOR_CONVOLUTION},
      {"DepthwiseConv2dNative", OPERATOR_CONVOLUTION},
      {"QLinearConv", OPERATOR_CONVOLUTION},
      {"_sg_mkldnn_conv", OPERATOR_CONVOLUTION},
      {"Conv2DBackpropInput", OPERATOR_TRANSPOSED_CONVOLUTION},
      {"conv_transpose2d", OPERATOR_TRANSPOSED_CONVOLUTION},
      {"_MklNativePadWithFusedConv2D", OPERATOR_CONVOLUTION},
      {"Convert", OPERATOR_LAYOUT},
      {"DequantizeLinear", OPERATOR_LAYOUT},
      {"Gemm", OPERATOR_PRODUCT},
      {"aten::mm", OPERATOR_PRODUCT},
      {"Fully Connected (NC, F32) GEMM", OPERATOR_PRODUCT},
      {"GlobalAveragePool", OPERATOR_AVERAGE_POOL},
      {"MEAN", OPERATOR_AVERAGE_POOL},
      {"FusedBatchNormV3", OPERATOR_NORMALISATION},
      {"aten::add_", OPERATOR_ARITHMETIC},
      {"LeakyRelu", OPERATOR_ACTIVATION},
      {"MyOperator", OPERATOR_FAMILIES},
      {"", OPERATOR_NONE},
      {NULL, OPERATOR_NONE},
  };
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
    assert_int_equal(flops_operator_family(known[i].type), known[i].family);
}

static void test_shapes_in_any_order(void **unused)
{
  (void)unused;
  assert_true(shape_number("[1,64,56,56]") == shape_number("[56,56,64]") && shape_number("[1,64,56,56]") != 0);
  assert_true(shape_number("[1,64,56,56]") != shape_number("[1,64,56,57]"));
  assert_int_equal(shape_number(NULL), 0);
  assert_int_equal(shape_number("64 by 56"), 0);
  assert_int_equal(shape_number("[1e300,99999999999999999999]"), 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_equal_names),
      cmocka_unit_test(test_an_equal_name_of_another_operator_is_no_pair),
      cmocka_unit_test(test_operators_where_names_differ),
      cmocka_unit_test(test_fused_operators),
      cmocka_unit_test(test_branches_in_another_order),
      cmocka_unit_test(test_few_equal_names_are_no_anchors),
      cmocka_unit_test(test_many_layers),
      cmocka_unit_test(test_operators_in_all_spellings),
      cmocka_unit_test(test_shapes_in_any_order),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
