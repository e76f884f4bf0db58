// SPDX-License-Identifier: Apache-2.0
// Counts of operators as TensorFlow, MXNet, OpenVINO and TFLite name and lay them out, against figures worked out by hand.
#include "analyze/flops/flops.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

struct example {
  enum flop_dialect dialect;
  const char *type, *fused, *inputs, *output, *kernel_shape;
  double multiply_adds, adds, compares, specials;
};

#define CONV1 (112.0 * 112 * 64 * 147) // ResNet's first: 7 by 7 of 3
#define MAP (112.0 * 112 * 64)

static const struct example examples[] = {
    {FLOPS_TENSORFLOW, "Conv2D", NULL, "[1,230,230,3] [7,7,3,64]", "[1,112,112,64]", NULL, CONV1, 0, 0, 0},
    {FLOPS_TENSORFLOW, "_MklNativeFusedConv2D", "BiasAdd Relu", "[1,230,230,3] [7,7,3,64] [64]", "[1,112,112,64]", NULL,
     CONV1, MAP, MAP, 0},
    {FLOPS_TENSORFLOW, "_MklNativePadWithFusedConv2D", "BiasAdd", "[1,224,224,3] [7,7,3,64] [64] [4,2]",
     "[1,112,112,64]", NULL, CONV1, MAP, 0, 0},
    {FLOPS_TENSORFLOW, "_FusedConv2D", "FusedBatchNorm Relu6", "[1,230,230,3] [7,7,3,64] [64] [64] [64] [64]",
     "[1,112,112,64]", NULL, CONV1 + MAP, 0, 2 * MAP, 0},
    {FLOPS_TENSORFLOW, "DepthwiseConv2dNative", NULL, "[2,10,10,8] [3,3,8,2]", "[2,8,8,16]", NULL, 2 * 64 * 16 * 9, 0,
     0, 0},
    {FLOPS_TENSORFLOW, "Conv2DBackpropInput", NULL, "[4] [2,2,5,8] [1,4,4,8]", "[1,8,8,5]", NULL, 128 * 20, 0, 0, 0},
    {FLOPS_TENSORFLOW, "_FusedMatMul", "BiasAdd", "[4,2048] [2048,1000] [1000]", "[4,1000]", NULL, 4000.0 * 2048, 4000,
     0, 0},
    {FLOPS_TENSORFLOW, "BatchMatMulV2", NULL, "[2,3,5,7] [2,3,7,11]", "[2,3,5,11]", NULL, 2 * 3 * 5 * 11 * 7, 0, 0, 0},
    {FLOPS_TENSORFLOW, "FusedBatchNormV3", NULL, "[1,4,4,8] [8] [8] [8] [8]", "[1,4,4,8]", NULL, 128, 0, 0, 0},
    {FLOPS_TENSORFLOW, "_FusedBatchNormEx", "Add Relu", "[1,4,4,8] [8] [8] [8] [8] [1,4,4,8]", "[1,4,4,8]", NULL, 128,
     128, 128, 0},
    {FLOPS_TENSORFLOW, "MaxPool", NULL, "[1,8,8,4]", "[1,4,4,4]", "[1,3,3,1]", 0, 0, 64 * 9, 0},
    {FLOPS_TENSORFLOW, "Mean", NULL, "[1,7,7,8] [2]", "[1,8]", NULL, 0, 392, 0, 8},
    {FLOPS_TENSORFLOW, "Relu", NULL, "[3,5]", "[3,5]", NULL, 0, 0, 15, 0},
    {FLOPS_MXNET, "Convolution", NULL, "[1,3,224,224] [64,3,7,7]", "[1,64,112,112]", NULL, CONV1, 0, 0, 0},
    {FLOPS_MXNET, "_sg_mkldnn_conv", "elemwise_add relu", "[1,3,224,224] [64,3,7,7] [64] [64] [64] [64] [1,64,112,112]",
     "[1,64,112,112]", NULL, CONV1, 2 * MAP, MAP, 0},
    {FLOPS_MXNET, "Convolution", NULL, "[1,8,10,10] [16,2,3,3] [16]", "[1,16,8,8]", NULL, 1024 * 18, 1024, 0, 0},
    {FLOPS_MXNET, "Deconvolution", NULL, "[1,8,4,4] [8,5,2,2]", "[1,5,8,8]", NULL, 128 * 20, 0, 0, 0},
    {FLOPS_MXNET, "_sg_mkldnn_fully_connected", "relu", "[4,2048] [1000,2048] [1000]", "[4,1000]", NULL, 4000.0 * 2048,
     4000, 4000, 0},
    {FLOPS_MXNET, "global_avg_pool", NULL, "[1,8,7,7]", "[1,8,1,1]", NULL, 0, 392, 0, 8},
    {FLOPS_MXNET, "Flatten", NULL, "[1,8,1,1]", "[1,8]", NULL, 0, 0, 0, 0},
    {FLOPS_OPENVINO, "Convolution", "Add Relu", "[1,3,224,224] [64,3,7,7]", "[1,64,112,112]", NULL, CONV1, MAP, MAP, 0},
    {FLOPS_OPENVINO, "GroupConvolution", NULL, "[1,8,10,10] [4,4,2,3,3]", "[1,16,8,8]", NULL, 1024 * 18, 0, 0, 0},
    {FLOPS_OPENVINO, "GroupConvolutionBackpropData", NULL, "[1,8,4,4] [2,4,5,2,2]", "[1,10,8,8]", NULL, 128 * 20, 0, 0,
     0},
    {FLOPS_OPENVINO, "MatMul", "Add", "[4,2048] [1000,2048]", "[4,1000]", NULL, 4000.0 * 2048, 4000, 0, 0},
    {FLOPS_OPENVINO, "ScaledDotProductAttention", NULL, "[2,4,10,16] [2,4,20,16] [2,4,20,8]", "[2,4,10,8]", NULL,
     2 * 4 * 10 * 20 * 24, 0, 0, 0},
    {FLOPS_OPENVINO, "Reorder", NULL, "[1,3,224,224]", "[1,3,224,224]", NULL, 0, 0, 0, 0},
    {FLOPS_TFLITE, "CONV_2D", "RELU", "[1,230,230,3] [64,7,7,3] [64]", "[1,112,112,64]", NULL, CONV1, MAP, MAP, 0},
    {FLOPS_TFLITE, "DEPTHWISE_CONV_2D", "RELU6", "[2,10,10,8] [1,3,3,16] [16]", "[2,8,8,16]", NULL, 2 * 64 * 16 * 9,
     2048, 4096, 0},
    {FLOPS_TFLITE, "TRANSPOSE_CONV", NULL, "[4] [5,2,2,8] [1,4,4,8]", "[1,8,8,5]", NULL, 128 * 20, 0, 0, 0},
    {FLOPS_TFLITE, "FULLY_CONNECTED", NULL, "[4,2048] [1000,2048] [1000]", "[4,1000]", NULL, 4000.0 * 2048, 4000, 0, 0},
    {FLOPS_TFLITE, "AVERAGE_POOL_2D", NULL, "[1,8,8,4]", "[1,4,4,4]", "[2,2]", 0, 256, 0, 64},
    {FLOPS_TFLITE, "SOFTMAX", NULL, "[2,10]", "[2,10]", NULL, 0, 40, 20, 40},
};

static struct flop_counts count(const struct example *example)
{
  struct shapes inputs, outputs;
  assert_true(shapes_read(example->inputs, strlen(example->inputs), &inputs));
  assert_true(shapes_read(example->output, strlen(example->output), &outputs));
  struct flop_attribute attribute = {"kernel_shape", {0}};
  if (example->kernel_shape != NULL)
    attribute.value = shape_value_read(example->kernel_shape, strlen(example->kernel_shape));
  const struct flop_operation operation = {.dialect = example->dialect,
                                           .type = example->type,
                                           .fused = example->fused,
                                           .inputs = &inputs,
                                           .outputs = &outputs,
                                           .attributes = &attribute,
                                           .attribute_count = example->kernel_shape != NULL,
                                           .input_bytes = NAN,
                                           .parameter_bytes = NAN,
                                           .output_bytes = NAN};
  return flops_count(&operation);
}

static void test_by_hand(void **unused)
{
  (void)unused;
  for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
    const struct example *example = &examples[i];
    struct flop_counts counts = count(example);
    if (counts.multiply_adds != example->multiply_adds || counts.adds != example->adds ||
        counts.compares != example->compares || counts.specials != example->specials)
      fail_msg("%s %s: %.0f %.0f %.0f %.0f", example->type, example->inputs, counts.multiply_adds, counts.adds,
               counts.compares, counts.specials);
  }
}

static void test_unknown(void **unused)
{
  (void)unused;
  static const struct example cases[] = {
      {FLOPS_TENSORFLOW, "Conv2D", "SomethingNew", "[1,4,4,1] [3,3,1,1]", "[1,2,2,1]", NULL, 0, 0, 0, 0},
      {FLOPS_TENSORFLOW, "Conv2D", NULL, "[1,4,4,1] [-1]", "[1,2,2,1]", NULL, 0, 0, 0, 0},
      {FLOPS_TENSORFLOW, "Einsum", NULL, "[2,3] [3,4]", "[2,4]", NULL, 0, 0, 0, 0},
      {FLOPS_TENSORFLOW, "MaxPool", NULL, "[1,8,8,4]", "[1,4,4,4]", NULL, 0, 0, 0, 0},
      {FLOPS_TENSORFLOW, "CONV_2D", NULL, "[1,4,4,1] [1,3,3,1]", "[1,2,2,1]", NULL, 0, 0, 0, 0}, // another framework's
      {FLOPS_MXNET, "Pooling", NULL, "[1,8,7,7]", "[1,8,1,1]", NULL, 0, 0, 0, 0},                // which?
      {FLOPS_OPENVINO, "Subgraph", NULL, "[1,8]", "[1,8]", NULL, 0, 0, 0, 0},
      {FLOPS_TFLITE, "CUSTOM", NULL, "[1,8]", "[1,8]", NULL, 0, 0, 0, 0},
      {FLOPS_TFLITE, "FULLY_CONNECTED", NULL, "[1,8]", "[1,8]", NULL, 0, 0, 0, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct flop_counts counts = count(&cases[i]);
    if (!isnan(flop_counts_flops(&counts)))
      fail_msg("%s", cases[i].type);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_by_hand), cmocka_unit_test(test_unknown)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
