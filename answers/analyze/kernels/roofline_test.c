// SPDX-License-Identifier: Apache-2.0
// A9, A12 and A14 over experiments with known answers: points and roofs, thirds of metrics, analytic work of layers that
// lie in one another.
#include "analyze/test_fixture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MS 1000000
#define MIB 1048576.0

static const struct store_system_value v100[] = {
    {.key = "peak_flops_per_s", .number = 15.7e12, .is_number = true},
    {.key = "memory_bandwidth_bytes_per_s", .number = 900e9, .is_number = true},
};

static void ask(struct fixture *fixture, const char *id)
{
  if (fixture_ask(fixture, id) != STATUS_OK)
    fail_msg("%s: %s: %s", id, fixture->error.what, fixture->error.why);
}

static void assert_printed(double value, double expected)
{
  if (!(fabs(value - expected) <= 0.002 * expected))
    fail_msg("%.10g instead of %.10g", value, expected);
}

struct metrics {
  double flops, read, write; // -1: no tag
};

static int64_t kernel(struct fixture *fixture, int64_t start, int64_t duration, const struct metrics *metrics)
{
  int64_t id = fixture_kernel(fixture, start, start + 10, duration, "kernel");
  if (metrics == NULL)
    return id;
  if (metrics->flops >= 0)
    fixture_real(fixture, id, "flops", metrics->flops);
  if (metrics->read >= 0)
    fixture_real(fixture, id, "dram_read_bytes", metrics->read);
  if (metrics->write >= 0)
    fixture_real(fixture, id, "dram_write_bytes", metrics->write);
  return id;
}

static void layer(struct fixture *fixture, const char *name, const char *type, int64_t start, int64_t duration)
{
  fixture_layer(fixture, &(struct fixture_layer){name, type, NULL, NULL, -1, UNKNOWN_BYTES}, start, duration);
}

// ---- A9 -------------------------------------------------------------------------------------------------------------
// Kernels of 1 ms: a convolution; one that does next to nothing; one that is faster than the V100 can be.
static void three_kernels(struct fixture *fixture, const struct store_system_value *system, size_t count,
                          bool has_metrics)
{
  static const struct metrics metrics[] = {{12e9, 100e6, 100e6}, {1e6, 1e6, 1e6}, {16e9, 1e6, 1e6}};
  fixture_start(fixture);
  fixture_experiment_on(fixture, "three", system, count);
  fixture_run(fixture, has_metrics ? "M/L/K+metrics" : "M/L/K", 1);
  int64_t start = fixture->now_ns;
  fixture_model(fixture, 10 * MS, false);
  layer(fixture, "conv", "Conv", start, 9 * MS);
  for (int i = 0; i < 3; i++)
    kernel(fixture, start + 100 + i * 2 * MS, MS, has_metrics ? &metrics[i] : NULL);
  fixture_ready(fixture);
}

static void test_a9_puts_kernels_under_roofs(void **unused)
{
  (void)unused;
  struct fixture fixture;
  three_kernels(&fixture, v100, 2, true);
  ask(&fixture, "A9");
  assert_int_equal(fixture.tables[0].row_count, 3);
  static const double above[] = {0, 0, 1};
  static const double latency_bound[] = {0, 1, 0};
  static const char *const bounds[] = {"compute", "memory", "compute"};
  for (size_t i = 0; i < 3; i++) {
    ASSERT_NEAR(fixture_number(&fixture, i, "peak_flops_per_s"), 15.7e12);
    ASSERT_NEAR(fixture_number(&fixture, i, "memory_bandwidth_bytes_per_s"), 900e9);
    ASSERT_NEAR(fixture_number(&fixture, i, "ideal_arithmetic_intensity"), 15.7e12 / 900e9);
    ASSERT_NEAR(fixture_number(&fixture, i, "above_roof"), above[i]);
    ASSERT_NEAR(fixture_number(&fixture, i, "is_latency_bound"), latency_bound[i]);
    assert_string_equal(fixture_text(&fixture, i, "bound"), bounds[i]);
  }
  ASSERT_NEAR(fixture_number(&fixture, 0, "arithmetic_intensity"), 60);
  ASSERT_NEAR(fixture_number(&fixture, 0, "arithmetic_throughput_flops_per_s"), 12e12);
  ASSERT_NEAR(fixture_summary(&fixture, "kernels"), 3);
  assert_true(fixture_has_note(&fixture, "roofs (recorded): single precision 15.7 Tflop/s, memory 900 GB/s"));
  fixture.request.latency_threshold_pct = 80; // of 15.7: the convolution reaches 76 %
  ask(&fixture, "A9");
  ASSERT_NEAR(fixture_number(&fixture, 0, "is_latency_bound"), 1);
  fixture_done(&fixture);
}

static void test_a9_without_metrics_or_roofs(void **unused)
{
  (void)unused;
  struct fixture fixture;
  three_kernels(&fixture, v100, 2, false);
  assert_int_equal(fixture_ask(&fixture, "A9"), STATUS_NO);
  assert_non_null(strstr(fixture.error.why, "metrics of kernels"));
  fixture_done(&fixture);

  const struct store_system_value radeon[] = {{.key = "gpu", .text = "AMD Radeon Graphics"}};
  three_kernels(&fixture, radeon, 1, true);
  ask(&fixture, "A9");
  ASSERT_NEAR(fixture_number(&fixture, 0, "arithmetic_intensity"), 60);
  ASSERT_NEAR(fixture_number(&fixture, 0, "peak_flops_per_s"), NAN);
  ASSERT_NEAR(fixture_number(&fixture, 0, "is_latency_bound"), NAN);
  assert_null(fixture_text(&fixture, 0, "bound"));
  assert_null(fixture_text(&fixture, 0, "precision"));
  assert_true(fixture_has_note(&fixture, "'AMD Radeon Graphics' is not in the table of known GPUs"));
  fixture_done(&fixture);
}

static void test_roof_of_the_precision_that_did_most(void **unused)
{
  (void)unused;
  struct fixture fixture;
  const struct store_system_value gpu[] = {{.key = "gpu", .text = "Tesla V100-SXM2-16GB"}};
  fixture_start(&fixture);
  fixture_experiment_on(&fixture, "tensor", gpu, 1);
  fixture_run(&fixture, "M/L/K+metrics", 1);
  int64_t start = fixture.now_ns;
  fixture_model(&fixture, 10 * MS, false);
  layer(&fixture, "conv", "Conv", start, 9 * MS);
  const struct metrics bytes = {-1, 1e9 / 64, 1e9 / 64}; // 1/32 GB: 32 flops a byte
  int64_t id = kernel(&fixture, start + 100, MS, &bytes);
  fixture_real(&fixture, id, "flops_single", 0.25e9);
  fixture_real(&fixture, id, "flops_tensor", 0.75e9);
  fixture_ready(&fixture);
  static const char *const ids[] = {"A9", "A14"};
  for (size_t i = 0; i < 2; i++) {
    ask(&fixture, ids[i]);
    ASSERT_NEAR(fixture_number(&fixture, 0, "flops"), 1e9);
    assert_string_equal(fixture_text(&fixture, 0, "precision"), "tensor");
    ASSERT_NEAR(fixture_number(&fixture, 0, "peak_flops_per_s"), 125e12);
    assert_string_equal(fixture_text(&fixture, 0, "bound"), "memory"); // compute under the roof of single
  }
  fixture_done(&fixture);
}

// Kernels with counters of different precisions, and one with a total alone: together they did most in matrix units.
static void test_roof_of_kernels_with_different_counters(void **unused)
{
  (void)unused;
  static const struct store_system_value system[] = {
      {.key = "peak_flops_per_s", .number = 15.7e12, .is_number = true},
      {.key = "peak_flops_per_s.tensor", .number = 125e12, .is_number = true},
      {.key = "memory_bandwidth_bytes_per_s", .number = 900e9, .is_number = true},
  };
  struct fixture fixture;
  fixture_start(&fixture);
  fixture_experiment_on(&fixture, "mixed", system, 3);
  fixture_run(&fixture, "M/K+metrics", 1);
  int64_t start = fixture.now_ns;
  fixture_model(&fixture, 10 * MS, false);
  fixture_real(&fixture, kernel(&fixture, start + 100, MS, NULL), "flops_tensor", 30e9);
  fixture_real(&fixture, kernel(&fixture, start + 2 * MS, MS, NULL), "flops_single", 2e9);
  fixture_real(&fixture, kernel(&fixture, start + 4 * MS, MS, NULL), "flops", 1e9);
  fixture_ready(&fixture);
  ask(&fixture, "A15");
  ASSERT_NEAR(fixture_number(&fixture, 0, "flops"), 33e9);
  assert_string_equal(fixture_text(&fixture, 0, "precision"), "tensor");
  ask(&fixture, "A9");
  assert_string_equal(fixture_text(&fixture, 0, "precision"), "tensor");
  assert_string_equal(fixture_text(&fixture, 1, "precision"), "single");
  assert_string_equal(fixture_text(&fixture, 2, "precision"), "single");
  fixture_done(&fixture);
}

// ---- A12 ------------------------------------------------------------------------------------------------------------
// Three layers in five observations, the metrics of which grow; a layer without kernels; a kernel outside of layers.
static void growing(struct fixture *fixture, bool is_lacking)
{
  fixture_start(fixture);
  fixture_experiment_on(fixture, "growing", v100, 2);
  fixture_run(fixture, "M/L/K+metrics", 1);
  for (int o = 0; o < 5; o++) {
    int64_t start = fixture->now_ns;
    fixture_model(fixture, 10 * MS, false);
    layer(fixture, "a", "Conv", start, 2 * MS);
    layer(fixture, "b", "Relu", start + 3 * MS, 2 * MS);
    layer(fixture, "c", "Conv", start + 6 * MS, 2 * MS);
    // Observations are equally long: the first and the last are left out.
    static const double reads[] = {0, 10, 20, 30, 1000};
    kernel(fixture, start + 100, MS, &(struct metrics){100, reads[o], reads[4 - o]});
    kernel(fixture, start + 200, MS, &(struct metrics){20, is_lacking && o == 2 ? -1 : 5, 5});
    kernel(fixture, start + 6 * MS + 100, MS, &(struct metrics){600 + o, 10, 20});
    kernel(fixture, start + 9 * MS, MS, &(struct metrics){7, 7, 7});
  }
  fixture_ready(fixture);
}

static void test_a12_series_and_thirds(void **unused)
{
  (void)unused;
  struct fixture fixture;
  growing(&fixture, false);
  ask(&fixture, "A12");
  assert_int_equal(fixture.tables[0].row_count, 3);
  ASSERT_NEAR(fixture_number(&fixture, 0, "flops"), 120);
  ASSERT_NEAR(fixture_number(&fixture, 0, "dram_read_bytes"), 25);
  ASSERT_NEAR(fixture_number(&fixture, 0, "dram_write_bytes"), 25);
  ASSERT_NEAR(fixture_number(&fixture, 0, "dram_bytes"), 50); // in all of the three
  ASSERT_NEAR(fixture_number(&fixture, 1, "flops"), 0);
  ASSERT_NEAR(fixture_number(&fixture, 1, "dram_bytes"), 0);
  ASSERT_NEAR(fixture_number(&fixture, 2, "flops"), 602);
  ASSERT_NEAR(fixture_number(&fixture, 2, "dram_bytes"), 30);
  ASSERT_NEAR(fixture_summary(&fixture, "flops_beginning_pct"), 120 / 722.0 * 100);
  ASSERT_NEAR(fixture_summary(&fixture, "flops_middle_pct"), 0);
  ASSERT_NEAR(fixture_summary(&fixture, "flops_end_pct"), 602 / 722.0 * 100);
  assert_string_equal(fixture_summary_text(&fixture, "flops_stage"), "E");
  assert_string_equal(fixture_summary_text(&fixture, "dram_read_bytes_stage"), "B");
  assert_string_equal(fixture_summary_text(&fixture, "dram_read_stage"), "B");
  assert_string_equal(fixture_summary_text(&fixture, "dram_write_bytes_stage"), "B");
  ASSERT_NEAR(fixture_summary(&fixture, "dram_bytes_beginning_pct"), 50 / 80.0 * 100);
  assert_string_equal(fixture_summary_text(&fixture, "dram_bytes_stage"), "B");
  ASSERT_NEAR(fixture_summary(&fixture, "kernels_without_layer"), 1);
  ASSERT_NEAR(fixture_summary(&fixture, "kernels_without_layer_ms"), 1);
  fixture_done(&fixture);
}

static void test_a12_where_a_kernel_lacks_a_metric(void **unused)
{
  (void)unused;
  struct fixture fixture;
  growing(&fixture, true);
  ask(&fixture, "A12");
  ASSERT_NEAR(fixture_number(&fixture, 0, "flops"), 120);
  // The second kernel's reads are the mean over the two kept observations that know them.
  ASSERT_NEAR(fixture_number(&fixture, 0, "dram_read_bytes"), (10 + 20 + 30) / 3.0 + 5);
  ASSERT_NEAR(fixture_number(&fixture, 0, "dram_bytes"), (40 * 3) / 3.0 + 10);
  ASSERT_NEAR(fixture_summary(&fixture, "dram_bytes_beginning_pct"), 50 / 80.0 * 100);
  fixture_done(&fixture);
}

static void test_a12_needs_metrics(void **unused)
{
  (void)unused;
  struct fixture fixture;
  fixture_start(&fixture);
  fixture_run(&fixture, "M/L/K", 1);
  int64_t start = fixture.now_ns;
  fixture_model(&fixture, 10 * MS, false);
  layer(&fixture, "conv", "Conv", start, 9 * MS);
  kernel(&fixture, start + 100, MS, NULL);
  fixture_ready(&fixture);
  assert_int_equal(fixture_ask(&fixture, "A12"), STATUS_NO);
  assert_non_null(strstr(fixture.error.why, "metrics of kernels"));
  fixture_done(&fixture);
}

// ---- A14 ------------------------------------------------------------------------------------------------------------
// XSP Table V: layer 208 takes 7.59 ms, its kernels 7.45 ms.
static void test_a14_the_papers_layer(void **unused)
{
  (void)unused;
  struct fixture fixture;
  fixture_start(&fixture);
  fixture_experiment_on(&fixture, "paper", v100, 2);
  const struct fixture_layer conv = {"conv2d_48/Conv2D", "Conv2D", NULL, NULL, 208, UNKNOWN_BYTES};
  for (int i = 0; i < 3; i++) {
    static const char *const levels[] = {"M/L", "M/L/K", "M/L/K+metrics"};
    fixture_run(&fixture, levels[i], 256);
    int64_t start = fixture.now_ns;
    fixture_model(&fixture, 400 * MS, false);
    fixture_layer(&fixture, &conv, start, i == 0 ? 7590000 : 30 * MS);
    const struct metrics metrics = {79.74e9, 362.67 * MIB, 548.50 * MIB};
    if (i > 0)
      kernel(&fixture, start + 100, i == 1 ? 7450000 : 20 * MS, i == 2 ? &metrics : NULL);
  }
  fixture_ready(&fixture);
  ask(&fixture, "A14");
  assert_int_equal(fixture.tables[0].row_count, 1);
  ASSERT_NEAR(fixture_number(&fixture, 0, "layer_latency_ms"), 7.59);
  ASSERT_NEAR(fixture_number(&fixture, 0, "kernel_latency_ms"), 7.45);
  assert_printed(fixture_number(&fixture, 0, "arithmetic_intensity"), 83.46);
  assert_printed(fixture_number(&fixture, 0, "arithmetic_throughput_flops_per_s"), 10.70e12);
  assert_string_equal(fixture_text(&fixture, 0, "bound"), "compute");
  ASSERT_NEAR(fixture_number(&fixture, 0, "ideal_arithmetic_intensity"), 15.7e12 / 900e9);
  assert_false(fixture_has_column(&fixture, "analytic_flops")); // there are no shapes
  ASSERT_NEAR(fixture_summary(&fixture, "analytic_flops"), NAN);
  ASSERT_NEAR(fixture_summary(&fixture, "analytic_unknown_layers"), 1);
  fixture_done(&fixture);
}

static void test_a14_without_metrics(void **unused)
{
  (void)unused;
  struct fixture fixture;
  three_kernels(&fixture, v100, 2, false);
  assert_int_equal(fixture_ask(&fixture, "A14"), STATUS_NO); // nor are shapes known, of which flops would follow
  fixture_done(&fixture);
}

// As ONNX Runtime's layers are on a CPU: shapes and bytes, no kernels.
static void onnx_layer(struct fixture *fixture, const char *type, const char *inputs, const char *output,
                       int64_t output_bytes, int64_t start, int64_t duration)
{
  fixture_layer(fixture, &(struct fixture_layer){type, type, output, NULL, -1, UNKNOWN_BYTES}, start, duration);
  fixture_words(fixture, fixture->span_id, "input_shape", inputs);
  fixture_int(fixture, fixture->span_id, "activation_bytes", 400);
  fixture_int(fixture, fixture->span_id, "parameter_bytes", 80);
  fixture_int(fixture, fixture->span_id, "output_bytes", output_bytes);
}

static void test_a14_analytic_points_of_a_cpu(void **unused)
{
  (void)unused;
  struct fixture fixture;
  const struct store_system_value cpu[] = {
      {.key = "peak_flops_per_s", .number = 1e9, .is_number = true},
      {.key = "memory_bandwidth_bytes_per_s", .number = 1e8, .is_number = true},
      {.key = "peak_source", .text = "measured"},
  };
  fixture_start(&fixture);
  fixture_experiment_on(&fixture, "cpu", cpu, 3);
  fixture_run(&fixture, "M/L", 2);
  for (int o = 0; o < 3; o++) {
    int64_t start = fixture.now_ns;
    fixture_model(&fixture, 10 * MS, false);
    onnx_layer(&fixture, "Gemm", "[2,50] [50,10] [10]", "[2,10]", 80, start, MS);
    onnx_layer(&fixture, "MaxPool", "[2,50]", "[2,10]", 80, start + 2 * MS, MS);
    onnx_layer(&fixture, "Relu", "[1000,1000]", "[1000,1000]", 4000000, start + 4 * MS, MS);
  }
  fixture_ready(&fixture);
  ask(&fixture, "A14");
  assert_int_equal(fixture.tables[0].row_count, 3);
  ASSERT_NEAR(fixture_number(&fixture, 0, "layer_latency_ms"), 1);
  ASSERT_NEAR(fixture_number(&fixture, 0, "kernel_latency_ms"), NAN);
  ASSERT_NEAR(fixture_number(&fixture, 0, "flops"), NAN); // measured and analytic do not mix
  ASSERT_NEAR(fixture_number(&fixture, 0, "arithmetic_intensity"), NAN);
  ASSERT_NEAR(fixture_number(&fixture, 0, "multiply_adds"), 1000);
  ASSERT_NEAR(fixture_number(&fixture, 0, "adds"), 20);
  ASSERT_NEAR(fixture_number(&fixture, 0, "analytic_flops"), 2020);
  ASSERT_NEAR(fixture_number(&fixture, 0, "analytic_bytes"), 560);
  ASSERT_NEAR(fixture_number(&fixture, 0, "analytic_intensity"), 2020 / 560.0);
  ASSERT_NEAR(fixture_number(&fixture, 0, "analytic_throughput_flops_per_s"), 2020e3);
  assert_string_equal(fixture_text(&fixture, 0, "analytic_bound"), "memory");
  assert_string_equal(fixture_text(&fixture, 0, "analytic_precision"), "single");
  ASSERT_NEAR(fixture_number(&fixture, 0, "analytic_above_roof"), 0);
  ASSERT_NEAR(fixture_number(&fixture, 1, "analytic_flops"), NAN); // the window is not recorded
  ASSERT_NEAR(fixture_number(&fixture, 1, "analytic_bytes"), 560);
  ASSERT_NEAR(fixture_number(&fixture, 2, "compares"), 1e6);
  ASSERT_NEAR(fixture_number(&fixture, 2, "analytic_above_roof"), 1); // 1 Gflop/s at a quarter flop a byte
  ASSERT_NEAR(fixture_summary(&fixture, "analytic_flops"), 2020 + 1e6);
  ASSERT_NEAR(fixture_summary(&fixture, "analytic_multiply_adds"), 1000);
  ASSERT_NEAR(fixture_summary(&fixture, "analytic_unknown_layers"), 1);
  ASSERT_NEAR(fixture_summary(&fixture, "analytic_unknown_pct"), 100 / 3.0);
  ASSERT_NEAR(fixture_summary(&fixture, "analytic_above_roof"), 1);
  assert_true(fixture_has_note(&fixture, "flops = 2 * multiply_adds + adds + compares + specials"));
  assert_true(fixture_has_note(&fixture, "1 of 3 layers (33.3 % of their time) is not known"));
  assert_true(fixture_has_note(&fixture, "suspect counting"));
  assert_true(fixture_has_note(&fixture, "roofs (measured)"));
  fixture_done(&fixture);
}

static void aten(struct fixture *fixture, const char *name, const char *dims, const char *category, int64_t start,
                 int64_t end)
{
  fixture_layer(fixture, &(struct fixture_layer){name, NULL, NULL, category, -1, UNKNOWN_BYTES}, start, end - start);
  if (dims != NULL) {
    fixture_words(fixture, fixture->span_id, "Input Dims", dims);
    fixture_words(fixture, fixture->span_id, "Input type", "[\"float\",\"float\",\"float\"]");
  }
}

// A module of a linear layer and one that is not known; a gradient; a copy that may be none.
static void nested(struct fixture *fixture)
{
  fixture_start(fixture);
  fixture_experiment_on(fixture, "aten", v100, 2);
  fixture_run(fixture, "M/L", 1);
  int64_t start = fixture->now_ns;
  fixture_model(fixture, 10 * MS, false);
  aten(fixture, "nn.Module: Linear_0", NULL, "module", start, start + 3000);
  aten(fixture, "aten::linear", "[[4,8],[16,8],[16]]", NULL, start + 100, start + 2900);
  aten(fixture, "aten::t", "[[16,8]]", NULL, start + 200, start + 300);
  aten(fixture, "aten::addmm", "[[16],[4,8],[8,16]]", NULL, start + 400, start + 2800);
  aten(fixture, "nn.Module: Odd_0", NULL, "module", start + 4000, start + 6000);
  aten(fixture, "aten::mm", "[[2,3],[3,5]]", NULL, start + 4100, start + 4200);
  aten(fixture, "own::fancy", "[[2,3]]", NULL, start + 4300, start + 5000);
  aten(fixture, "aten::empty", "[[]]", NULL, start + 4400, start + 4500);
  aten(fixture, "autograd::engine::evaluate_function: MmBackward0", NULL, NULL, start + 7000, start + 9000);
  aten(fixture, "MmBackward0", NULL, NULL, start + 7100, start + 8900);
  aten(fixture, "aten::mm", "[[2,3],[3,5]]", NULL, start + 7200, start + 7300);
  aten(fixture, "aten::mm", "[[3,2],[2,5]]", NULL, start + 7400, start + 7500);
  aten(fixture, "aten::contiguous", "[[9]]", NULL, start + 9100, start + 9500);
  aten(fixture, "aten::copy_", "[[9],[9]]", NULL, start + 9200, start + 9300);
  aten(fixture, "aten::contiguous", "[[9]]", NULL, start + 9600, start + 9700);
  aten(fixture, "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", NULL, NULL, start + 9800,
       start + 9900);
  aten(fixture, "torch::autograd::AccumulateGrad", NULL, NULL, start + 9810, start + 9890);
  aten(fixture, "aten::add_", "[[9],[9],[]]", NULL, start + 9820, start + 9880);
  fixture_ready(fixture);
}

static void test_a14_nested_layers(void **unused)
{
  (void)unused;
  struct fixture fixture;
  nested(&fixture);
  const double linear = 4 * 8 * 16;
  ask(&fixture, "A14");
  assert_int_equal(fixture.tables[0].row_count, 7);                  // the module and the engine's steps wrap layers
  ASSERT_NEAR(fixture_number(&fixture, 0, "multiply_adds"), linear); // once, not twice
  ASSERT_NEAR(fixture_number(&fixture, 0, "adds"), 64);
  ASSERT_NEAR(fixture_number(&fixture, 1, "multiply_adds"), 30);
  ASSERT_NEAR(fixture_number(&fixture, 2, "multiply_adds"), NAN);
  ASSERT_NEAR(fixture_number(&fixture, 3, "multiply_adds"), 60);
  ASSERT_NEAR(fixture_number(&fixture, 3, "analytic_bytes"), 4 * ((6 + 15 + 10) + (6 + 10 + 15)));
  ASSERT_NEAR(fixture_number(&fixture, 4, "analytic_flops"), 0);
  ASSERT_NEAR(fixture_number(&fixture, 4, "analytic_bytes"), 4 * 18);
  ASSERT_NEAR(fixture_number(&fixture, 5, "analytic_bytes"), 0); // it was contiguous already
  ASSERT_NEAR(fixture_number(&fixture, 6, "adds"), 9);
  ASSERT_NEAR(fixture_summary(&fixture, "analytic_multiply_adds"), linear + 30 + 60);

  fixture.request.layer = "innermost";
  ask(&fixture, "A14");
  assert_int_equal(fixture.tables[0].row_count, 18);
  static const double own[] = {0, 0, 0, 512, NAN, 30, NAN, 0, 0, 0, 30, 30, 0, 0, 0, 0, 0, 0};
  for (size_t i = 0; i < 18; i++)
    ASSERT_NEAR(fixture_number(&fixture, i, "multiply_adds"), own[i]);
  ASSERT_NEAR(fixture_number(&fixture, 1, "analytic_bytes"), 0); // all of linear's is addmm's
  ASSERT_NEAR(fixture_number(&fixture, 12, "analytic_bytes"), 0);
  ASSERT_NEAR(fixture_number(&fixture, 13, "analytic_bytes"), 4 * 18);
  ASSERT_NEAR(fixture_summary(&fixture, "analytic_multiply_adds"), linear + 60 + 30);

  fixture.request.layer = "module";
  ask(&fixture, "A14");
  assert_int_equal(fixture.tables[0].row_count, 2);
  ASSERT_NEAR(fixture_number(&fixture, 0, "multiply_adds"), linear);
  ASSERT_NEAR(fixture_number(&fixture, 1, "multiply_adds"), NAN);
  fixture_done(&fixture);
}

// The first layer, with most flops, computes in bf16, whose peak may not be known; the second in float.
static void two_primitives(struct fixture *fixture, size_t figures)
{
  static const struct store_system_value cpu[] = {
      {.key = "peak_flops_per_s", .number = 1e9, .is_number = true},
      {.key = "memory_bandwidth_bytes_per_s", .number = 1e8, .is_number = true},
      {.key = "peak_flops_per_s.half", .number = 8e9, .is_number = true}};
  fixture_start(fixture);
  fixture_experiment_on(fixture, "cpu", cpu, figures);
  fixture_run(fixture, "M/L", 2);
  int64_t start = fixture->now_ns;
  fixture_model(fixture, 10 * MS, false);
  onnx_layer(fixture, "Gemm", "[2,5000] [5000,10] [10]", "[2,10]", 80, start, MS / 20);
  fixture_words(fixture, fixture->span_id, "primitive", "brgconv_avx512_amx_bf16");
  onnx_layer(fixture, "Gemm", "[2,50] [50,10] [10]", "[2,10]", 80, start + 2 * MS, MS);
  fixture_words(fixture, fixture->span_id, "primitive", "brgconv_avx512_f32");
  fixture_ready(fixture);
}

static void test_analytic_roofs_are_of_the_type_that_ran(void **unused)
{
  (void)unused;
  struct fixture fixture;
  two_primitives(&fixture, 2);
  ask(&fixture, "A14");
  ASSERT_NEAR(fixture_number(&fixture, 0, "analytic_throughput_flops_per_s"), 200020.0 / 50e-6); // four times 1e9
  assert_null(fixture_text(&fixture, 0, "analytic_precision"));
  assert_null(fixture_text(&fixture, 0, "analytic_bound"));
  ASSERT_NEAR(fixture_number(&fixture, 0, "analytic_above_roof"), NAN);
  assert_string_equal(fixture_text(&fixture, 1, "analytic_precision"), "single");
  assert_true(fixture_has_note(&fixture, "1 layers compute in a type whose peak is not known"));
  ask(&fixture, "T9");
  ASSERT_NEAR(fixture_number(&fixture, 1, "flops"), 202040); // row 0: the empty experiment
  assert_null(fixture_text(&fixture, 1, "precision"));
  ASSERT_NEAR(fixture_number(&fixture, 1, "peak_flops_per_s"), NAN);
  assert_null(fixture_text(&fixture, 1, "analytic_bound"));
  fixture_done(&fixture);

  two_primitives(&fixture, 3);
  ask(&fixture, "A14");
  assert_string_equal(fixture_text(&fixture, 0, "analytic_precision"), "half");
  assert_string_equal(fixture_text(&fixture, 0, "analytic_bound"), "compute");
  ASSERT_NEAR(fixture_number(&fixture, 0, "analytic_above_roof"), 0);
  ask(&fixture, "T9");
  assert_string_equal(fixture_text(&fixture, 1, "precision"), "half");
  ASSERT_NEAR(fixture_number(&fixture, 1, "peak_flops_per_s"), 8e9);
  fixture_done(&fixture);
}

static void test_a14_needs_kernels_or_shapes(void **unused)
{
  (void)unused;
  struct fixture fixture;
  fixture_start(&fixture);
  fixture_run(&fixture, "M/L", 1);
  int64_t start = fixture.now_ns;
  fixture_model(&fixture, MS, false);
  layer(&fixture, "a", "Conv", start, 1000);
  fixture_ready(&fixture);
  assert_int_equal(fixture_ask(&fixture, "A14"), STATUS_NO);
  assert_int_equal(fixture_ask(&fixture, "A9"), STATUS_NO);
  assert_int_equal(fixture_ask(&fixture, "A12"), STATUS_NO);
  fixture_done(&fixture);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a9_puts_kernels_under_roofs),
      cmocka_unit_test(test_a9_without_metrics_or_roofs),
      cmocka_unit_test(test_roof_of_the_precision_that_did_most),
      cmocka_unit_test(test_roof_of_kernels_with_different_counters),
      cmocka_unit_test(test_a12_series_and_thirds),
      cmocka_unit_test(test_a12_where_a_kernel_lacks_a_metric),
      cmocka_unit_test(test_a12_needs_metrics),
      cmocka_unit_test(test_a14_the_papers_layer),
      cmocka_unit_test(test_a14_without_metrics),
      cmocka_unit_test(test_a14_analytic_points_of_a_cpu),
      cmocka_unit_test(test_analytic_roofs_are_of_the_type_that_ran),
      cmocka_unit_test(test_a14_nested_layers),
      cmocka_unit_test(test_a14_needs_kernels_or_shapes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
