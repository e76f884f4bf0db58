// SPDX-License-Identifier: Apache-2.0
// A2 to A7 over experiments with known answers: pairing, positions, nesting, thirds, types, memory.
#include "analyze/test_fixture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MS 1000000
#define US 1000

static const struct fixture_layer conv1 = {"conv1", "Conv", "1x64x112x112", NULL, 0, 1000};
static const struct fixture_layer relu = {"relu", "Relu", "1x64x112x112", NULL, 1, 200};
static const struct fixture_layer conv2 = {"conv2", "DepthwiseConv2D", NULL, NULL, 2, UNKNOWN_BYTES};
static const struct fixture_layer convert = {"cast", "Convert", NULL, NULL, 3, 800};

// M at 10 ms; M/L at 11 ms with four layers of about 4, 0.5, 2 and 1 ms; the first observation is warm-up.
static void usual(struct fixture *fixture, int64_t batch)
{
  fixture_run(fixture, "M", batch);
  for (int i = 0; i < 3; i++)
    fixture_model(fixture, 10 * MS, false);
  fixture_run(fixture, "M/L", batch);
  for (int i = 0; i < 4; i++) {
    int64_t start = fixture->now_ns;
    fixture_model(fixture, 11 * MS, i == 0);
    fixture_layer(fixture, &relu, start + 4500 * US, 500 * US);
    fixture_layer(fixture, &conv1, start, (4000 + i) * US);
    fixture_layer(fixture, &conv2, start + 6 * MS, 2 * MS);
    fixture_layer(fixture, &convert, start + 9 * MS, 1 * MS);
  }
}

static void test_a2_lists_layers_in_execution_order(void **unused)
{
  (void)unused;
  struct fixture fixture;
  fixture_start(&fixture);
  usual(&fixture, 1);
  fixture_ready(&fixture);
  assert_int_equal(fixture_ask(&fixture, "A2"), STATUS_OK);
  assert_int_equal(fixture.tables[0].row_count, 4);
  static const char *const names[] = {"conv1", "relu", "conv2", "cast"};
  static const double latencies[] = {4.002, 0.5, 2, 1}; // of 4.001, 4.002, 4.003 the median
  for (size_t i = 0; i < 4; i++) {
    assert_string_equal(fixture_text(&fixture, i, "layer_name"), names[i]);
    ASSERT_NEAR(fixture_number(&fixture, i, "layer_index"), (double)i);
    ASSERT_NEAR(fixture_number(&fixture, i, "latency_ms"), latencies[i]);
    ASSERT_NEAR(fixture_number(&fixture, i, "n"), 3);
  }
  assert_string_equal(fixture_text(&fixture, 0, "layer_type"), "Conv");
  assert_string_equal(fixture_text(&fixture, 0, "layer_shape"), "1x64x112x112");
  assert_null(fixture_text(&fixture, 2, "layer_shape"));
  ASSERT_NEAR(fixture_number(&fixture, 0, "alloc_bytes"), 1000);
  ASSERT_NEAR(fixture_number(&fixture, 2, "alloc_bytes"), NAN);
  ASSERT_NEAR(fixture_number(&fixture, 0, "max_ms"), 4.003);
  ASSERT_NEAR(fixture_summary(&fixture, "layers"), 4);
  ASSERT_NEAR(fixture_summary(&fixture, "layers_under_1ms"), 1);
  ASSERT_NEAR(fixture_summary(&fixture, "sum_ms"), 7.502);
  ASSERT_NEAR(fixture_summary(&fixture, "model_latency_ms"), 10);
  ASSERT_NEAR(fixture_summary(&fixture, "outside_layers_ms"), 2.498);
  assert_false(fixture_has_column(&fixture, "partial"));
  assert_string_equal(fixture.tables[0].levels, "M/L");
  assert_int_equal(fixture.tables[0].batch_size, 1);
  assert_int_equal(fixture.tables[0].observations, 3);
  fixture_done(&fixture);
}

static void test_a3_to_a7(void **unused)
{
  (void)unused;
  struct fixture fixture;
  fixture_start(&fixture);
  usual(&fixture, 1);
  fixture_layer(&fixture, &relu, fixture.now_ns, 5); // after the last prediction
  fixture_ready(&fixture);
  // Thirds of four layers: positions 0 and 1, 2, 3.
  assert_int_equal(fixture_ask(&fixture, "A3"), STATUS_OK);
  ASSERT_NEAR(fixture_summary(&fixture, "beginning_pct"), 4.502 / 7.502 * 100);
  ASSERT_NEAR(fixture_summary(&fixture, "middle_pct"), 2 / 7.502 * 100);
  ASSERT_NEAR(fixture_summary(&fixture, "end_pct"), 1 / 7.502 * 100);
  assert_string_equal(fixture_summary_text(&fixture, "stage"), "B");
  assert_true(fixture_has_note(&fixture, "layers in no observation, left out: 1"));
  assert_int_equal(fixture_ask(&fixture, "A4"), STATUS_OK);
  ASSERT_NEAR(fixture_number(&fixture, 3, "alloc_bytes"), 800);
  ASSERT_NEAR(fixture_summary(&fixture, "beginning_pct"), 60);
  ASSERT_NEAR(fixture_summary(&fixture, "end_pct"), 40);
  assert_int_equal(fixture_ask(&fixture, "A5"), STATUS_OK);
  assert_int_equal(fixture.tables[0].row_count, 4);
  ASSERT_NEAR(fixture_number(&fixture, 0, "count"), 1);
  ASSERT_NEAR(fixture_number(&fixture, 0, "count_pct"), 25);
  assert_int_equal(fixture_ask(&fixture, "A6"), STATUS_OK);
  assert_string_equal(fixture_text(&fixture, 0, "layer_type"), "Conv");
  assert_string_equal(fixture_text(&fixture, 1, "layer_type"), "DepthwiseConv2D");
  ASSERT_NEAR(fixture_number(&fixture, 1, "latency_pct"), 2 / 7.502 * 100);
  ASSERT_NEAR(fixture_summary(&fixture, "convolution_pct_of_layers"), 6.002 / 7.502 * 100); // Convert is none
  ASSERT_NEAR(fixture_summary(&fixture, "convolution_pct_of_model"), 60.02);
  assert_int_equal(fixture_ask(&fixture, "A7"), STATUS_OK);
  assert_string_equal(fixture_text(&fixture, 0, "layer_type"), "Conv");
  ASSERT_NEAR(fixture_number(&fixture, 0, "alloc_pct"), 50);
  ASSERT_NEAR(fixture_number(&fixture, 3, "alloc_bytes"), NAN);
  assert_true(fixture_has_note(&fixture, "1 of 4 layers"));
  fixture_done(&fixture);
}

static void test_a_type_that_names_an_implementation(void **unused)
{
  (void)unused;
  struct fixture fixture;
  fixture_start(&fixture);
  fixture_run(&fixture, "M/L", 1);
  int64_t start_ns = fixture.now_ns;
  fixture_model(&fixture, 10 * MS, false);
  struct fixture_layer layer = {"pointwise", "Fully Connected (NC, F32) GEMM", NULL, NULL, 0, UNKNOWN_BYTES};
  fixture_layer(&fixture, &layer, start_ns, 3 * MS);
  fixture_words(&fixture, fixture.span_id, "operator", "CONV_2D");
  layer = (struct fixture_layer){"dense", "Fully Connected (NC, F32) GEMM", NULL, NULL, 1, UNKNOWN_BYTES};
  fixture_layer(&fixture, &layer, start_ns + 4 * MS, 1 * MS);
  fixture_words(&fixture, fixture.span_id, "operator", "FULLY_CONNECTED");
  fixture_int(&fixture, fixture.span_id, "output_bytes", 40);
  fixture_ready(&fixture);
  assert_int_equal(fixture_ask(&fixture, "A6"), STATUS_OK);
  assert_int_equal(fixture.tables[0].row_count, 1);
  ASSERT_NEAR(fixture_summary(&fixture, "convolution_pct_of_layers"), 75);
  assert_true(fixture_has_note(&fixture, "convolutions: 1 of them"));
  ASSERT_NEAR(fixture_summary(&fixture, "convolution_pct_of_model"), 30);
  assert_int_equal(fixture_ask(&fixture, "A4"), STATUS_OK); // by its outputs
  ASSERT_NEAR(fixture_number(&fixture, 0, "alloc_bytes"), NAN);
  ASSERT_NEAR(fixture_number(&fixture, 1, "alloc_bytes"), 40);
  assert_string_equal(fixture_text(&fixture, 1, "alloc_from"), "outputs");
  assert_true(fixture_has_note(&fixture, "bytes of the layers' outputs"));
  fixture_done(&fixture);
}

// One run recorded allocations, both the outputs: no mean is of both.
static void test_allocations_and_outputs_are_not_pooled(void **unused)
{
  (void)unused;
  struct fixture fixture;
  fixture_start(&fixture);
  for (int run = 0; run < 2; run++) {
    fixture_run(&fixture, "M/L", 1);
    int64_t start_ns = fixture.now_ns;
    fixture_model(&fixture, 10 * MS, false);
    const struct fixture_layer layer = {"dense", "Dense", NULL, NULL, 0, run == 0 ? 1000 : UNKNOWN_BYTES};
    fixture_layer(&fixture, &layer, start_ns, MS);
    fixture_int(&fixture, fixture.span_id, "output_bytes", 40);
  }
  fixture_ready(&fixture);
  assert_int_equal(fixture_ask(&fixture, "A4"), STATUS_OK);
  ASSERT_NEAR(fixture_number(&fixture, 0, "alloc_bytes"), 40);
  assert_string_equal(fixture_text(&fixture, 0, "alloc_from"), "outputs");
  fixture_done(&fixture);
}

static void test_analyses_say_what_a_file_lacks(void **unused)
{
  (void)unused;
  struct fixture fixture;
  fixture_start(&fixture);
  fixture_run(&fixture, "M/L", 4);
  fixture_model(&fixture, MS, false);
  fixture_layer(&fixture, &(struct fixture_layer){"a", NULL, NULL, NULL, -1, UNKNOWN_BYTES}, 0, 10);
  fixture_ready(&fixture);
  assert_int_equal(fixture_ask(&fixture, "A4"), STATUS_NO);
  assert_non_null(strstr(fixture.error.why, "alloc_bytes"));
  assert_int_equal(fixture_ask(&fixture, "A7"), STATUS_NO);
  assert_int_equal(fixture_ask(&fixture, "A2"), STATUS_OK);
  assert_true(fixture_has_note(&fixture, "no layer has alloc_bytes"));
  assert_int_equal(fixture_ask(&fixture, "A6"), STATUS_OK);
  assert_null(fixture_text(&fixture, 0, "layer_type"));
  ASSERT_NEAR(fixture_summary(&fixture, "convolution_pct_of_layers"), NAN);
  fixture.request.layer = "module";
  assert_int_equal(fixture_ask(&fixture, "A2"), STATUS_NO);
  assert_non_null(strstr(fixture.error.why, "module"));
  fixture.request.layer = NULL;
  fixture.request.batch = 8;
  assert_int_equal(fixture_ask(&fixture, "A2"), STATUS_NO);
  fixture.request.batch = 0;
  fixture.request.by = "layer";
  assert_int_equal(fixture_ask(&fixture, "L0"), STATUS_NO);
  fixture.request.layer = "middle";
  assert_int_equal(fixture_ask(&fixture, "A2"), STATUS_USE);
  fixture_done(&fixture);
}

static void test_one_deep_run_serves_all_levels(void **unused)
{
  (void)unused;
  struct fixture fixture;
  fixture_start(&fixture);
  fixture_run(&fixture, "M/L/K", 1);
  fixture_model(&fixture, 10 * MS, false);
  fixture_layer(&fixture, &conv1, 0, 6 * MS);
  fixture_layer(&fixture, &relu, 5 * MS, 6 * MS); // overlaps: more than the model in all
  fixture_ready(&fixture);
  assert_int_equal(fixture_ask(&fixture, "A2"), STATUS_OK);
  assert_string_equal(fixture_text(&fixture, 0, "latency_from"), "M/L/K");
  assert_true(fixture_has_note(&fixture, "layer and model latencies come from runs at M/L/K"));
  ASSERT_NEAR(fixture_summary(&fixture, "outside_layers_ms"), NAN);
  assert_true(fixture_has_note(&fixture, "negative"));
  fixture_done(&fixture);
}

// A loop's body has its index once for each iteration; without an index, an equal name is no iteration.
static void test_iterations_of_a_loop(void **unused)
{
  (void)unused;
  struct fixture fixture;
  fixture_start(&fixture);
  fixture_run(&fixture, "M/L", 1);
  for (int repetition = 0; repetition < 2; repetition++) {
    int64_t start = fixture.now_ns;
    fixture_model(&fixture, 10 * MS, false);
    for (int i = 0; i < 3; i++)
      fixture_layer(&fixture, &(struct fixture_layer){"body", "Add", NULL, NULL, 7, UNKNOWN_BYTES}, start + i * MS,
                    100);
    for (int i = 3; i < 5; i++)
      fixture_layer(&fixture, &(struct fixture_layer){"eager", "Add", NULL, NULL, -1, UNKNOWN_BYTES}, start + i * MS,
                    100);
    fixture_layer(&fixture, &(struct fixture_layer){"once", "Add", NULL, NULL, 8, UNKNOWN_BYTES}, start + 5 * MS, 100);
  }
  fixture_ready(&fixture);
  assert_int_equal(fixture_ask(&fixture, "A2"), STATUS_OK);
  static const double iterations[] = {1, 2, 3, NAN, NAN, NAN};
  assert_int_equal(fixture.tables[0].row_count, 6);
  for (size_t i = 0; i < 6; i++)
    ASSERT_NEAR(fixture_number(&fixture, i, "iteration"), iterations[i]);
  fixture_done(&fixture);
}

// Without an index layers pair by (name, occurrence): losing one does not shift the rest.
static void test_lost_layers_are_partial_and_shift_nothing(void **unused)
{
  (void)unused;
  static const char *const names[] = {"a", "b", "a", "c"};
  struct fixture fixture;
  fixture_start(&fixture);
  fixture_run(&fixture, "M/L", 1);
  for (int observation = 0; observation < 2; observation++) {
    int64_t start = fixture.now_ns;
    fixture_model(&fixture, MS, false);
    for (int i = 0; i < 4; i++)
      if (observation == 1 || i != 1) // the first observation lacks b
        fixture_layer(&fixture, &(struct fixture_layer){names[i], NULL, NULL, NULL, -1, UNKNOWN_BYTES},
                      start + i * 1000, (i + 1) * 100);
  }
  fixture_ready(&fixture);
  assert_int_equal(fixture_ask(&fixture, "A2"), STATUS_OK);
  assert_int_equal(fixture.tables[0].row_count, 4);
  for (size_t i = 0; i < 4; i++) {
    assert_string_equal(fixture_text(&fixture, i, "layer_name"), names[i]);
    ASSERT_NEAR(fixture_number(&fixture, i, "layer_index"), (double)i);
    // b was there in one of two observations: absent is 0, and rows add up to the sum.
    ASSERT_NEAR(fixture_number(&fixture, i, "latency_ms"), (double)(i + 1) * 1e-4 / (i == 1 ? 2 : 1));
    ASSERT_NEAR(fixture_number(&fixture, i, "occurrence_ms"), (double)(i + 1) * 1e-4);
    ASSERT_NEAR(fixture_number(&fixture, i, "present"), i == 1 ? 1 : 2);
    ASSERT_NEAR(fixture_number(&fixture, i, "min_ms"), (double)(i + 1) * 1e-4);
    ASSERT_NEAR(fixture_number(&fixture, i, "partial"), i == 1 ? 1 : NAN);
    ASSERT_NEAR(fixture_number(&fixture, i, "n"), i == 1 ? 1 : 2);
  }
  ASSERT_NEAR(fixture_summary(&fixture, "sum_ms"), (1 + 2 / 2.0 + 3 + 4) * 1e-4);
  assert_true(fixture_has_note(&fixture, "1 of 4 layers"));
  fixture.request.statistic = "median";
  assert_int_equal(fixture_ask(&fixture, "A2"), STATUS_OK);
  ASSERT_NEAR(fixture_number(&fixture, 1, "latency_ms"), 2e-4); // by itself, where it is
  ASSERT_NEAR(fixture_summary(&fixture, "sum_ms"), (8 + 10) / 2.0 * 1e-4);
  ASSERT_NEAR(fixture_summary(&fixture, "rows_sum_ms"), 10e-4);
  fixture_done(&fixture);
}

// block [0, 100) holds op [10, 40), which holds a fused op [20, 30); a module range lies in the block too.
static void test_nested_layers_by_mode(void **unused)
{
  (void)unused;
  struct fixture fixture;
  fixture_start(&fixture);
  struct store_run run = {.batch_size = 1, .layer = "innermost", .own_pct = NAN};
  assert_true(level_set_parse("M/L", 3, &run.levels));
  fixture_run_full(&fixture, &run);
  fixture_model(&fixture, 200 * US, false);
  fixture_layer(&fixture, &(struct fixture_layer){"block", NULL, NULL, "module", -1, UNKNOWN_BYTES}, 0, 100 * US);
  fixture_layer(&fixture, &(struct fixture_layer){"op", NULL, NULL, NULL, -1, UNKNOWN_BYTES}, 10 * US, 30 * US);
  fixture_layer(&fixture, &(struct fixture_layer){"fused", NULL, NULL, NULL, -1, UNKNOWN_BYTES}, 20 * US, 10 * US);
  fixture_layer(&fixture, &(struct fixture_layer){"inner", NULL, NULL, "module", -1, UNKNOWN_BYTES}, 50 * US, 20 * US);
  fixture_ready(&fixture);
  assert_int_equal(fixture_ask(&fixture, "A2"), STATUS_OK); // the run's own default: innermost
  assert_int_equal(fixture.tables[0].row_count, 4);
  static const double own[] = {0.05, 0.02, 0.01, 0.02};
  for (size_t i = 0; i < 4; i++)
    ASSERT_NEAR(fixture_number(&fixture, i, "latency_ms"), own[i]);
  ASSERT_NEAR(fixture_summary(&fixture, "sum_ms"), 0.1);
  fixture.request.layer = "outermost";
  assert_int_equal(fixture_ask(&fixture, "A2"), STATUS_OK);
  assert_int_equal(fixture.tables[0].row_count, 1);
  ASSERT_NEAR(fixture_number(&fixture, 0, "latency_ms"), 0.1);
  fixture.request.layer = "module";
  assert_int_equal(fixture_ask(&fixture, "A2"), STATUS_OK);
  assert_int_equal(fixture.tables[0].row_count, 2);
  ASSERT_NEAR(fixture_number(&fixture, 0, "latency_ms"), 0.08);
  ASSERT_NEAR(fixture_number(&fixture, 1, "latency_ms"), 0.02);
  ASSERT_NEAR(fixture_number(&fixture, 1, "layer_index"), 3); // counting all layers
  fixture_done(&fixture);
}

// Regions and steps of the autograd engine wrap layers, by category or name; one that wraps nothing is a layer. What is in a
// data loader is none.
static void test_wrappers_and_loaders(void **unused)
{
  (void)unused;
  static const struct {
    const char *name, *category;
    int64_t start_us, duration_us;
  } spans[] = {{"Torch-Compiled Region: 0/0", NULL, 0, 40},
               {"region of a later version", "wrapper", 1, 30},
               {"cpp_fused_add_0", "fused", 2, 10},
               {"aten::mm", NULL, 15, 10},
               {"TorchDynamo Cache Lookup", NULL, 50, 5},
               {"autograd::engine::evaluate_function: MmBackward0", NULL, 60, 20},
               {"MmBackward0", "backward", 61, 18},
               {"aten::mm", NULL, 62, 16},
               {"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", NULL, 90, 30},
               {"aten::stack", NULL, 95, 20},
               {"Placeholder", "input", 130, 1}};
  static const char *const names[] = {"cpp_fused_add_0", "aten::mm", "TorchDynamo Cache Lookup", "MmBackward0",
                                      "Placeholder"};
  static const double latency_ms[] = {0.01, 0.01, 0.005, 0.018, 0.001};
  struct fixture fixture;
  fixture_start(&fixture);
  fixture_run(&fixture, "M/L", 1);
  fixture_model(&fixture, 200 * US, false);
  for (size_t i = 0; i < sizeof spans / sizeof spans[0]; i++)
    fixture_layer(&fixture, &(struct fixture_layer){spans[i].name, NULL, NULL, spans[i].category, -1, UNKNOWN_BYTES},
                  spans[i].start_us * US, spans[i].duration_us * US);
  fixture_ready(&fixture);
  assert_int_equal(fixture_ask(&fixture, "A2"), STATUS_OK);
  assert_int_equal(fixture.tables[0].row_count, 5);
  for (size_t i = 0; i < 5; i++) {
    assert_string_equal(fixture_text(&fixture, i, "layer_name"), names[i]);
    ASSERT_NEAR(fixture_number(&fixture, i, "latency_ms"), latency_ms[i]);
  }
  fixture_done(&fixture);
}

// The optimal batch (2: doubling gains 2.6 %) lacks layers; of those that have them 4 has the highest throughput.
static void test_default_batch_falls_back_to_the_best_with_layers(void **unused)
{
  (void)unused;
  struct fixture fixture;
  fixture_start(&fixture);
  static const int64_t us[] = {10000, 10000, 19500};
  for (int i = 0; i < 3; i++) {
    fixture_run(&fixture, "M", 1 << i);
    fixture_model(&fixture, us[i] * US, false);
    if (i == 1)
      continue;
    fixture_run(&fixture, "M/L", 1 << i);
    int64_t start = fixture.now_ns;
    fixture_model(&fixture, us[i] * US, false);
    fixture_layer(&fixture, &conv1, start, MS);
  }
  fixture_ready(&fixture);
  assert_int_equal(fixture_ask(&fixture, "A2"), STATUS_OK);
  assert_int_equal(fixture.tables[0].batch_size, 4);
  assert_true(fixture_has_note(&fixture, "optimal batch size 2 was not measured with the layer level"));
  fixture.request.batch = 1;
  assert_int_equal(fixture_ask(&fixture, "A2"), STATUS_OK);
  assert_int_equal(fixture.tables[0].batch_size, 1);
  fixture_done(&fixture);
}

static void predict(struct fixture *fixture, const char *levels, int64_t batch, int64_t layer_ns)
{
  fixture_run(fixture, levels, batch);
  int64_t start = fixture->now_ns;
  if (strchr(levels, 'M') != NULL)
    fixture_model(fixture, 10 * MS, false);
  fixture_layer(fixture, &conv1, start, layer_ns);
}

static void test_the_named_set_serves_before_one_of_fewer_levels(void **unused)
{
  (void)unused;
  struct fixture fixture;
  fixture_start(&fixture);
  predict(&fixture, "L/K", 1, 5 * MS);
  predict(&fixture, "M/L/K", 1, 6 * MS);
  fixture_ready(&fixture);
  assert_int_equal(fixture_ask(&fixture, "A2"), STATUS_OK);
  ASSERT_NEAR(fixture_number(&fixture, 0, "latency_ms"), 6);
  assert_string_equal(fixture_text(&fixture, 0, "latency_from"), "M/L/K");
  fixture_done(&fixture);
}

static void test_a_known_batch_size_serves_before_an_unknown_one(void **unused)
{
  (void)unused;
  struct fixture fixture;
  fixture_start(&fixture);
  fixture_run(&fixture, "M", 4); // of maximum throughput, without layers
  fixture_model(&fixture, MS, false);
  predict(&fixture, "M/L", 0, 5 * MS);
  predict(&fixture, "M/L", 2, 6 * MS);
  fixture_ready(&fixture);
  assert_int_equal(fixture_ask(&fixture, "A2"), STATUS_OK);
  assert_int_equal(fixture.tables[0].batch_size, 2);
  fixture_done(&fixture);
}

static void test_a_third_that_does_not_say_is_unknown(void **unused)
{
  (void)unused;
  struct fixture fixture;
  fixture_start(&fixture);
  fixture_run(&fixture, "M/L", 1);
  int64_t start = fixture.now_ns;
  fixture_model(&fixture, 10 * MS, false);
  fixture_layer(&fixture, &conv1, start, MS);
  fixture_layer(&fixture, &conv2, start + 2 * MS, MS);
  fixture_ready(&fixture);
  assert_int_equal(fixture_ask(&fixture, "A4"), STATUS_OK);
  ASSERT_NEAR(fixture_summary(&fixture, "beginning_pct"), 100);
  ASSERT_NEAR(fixture_summary(&fixture, "middle_pct"), NAN); // conv2 lies there
  ASSERT_NEAR(fixture_summary(&fixture, "end_pct"), 0);      // no layer does
  fixture_done(&fixture);
}

// 8,200 observations with a layer of their own each would be 8,200 * 8,200 > 2^26 values. With one layer for all they are 8,200.
static void test_layers_that_differ_in_each_observation_are_refused(void **unused)
{
  (void)unused;
  for (int is_shared = 0; is_shared < 2; is_shared++) {
    struct fixture fixture;
    fixture_start(&fixture);
    fixture_run(&fixture, "M/L", 1);
    for (int i = 0; i < 8200; i++) {
      char name[32];
      snprintf(name, sizeof name, "layer %d", is_shared ? 0 : i);
      int64_t start = fixture.now_ns;
      fixture_model(&fixture, 1 * MS, false);
      fixture_layer(&fixture, &(struct fixture_layer){name, "Conv", NULL, NULL, -1, UNKNOWN_BYTES}, start, 800 * US);
    }
    fixture_ready(&fixture);
    assert_int_equal(fixture_ask(&fixture, "A2"), is_shared ? STATUS_OK : STATUS_NO);
    if (is_shared)
      ASSERT_NEAR(fixture_number(&fixture, 0, "latency_ms"), 0.8);
    else
      assert_non_null(strstr(fixture.error.why, "8200 in 8200 observations"));
    fixture_done(&fixture);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a2_lists_layers_in_execution_order),
      cmocka_unit_test(test_a3_to_a7),
      cmocka_unit_test(test_iterations_of_a_loop),
      cmocka_unit_test(test_a_type_that_names_an_implementation),
      cmocka_unit_test(test_allocations_and_outputs_are_not_pooled),
      cmocka_unit_test(test_analyses_say_what_a_file_lacks),
      cmocka_unit_test(test_one_deep_run_serves_all_levels),
      cmocka_unit_test(test_lost_layers_are_partial_and_shift_nothing),
      cmocka_unit_test(test_layers_that_differ_in_each_observation_are_refused),
      cmocka_unit_test(test_nested_layers_by_mode),
      cmocka_unit_test(test_wrappers_and_loaders),
      cmocka_unit_test(test_default_batch_falls_back_to_the_best_with_layers),
      cmocka_unit_test(test_the_named_set_serves_before_one_of_fewer_levels),
      cmocka_unit_test(test_a_known_batch_size_serves_before_an_unknown_one),
      cmocka_unit_test(test_a_third_that_does_not_say_is_unknown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
