// SPDX-License-Identifier: Apache-2.0
// A8, A10, A11 and A15 give what the XSP papers print, and no more than what was measured. Whole tables come through the
// front door in tests/analyze/test_papers.py.
#include "analyze/test_fixture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MS 1000000
#define MIB 1048576.0

static void ask(struct fixture *fixture, const char *id)
{
  if (fixture_ask(fixture, id) != STATUS_OK)
    fail_msg("%s: %s: %s", id, fixture->error.what, fixture->error.why);
}

static const struct fixture_layer conv = {"conv2d_48", "Conv2D", NULL, NULL, 208, UNKNOWN_BYTES};
static const struct fixture_layer relu = {"relu_48", "Relu", NULL, NULL, 209, UNKNOWN_BYTES};

// One row of the XSP paper's tables: what was measured, and what it prints besides. Inputs are rounded there: ±0.2 %.
struct printed {
  const char *name;
  double gflop, read_mib, write_mib, latency_ms;
  double intensity, tflops_per_s;
  const char *bound;
};
static const struct printed printed[] = {
    {"volta_cgemm_32x32_tn", 77.42, 40.33, 43.86, 6.04, 876.97, 12.82, "compute"},
    {"volta_scudnn_128x128_relu_interior_nn_v1", 59.20, 27.71, 8.40, 5.48, 1563.30, 10.80, "compute"},
    {"volta_scudnn_128x64_relu_interior_nn_v1", 1053.63, 4429.64, 5494.22, 84.95, 101.25, 12.40, "compute"},
    {"Eigen::TensorCwiseBinaryOp<scalar_product_op>", 2.85, 4181.23, 6371.12, 28.43, 0.26, 0.10, "memory"},
};
#define PRINTED (sizeof printed / sizeof printed[0])

static void assert_printed(double value, double expected)
{
  // What is printed with two decimals is known to half of the last one besides.
  if (!(fabs(value - expected) <= 0.002 * expected + 0.005))
    fail_msg("%.10g instead of %.10g", value, expected);
}

static void measure(struct fixture *fixture, int64_t kernel, const struct printed *row)
{
  fixture_int(fixture, kernel, "flops", llround(row->gflop * 1e9));
  fixture_real(fixture, kernel, "dram_read_bytes", row->read_mib * MIB);
  fixture_real(fixture, kernel, "dram_write_bytes", row->write_mib * MIB);
  fixture_real(fixture, kernel, "achieved_occupancy_pct", 12.5 * (double)(row - printed + 1));
}

// On the V100: M at 275.05 ms, M/L/K with the latencies, and runs with metrics, which are three times slower.
static void papers(struct fixture *fixture)
{
  static const struct store_system_value system[] = {
      {.key = "peak_flops_per_s", .number = 15.7e12, .is_number = true},
      {.key = "memory_bandwidth_bytes_per_s", .number = 900e9, .is_number = true},
  };
  fixture_experiment_on(fixture, "papers", system, 2);
  fixture_run(fixture, "M", 256);
  fixture_model(fixture, 275050000, false);
  for (int metrics = 0; metrics < 2; metrics++) {
    fixture_run(fixture, metrics ? "M/L/K+metrics" : "M/L/K", 256);
    for (int observation = 0; observation < 2; observation++) {
      int64_t start = fixture->now_ns;
      int64_t at = start + 20000;
      fixture_model(fixture, 900 * MS, false);
      fixture_layer(fixture, &conv, start + 1000, 490 * MS);
      for (size_t i = 0; i < PRINTED; i++) {
        int64_t duration = llround(printed[i].latency_ms * 1e6) * (metrics ? 3 : 1);
        int64_t kernel = fixture_kernel_named(fixture, printed[i].name, start + 2000 + (int64_t)i * 100, at, duration);
        if (metrics)
          measure(fixture, kernel, &printed[i]);
        at += duration + 100;
      }
    }
  }
  fixture_ready(fixture);
}

static void test_the_papers_kernels(void **unused)
{
  (void)unused;
  struct fixture fixture;
  fixture_start(&fixture);
  papers(&fixture);
  ask(&fixture, "A8");
  assert_int_equal(fixture.tables[0].row_count, PRINTED);
  for (size_t i = 0; i < PRINTED; i++) {
    assert_string_equal(fixture_text(&fixture, i, "kernel_name"), printed[i].name);
    ASSERT_NEAR(fixture_number(&fixture, i, "latency_ms"), printed[i].latency_ms);
    ASSERT_NEAR(fixture_number(&fixture, i, "flops"), printed[i].gflop * 1e9);
    ASSERT_NEAR(fixture_number(&fixture, i, "dram_read_bytes"), printed[i].read_mib * MIB);
    ASSERT_NEAR(fixture_number(&fixture, i, "dram_write_bytes"), printed[i].write_mib * MIB);
    assert_printed(fixture_number(&fixture, i, "arithmetic_intensity"), printed[i].intensity);
    assert_printed(fixture_number(&fixture, i, "arithmetic_throughput_flops_per_s") / 1e12, printed[i].tflops_per_s);
    assert_string_equal(fixture_text(&fixture, i, "bound"), printed[i].bound);
    assert_string_equal(fixture_text(&fixture, i, "precision"), "single");
    ASSERT_NEAR(fixture_number(&fixture, i, "is_latency_bound"), 0);
    ASSERT_NEAR(fixture_number(&fixture, i, "above_roof"), 0);
    ASSERT_NEAR(fixture_number(&fixture, i, "layer_index"), 208);
    assert_string_equal(fixture_text(&fixture, i, "layer_name"), "conv2d_48");
    ASSERT_NEAR(fixture_number(&fixture, i, "n"), 2);
  }
  ASSERT_NEAR(fixture_summary(&fixture, "kernels"), 4);
  ASSERT_NEAR(fixture_summary(&fixture, "kernels_under_1ms"), 0);
  ASSERT_NEAR(fixture_summary(&fixture, "distinct_names"), 4);
  assert_string_equal(fixture.tables[0].levels, "M/L/K");
  assert_false(fixture_has_column(&fixture, "latency_from"));
  assert_true(fixture_has_note(&fixture, "metrics come from runs at M/L/K+metrics"));
  fixture_done(&fixture);
}

static void test_the_papers_names_and_model(void **unused)
{
  (void)unused;
  struct fixture fixture;
  fixture_start(&fixture);
  papers(&fixture);
  ask(&fixture, "A10");
  assert_int_equal(fixture.tables[0].row_count, PRINTED);
  static const size_t order[] = {2, 3, 0, 1}; // by latency
  static const double shares[] = {30.87, 10.34};
  double flops = 0;
  double kernels_ms = 0;
  double weighted = 0;
  for (size_t i = 0; i < PRINTED; i++) {
    const struct printed *row = &printed[order[i]];
    assert_string_equal(fixture_text(&fixture, i, "kernel_name"), row->name);
    ASSERT_NEAR(fixture_number(&fixture, i, "count"), 1);
    if (i < 2)
      assert_printed(fixture_number(&fixture, i, "latency_pct"), shares[i]);
    assert_printed(fixture_number(&fixture, i, "arithmetic_intensity"), row->intensity);
    assert_printed(fixture_number(&fixture, i, "arithmetic_throughput_flops_per_s") / 1e12, row->tflops_per_s);
    assert_string_equal(fixture_text(&fixture, i, "bound"), row->bound);
    flops += row->gflop * 1e9;
    kernels_ms += row->latency_ms;
    weighted += 12.5 * (double)(order[i] + 1) * row->latency_ms;
  }
  ASSERT_NEAR(fixture_summary(&fixture, "kernel_latency_ms"), kernels_ms);
  ASSERT_NEAR(fixture_summary(&fixture, "model_latency_ms"), 275.05);
  ask(&fixture, "A15");
  assert_int_equal(fixture.tables[0].row_count, 1);
  ASSERT_NEAR(fixture_number(&fixture, 0, "batch_size"), 256);
  ASSERT_NEAR(fixture_number(&fixture, 0, "model_latency_ms"), 275.05);
  ASSERT_NEAR(fixture_number(&fixture, 0, "kernel_latency_ms"), kernels_ms);
  ASSERT_NEAR(fixture_number(&fixture, 0, "gpu_pct"), kernels_ms / 275.05 * 100);
  ASSERT_NEAR(fixture_number(&fixture, 0, "non_gpu_latency_ms"), 275.05 - kernels_ms);
  ASSERT_NEAR(fixture_number(&fixture, 0, "flops"), flops);
  ASSERT_NEAR(fixture_number(&fixture, 0, "arithmetic_throughput_flops_per_s"), flops / kernels_ms * 1e3);
  ASSERT_NEAR(fixture_number(&fixture, 0, "achieved_occupancy_pct"), weighted / kernels_ms);
  fixture_done(&fixture);
}

// Layer 208: 7.59 ms, its kernels 7.45 ms, 79.74 Gflop, 362.67 + 548.50 MiB: 83.46 flops/byte, 10.70 Tflop/s.
static void test_the_papers_layer(void **unused)
{
  (void)unused;
  struct fixture fixture;
  fixture_start(&fixture);
  fixture_run(&fixture, "M/L", 256);
  fixture_model(&fixture, 300 * MS, false);
  fixture_layer(&fixture, &conv, 1000, 7590000);
  fixture_layer(&fixture, &relu, 8 * MS, 500000);
  for (int metrics = 0; metrics < 2; metrics++) {
    fixture_run(&fixture, metrics ? "M/L/K+metrics" : "M/L/K", 256);
    int64_t start = fixture.now_ns;
    fixture_model(&fixture, 900 * MS, false);
    fixture_layer(&fixture, &conv, start + 1000, 8 * MS);
    fixture_layer(&fixture, &relu, start + 9 * MS, 600000);
    for (int i = 0; i < 2; i++) {
      int64_t duration = i == 0 ? 6040000 : 1410000;
      int64_t kernel = fixture_kernel_named(&fixture, i == 0 ? "conv" : "shuffle", start + 2000 + i * 100,
                                            start + 20 * MS + i * 400 * MS, duration * (metrics ? 2 : 1));
      if (!metrics)
        continue;
      fixture_int(&fixture, kernel, "flops", llround((i == 0 ? 77.42 : 2.32) * 1e9));
      fixture_real(&fixture, kernel, "dram_read_bytes", (i == 0 ? 40.33 : 322.34) * MIB);
      fixture_real(&fixture, kernel, "dram_write_bytes", (i == 0 ? 43.86 : 504.64) * MIB);
    }
  }
  fixture_ready(&fixture);
  fixture.request.latency_basis = "host"; // here kernels do not run while their layer does
  ask(&fixture, "A11");
  assert_int_equal(fixture.tables[0].row_count, 2);
  ASSERT_NEAR(fixture_number(&fixture, 0, "layer_index"), 208);
  assert_string_equal(fixture_text(&fixture, 0, "layer_type"), "Conv2D");
  ASSERT_NEAR(fixture_number(&fixture, 0, "layer_latency_ms"), 7.59);
  ASSERT_NEAR(fixture_number(&fixture, 0, "kernel_latency_ms"), 7.45);
  ASSERT_NEAR(fixture_number(&fixture, 0, "flops"), 79.74e9);
  assert_printed(fixture_number(&fixture, 0, "arithmetic_intensity"), 83.46);
  assert_printed(fixture_number(&fixture, 0, "arithmetic_throughput_flops_per_s") / 1e12, 10.70);
  ASSERT_NEAR(fixture_number(&fixture, 0, "achieved_occupancy_pct"), NAN);
  assert_null(fixture_text(&fixture, 0, "bound")); // nobody said what machine it was
  // A layer without kernels: 0, and nothing to be divided by.
  ASSERT_NEAR(fixture_number(&fixture, 1, "layer_latency_ms"), 0.5);
  ASSERT_NEAR(fixture_number(&fixture, 1, "kernel_latency_ms"), 0);
  ASSERT_NEAR(fixture_number(&fixture, 1, "count"), 0);
  ASSERT_NEAR(fixture_number(&fixture, 1, "flops"), 0);
  ASSERT_NEAR(fixture_number(&fixture, 1, "arithmetic_intensity"), NAN);
  ASSERT_NEAR(fixture_number(&fixture, 1, "arithmetic_throughput_flops_per_s"), NAN);
  ASSERT_NEAR(fixture_summary(&fixture, "kernels_without_layer"), 0);
  ASSERT_NEAR(fixture_summary(&fixture, "kernels_without_layer_ms"), 0);
  assert_false(fixture_has_column(&fixture, "latency_from"));
  assert_string_equal(fixture_text(&fixture, 0, "model_latency_from"), "M/L");
  assert_true(fixture_has_note(&fixture, "model latencies come from runs at M/L"));
  fixture_done(&fixture);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_papers_kernels),
      cmocka_unit_test(test_the_papers_names_and_model),
      cmocka_unit_test(test_the_papers_layer),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
