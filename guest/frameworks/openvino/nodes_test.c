// SPDX-License-Identifier: Apache-2.0
// OpenVINO's list of profiling information: what is a node, what was fused into it, and what one inference took.
#include "frameworks/openvino/graph.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/support/expect.h"

static void nodes_keep_their_order_and_what_was_fused(void **state)
{
  struct ov_profiling_info infos[] = {
      // as 2026.4.1 tells them, and what it should not
      {OV_NODE_NOT_RUN, 0, 0, "x", "unknown_f32", "Parameter"},
      {OV_NODE_EXECUTED, 135, 135, "x_reorder", "jit_uni_f32", "Reorder"},
      {OV_NODE_EXECUTED, 269, 269, "Multiply_3808", "brgconv_avx512_bf16", "Convolution"},
      {OV_NODE_NOT_RUN, 0, 0, "layer0/relu", "undef", "Relu"},
      {OV_NODE_NOT_RUN, 0, 0, "layer0/bias", "undef", "Eltwise"},
      {OV_NODE_NOT_RUN, 0, 0, "head/flatten", "unknown_bf16", "Reshape"},
      {OV_NODE_EXECUTED, 1, 1, NULL, NULL, NULL},
      {OV_NODE_NOT_RUN, 0, 0, "y/sink", "unknown_f32", "Result"},
  };
  const struct ov_profiling_list list = {infos, sizeof infos / sizeof infos[0]};
  struct arena arena = {0};
  struct openvino_nodes nodes;
  openvino_nodes_read(&list, &arena, &nodes);
  assert_int_equal(nodes.count, 4);
  assert_string_equal(nodes.nodes[0].name, "x_reorder");
  assert_null(nodes.nodes[0].fused);
  assert_int_equal(nodes.nodes[0].index, 0);
  assert_int_equal(nodes.nodes[0].at, 1);
  assert_string_equal(nodes.nodes[1].name, "Multiply_3808");
  assert_string_equal(nodes.nodes[1].type, "Convolution");
  assert_string_equal(nodes.nodes[1].primitive, "brgconv_avx512_bf16");
  assert_string_equal(nodes.nodes[1].fused, "layer0/relu,layer0/bias");
  assert_int_equal(nodes.nodes[2].index, 2);
  assert_int_equal(nodes.nodes[2].at, 5);
  assert_string_equal(nodes.nodes[3].name, "");
  assert_string_equal(nodes.nodes[3].type, "");
  arena_done(&arena);
}

static void an_empty_list_has_no_nodes(void **state)
{
  const struct ov_profiling_list list = {NULL, 0};
  struct arena arena = {0};
  struct openvino_nodes nodes;
  openvino_nodes_read(&list, &arena, &nodes);
  assert_int_equal(nodes.count, 0);
  arena_done(&arena);
}

// Three inferences of 100, 51 and 53 us are told as means 100, 75 (75.5 cut) and 68.
static void differences_of_means_add_up(void **state)
{
  uint64_t told = 0, sum = 0;
  assert_int_equal(openvino_duration_ns(100, 1, &told), 100000);
  assert_int_equal(openvino_duration_ns(75, 2, &told), 50000);
  assert_int_equal(openvino_duration_ns(68, 3, &told), 54000);
  assert_int_equal(told, 204);
  // A node of 0.7 us seems to take nothing, and never less.
  told = 0;
  for (uint64_t i = 1; i <= 100; i++)
    sum += openvino_duration_ns((int64_t)(i * 7 / 10 / i), i, &told);
  assert_int_equal(sum, 0);
  // The mean sinks faster than time can pass: cut means do that.
  told = 20;
  assert_int_equal(openvino_duration_ns(9, 2, &told), 0);
  assert_int_equal(told, 20);
}

static void impossible_means_are_nothing(void **state)
{
  uint64_t told = 0;
  assert_int_equal(openvino_duration_ns(-5, 3, &told), 0);
  assert_int_equal(openvino_duration_ns(INT64_MIN, 3, &told), 0);
  assert_int_equal(openvino_duration_ns(INT64_MAX, UINT64_MAX, &told), 0);
  assert_int_equal(openvino_duration_ns(INT64_MAX, 1, &told), 0);
  assert_int_equal(openvino_duration_ns(5, 0, &told), 0);
  assert_int_equal(told, 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nodes_keep_their_order_and_what_was_fused),
      cmocka_unit_test(an_empty_list_has_no_nodes),
      cmocka_unit_test(differences_of_means_add_up),
      cmocka_unit_test(impossible_means_are_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
