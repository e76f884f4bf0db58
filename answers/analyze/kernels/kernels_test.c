// SPDX-License-Identifier: Apache-2.0
// A8, A10, A11, A13 and A15 over experiments with known answers: pairing, metrics of other runs, unions, the level rule.
// Random experiments are compared with a second implementation in tests/analyze/test_analyze_kernels.py.
#include "analyze/test_fixture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MS 1000000

static void ask(struct fixture *fixture, const char *id)
{
  if (fixture_ask(fixture, id) != STATUS_OK)
    fail_msg("%s: %s: %s", id, fixture->error.what, fixture->error.why);
}

static const struct fixture_layer conv = {"conv2d_48", "Conv2D", NULL, NULL, 208, UNKNOWN_BYTES};
static const struct fixture_layer relu = {"relu_48", "Relu", NULL, NULL, 209, UNKNOWN_BYTES};

// ---- pairing --------------------------------------------------------------------------------------------------------
static void test_same_names_never_pool(void **unused)
{
  (void)unused;
  struct fixture fixture;
  fixture_start(&fixture);
  fixture_run(&fixture, "M/L/K", 1);
  for (int i = 0; i < 3; i++) {
    int64_t start = fixture.now_ns;
    fixture_model(&fixture, 10 * MS, false);
    fixture_layer(&fixture, &conv, start + 1000, 2 * MS);
    fixture_layer(&fixture, &relu, start + 4 * MS, 2 * MS);
    // Launched in one order, run in another: the order on the device counts.
    fixture_kernel_named(&fixture, "gemm", start + 3000, start + 6 * MS, 1000 + i);
    fixture_kernel_named(&fixture, "gemm", start + 2000, start + 5 * MS, 3000 + i);
    fixture_kernel_named(&fixture, "gemm", start + 5 * MS, start + 7 * MS, 5000 + i);
    fixture_kernel(&fixture, start + 2500, start + 4 * MS, 70000, "memcpy"); // counts nowhere but in unions
    if (i == 1)
      fixture_kernel_named(&fixture, "extra", start + 5 * MS + 50, start + 8 * MS, 8000);
    fixture_kernel_named(&fixture, "outside", start + 8 * MS, start + 9 * MS, 9000 + i);
  }
  fixture_ready(&fixture);
  ask(&fixture, "A8");
  static const char *const names[] = {"gemm", "gemm", "gemm", "extra", "outside"};
  static const double latencies[] = {3001, 1001, 5001, 8000, 9001};
  assert_int_equal(fixture.tables[0].row_count, 5);
  for (size_t i = 0; i < 5; i++) {
    assert_string_equal(fixture_text(&fixture, i, "kernel_name"), names[i]);
    ASSERT_NEAR(fixture_number(&fixture, i, "latency_ms"), latencies[i] / 1e6);
    ASSERT_NEAR(fixture_number(&fixture, i, "n"), i == 3 ? 1 : 3);
    ASSERT_NEAR(fixture_number(&fixture, i, "partial"), i == 3 ? 1 : NAN);
  }
  ASSERT_NEAR(fixture_number(&fixture, 1, "layer_index"), 208);
  ASSERT_NEAR(fixture_number(&fixture, 2, "layer_index"), 209);
  ASSERT_NEAR(fixture_number(&fixture, 4, "layer_index"), NAN);
  assert_true(fixture_has_note(&fixture, "1 of 5 kernels are not in every observation"));
  ASSERT_NEAR(fixture_summary(&fixture, "distinct_names"), 3);
  ask(&fixture, "A10");
  assert_string_equal(fixture_text(&fixture, 0, "kernel_name"), "gemm"); // 9.003 us in all, before outside and extra
  ASSERT_NEAR(fixture_number(&fixture, 0, "count"), 3);
  ASSERT_NEAR(fixture_number(&fixture, 0, "latency_ms"), 9003 / 1e6);
  ASSERT_NEAR(fixture_number(&fixture, 2, "latency_ms"), 8000 / 1e6);
  ASSERT_NEAR(fixture_number(&fixture, 2, "n"), 1);
  ask(&fixture, "A11");
  ASSERT_NEAR(fixture_number(&fixture, 0, "kernel_latency_ms"), 4002 / 1e6);
  // 5000, 13001, 5002: the middle one of three equally long observations is kept
  ASSERT_NEAR(fixture_number(&fixture, 1, "kernel_latency_ms"), 13001 / 1e6);
  ASSERT_NEAR(fixture_number(&fixture, 1, "max_ms"), 13001 / 1e6);
  ASSERT_NEAR(fixture_summary(&fixture, "kernels_without_layer"), 1);
  ASSERT_NEAR(fixture_summary(&fixture, "kernels_without_layer_ms"), 9001 / 1e6);
  fixture_done(&fixture);
}

// ---- metrics --------------------------------------------------------------------------------------------------------
// Two kernels of 1 and 3 ms in one layer.
static void test_metrics_by_names_of_cupti(void **unused)
{
  (void)unused;
  static const char *const names[] = {"lts__t_bytes.sum", "sm__warps_active.avg.pct_of_peak_sustained_active"};
  struct fixture fixture;
  fixture_start(&fixture);
  fixture_run(&fixture, "M/L/K", 1);
  int64_t start = fixture.now_ns;
  fixture_model(&fixture, 10 * MS, false);
  fixture_layer(&fixture, &conv, start + 1000, 9 * MS);
  for (int i = 0; i < 2; i++) {
    int64_t begin = start + 2000 + i * 2 * MS;
    int64_t kernel = fixture_kernel_named(&fixture, "k", begin, begin + 100, i == 0 ? MS : 3 * MS);
    fixture_int(&fixture, kernel, names[0], 100);
    fixture_real(&fixture, kernel, names[1], i == 0 ? 20 : 60);
  }
  fixture_ready(&fixture);
  fixture.request.metrics = names;
  fixture.request.metric_count = 2;
  ask(&fixture, "A11");
  ASSERT_NEAR(fixture_number(&fixture, 0, names[0]), 200);
  ASSERT_NEAR(fixture_number(&fixture, 0, names[1]), 50); // (20 * 1 + 60 * 3) / 4
  fixture_done(&fixture);
}

// Two layers of one kernel each; in the metric run one lacks its reads, and in its second observation its flops.
static void test_what_is_not_measured_is_null(void **unused)
{
  (void)unused;
  struct fixture fixture;
  fixture_start(&fixture);
  fixture_run(&fixture, "M/L/K", 1);
  for (int metrics = 0; metrics < 2; metrics++) {
    if (metrics)
      fixture_run(&fixture, "M/L/K+metrics", 1);
    for (int i = 0; i < 2; i++) {
      int64_t start = fixture.now_ns;
      fixture_model(&fixture, 10 * MS, false);
      fixture_layer(&fixture, &conv, start + 1000, 2 * MS);
      fixture_layer(&fixture, &relu, start + 4 * MS, 2 * MS);
      int64_t first = fixture_kernel_named(&fixture, "k", start + 2000, start + 3000, 1000);
      int64_t second = fixture_kernel_named(&fixture, "k", start + 5 * MS, start + 6 * MS, 3000);
      if (!metrics)
        continue;
      fixture_int(&fixture, first, "flops", 100 + i);
      fixture_int(&fixture, first, "dram_read_bytes", 50);
      fixture_int(&fixture, first, "dram_write_bytes", 0);
      fixture_real(&fixture, first, "achieved_occupancy_pct", 20);
      fixture_int(&fixture, second, "dram_write_bytes", 8);
      fixture_real(&fixture, second, "achieved_occupancy_pct", 60);
      if (i == 0)
        fixture_int(&fixture, second, "flops", 0);
    }
  }
  fixture_ready(&fixture);
  ask(&fixture, "A8");
  ASSERT_NEAR(fixture_number(&fixture, 0, "flops"), 100.5);
  ASSERT_NEAR(fixture_number(&fixture, 0, "arithmetic_intensity"), 100.5 / 50);
  ASSERT_NEAR(fixture_number(&fixture, 1, "flops"), 0);
  ASSERT_NEAR(fixture_number(&fixture, 1, "dram_read_bytes"), NAN);
  ASSERT_NEAR(fixture_number(&fixture, 1, "dram_write_bytes"), 8);
  ASSERT_NEAR(fixture_number(&fixture, 1, "arithmetic_intensity"), NAN);
  ASSERT_NEAR(fixture_number(&fixture, 1, "arithmetic_throughput_flops_per_s"), 0);
  ASSERT_NEAR(fixture_number(&fixture, 0, "metric_coverage_pct"), 100);
  ASSERT_NEAR(fixture_number(&fixture, 1, "metric_coverage_pct"), 0); // its reads
  assert_true(fixture_has_note(&fixture, "75 % of the kernels' time lacks metrics"));
  ask(&fixture, "A10");
  ASSERT_NEAR(fixture_number(&fixture, 0, "flops"), 100.5); // each kernel's mean over where it was counted
  ASSERT_NEAR(fixture_number(&fixture, 0, "metric_coverage_pct"), 25);
  ASSERT_NEAR(fixture_number(&fixture, 0, "dram_read_bytes"), NAN);
  ASSERT_NEAR(fixture_number(&fixture, 0, "dram_write_bytes"), 8);
  ASSERT_NEAR(fixture_number(&fixture, 0, "achieved_occupancy_pct"), (20 * 1000 + 60 * 3000) / 4000.0);
  ASSERT_NEAR(fixture_number(&fixture, 0, "arithmetic_throughput_flops_per_s"), 100.5 / 4e-6);
  fixture.request.partial_metrics = true;
  ask(&fixture, "A10");
  ASSERT_NEAR(fixture_number(&fixture, 0, "dram_read_bytes"), 50);
  ASSERT_NEAR(fixture_number(&fixture, 0, "partial_metrics"), 1);
  fixture_done(&fixture);
}

// The metric run lost a kernel: its sums would be too small. Another has its counts by precision only.
static void test_a_kernel_that_metric_runs_lack(void **unused)
{
  (void)unused;
  struct fixture fixture;
  fixture_start(&fixture);
  for (int metrics = 0; metrics < 2; metrics++) {
    fixture_run(&fixture, metrics ? "M/K+metrics" : "M/L/K", 1);
    int64_t start = fixture.now_ns;
    fixture_model(&fixture, 10 * MS, false);
    if (!metrics)
      fixture_layer(&fixture, &conv, start + 1000, 8 * MS);
    int64_t first = fixture_kernel_named(&fixture, "a", start + 2000, start + 3000, 1000);
    int64_t second = fixture_kernel_named(&fixture, "b", start + 5000, start + 6000, 3000);
    if (!metrics)
      fixture_kernel_named(&fixture, "b", start + 9000, start + 9500, 4000);
    fixture_real(&fixture, first, "flops_single", 70);
    fixture_real(&fixture, first, "flops_half", 30);
    fixture_int(&fixture, second, "flops", 200);
  }
  fixture_ready(&fixture);
  ask(&fixture, "A8"); // layers in one set only: joined by their place in the observation
  assert_int_equal(fixture.tables[0].row_count, 3);
  ASSERT_NEAR(fixture_number(&fixture, 0, "flops"), 100);
  ASSERT_NEAR(fixture_number(&fixture, 0, "layer_index"), 208);
  ASSERT_NEAR(fixture_number(&fixture, 1, "flops"), 200);
  ASSERT_NEAR(fixture_number(&fixture, 2, "flops"), NAN);
  assert_true(fixture_has_note(&fixture, "50 % of the kernels' time lacks metrics"));
  ask(&fixture, "A10");
  assert_string_equal(fixture_text(&fixture, 0, "kernel_name"), "b");
  ASSERT_NEAR(fixture_number(&fixture, 0, "flops"), NAN);
  ASSERT_NEAR(fixture_number(&fixture, 1, "flops"), 100);
  ask(&fixture, "A11");
  ASSERT_NEAR(fixture_number(&fixture, 0, "flops"), NAN);
  fixture_done(&fixture);
}

// A pass counts two precisions, and each run has one pass: neither has all flops.
static void test_precisions_of_different_runs_add_up(void **unused)
{
  (void)unused;
  static const char *const passes[2][2] = {{"flops_tensor", "flops_single"}, {"flops_half", "flops_double"}};
  struct fixture fixture;
  fixture_start(&fixture);
  for (int run = 0; run < 3; run++) {
    fixture_run(&fixture, run == 0 ? "M/K" : "M/K+metrics", 1);
    int64_t start = fixture.now_ns;
    fixture_model(&fixture, 10 * MS, false);
    int64_t id = fixture_kernel_named(&fixture, "a", start + 2000, start + 3000, 1000);
    for (int p = 0; run > 0 && p < 2; p++)
      fixture_int(&fixture, id, passes[run - 1][p], 1 << (2 * run + p));
  }
  fixture_ready(&fixture);
  static const char *const ids[] = {"A8", "A10", "A15"};
  for (size_t i = 0; i < 3; i++) {
    ask(&fixture, ids[i]);
    ASSERT_NEAR(fixture_number(&fixture, 0, "flops"), 4 + 8 + 16 + 32);
  }
  fixture_done(&fixture);
}

// Two of the three precisions that the GPU counts: their sum is not the kernel's flops, and nothing follows from it.
static void test_some_precisions_are_no_flops(void **unused)
{
  (void)unused;
  for (int runs = 1; runs < 3; runs++) {
    struct fixture fixture;
    fixture_start(&fixture);
    for (int run = 0; run <= runs; run++) {
      fixture_run(&fixture, run == 0 ? "M/K" : "M/K+metrics", 1);
      int64_t start = fixture.now_ns;
      fixture_model(&fixture, 10 * MS, false);
      int64_t id = fixture_kernel_named(&fixture, "a", start + 2000, start + 3000, 1000);
      if (run == 0)
        continue;
      fixture_int(&fixture, id, "flops_precisions", 3);
      fixture_int(&fixture, id, "dram_read_bytes", 10);
      fixture_int(&fixture, id, "dram_write_bytes", 10);
      fixture_int(&fixture, id, run == 1 ? "flops_single" : "flops_tensor", 40);
      if (run == 1)
        fixture_int(&fixture, id, "flops_half", 20);
    }
    fixture_ready(&fixture);
    static const char *const ids[] = {"A8", "A9", "A10", "A15"};
    for (size_t i = 0; i < 4; i++) {
      ask(&fixture, ids[i]);
      ASSERT_NEAR(fixture_number(&fixture, 0, "arithmetic_intensity"), runs == 1 ? NAN : 5);
      ASSERT_NEAR(fixture_number(&fixture, 0, "dram_read_bytes"), 10);
      if (i != 1)
        ASSERT_NEAR(fixture_number(&fixture, 0, "flops"), runs == 1 ? NAN : 100);
      ASSERT_NEAR(fixture_number(&fixture, 0, "metric_coverage_pct"), runs == 1 ? 0 : 100);
      assert_int_equal(fixture_has_note(&fixture, "only flops_half, flops_single were counted"), runs == 1);
    }
    fixture_done(&fixture);
  }
}

// The third precision and the reads come from the slowest of five runs, which the statistic leaves out.
static void test_metrics_of_an_observation_that_is_left_out(void **unused)
{
  (void)unused;
  struct fixture fixture;
  fixture_start(&fixture);
  for (int run = 0; run <= 5; run++) {
    bool is_slowest = run == 3;
    fixture_run(&fixture, run == 0 ? "M/K" : "M/K+metrics", 1);
    int64_t start = fixture.now_ns;
    fixture_model(&fixture, is_slowest ? 20 * MS : (10 + run % 2) * MS, false);
    int64_t id = fixture_kernel_named(&fixture, "a", start + 2000, start + 3000, 1000);
    if (run == 0)
      continue;
    fixture_int(&fixture, id, "flops_precisions", 2);
    fixture_int(&fixture, id, is_slowest ? "flops_tensor" : "flops_single", is_slowest ? 40 : 20);
    if (is_slowest)
      fixture_int(&fixture, id, "dram_read_bytes", 10);
  }
  fixture_ready(&fixture);
  ask(&fixture, "A10");
  ASSERT_NEAR(fixture_number(&fixture, 0, "flops"), 60);
  ASSERT_NEAR(fixture_number(&fixture, 0, "dram_read_bytes"), 10);
  fixture_done(&fixture);
}

// ---- which run answers ----------------------------------------------------------------------------------------------
static void test_one_deep_run_says_so_in_every_row(void **unused)
{
  (void)unused;
  struct fixture fixture;
  fixture_start(&fixture);
  fixture_run(&fixture, "M/L/K+metrics", 4);
  fixture_model(&fixture, 10 * MS, false);
  fixture_layer(&fixture, &conv, 1000, 2 * MS);
  fixture_int(&fixture, fixture_kernel(&fixture, 2000, 3000, 1000, "kernel"), "flops", 5);
  fixture_int(&fixture, fixture_kernel(&fixture, 2100, 5000, 1000, "kernel"), "flops", 6);
  fixture_ready(&fixture);
  static const char *const ids[] = {"A8", "A10", "A11", "A13", "A15"};
  for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
    ask(&fixture, ids[i]);
    assert_string_equal(fixture_text(&fixture, 0, "latency_from"), "M/L/K+metrics");
    assert_true(fixture_has_note(&fixture, "overhead of the deeper levels is included"));
  }
  ask(&fixture, "A8");
  ASSERT_NEAR(fixture_number(&fixture, 0, "flops"), 5);
  ask(&fixture, "A11");
  assert_string_equal(fixture_text(&fixture, 0, "layer_latency_from"), "M/L/K+metrics");
  assert_string_equal(fixture_text(&fixture, 0, "model_latency_from"), "M/L/K+metrics");
  ASSERT_NEAR(fixture_number(&fixture, 0, "latency_pct"), 0.02);
  fixture_done(&fixture);
}

static void test_sets_by_use(void **unused)
{
  (void)unused;
  struct fixture fixture;
  fixture_start(&fixture);
  static const char *const sets[] = {"M/K", "M/L/K", "M", "M/K+metrics", "K"};
  for (int i = 0; i < 5; i++) {
    fixture_run(&fixture, sets[i], 2);
    int64_t start = fixture.now_ns;
    if (i != 4)
      fixture_model(&fixture, (10 + i) * MS, false);
    if (i == 1)
      fixture_layer(&fixture, &conv, start + 1000, 2 * MS);
    if (i != 2)
      fixture_kernel(&fixture, start + 2000, start + 3000, 1000 + i, "kernel");
  }
  fixture_run(&fixture, "M/K@serial", 3);
  int64_t serial_start = fixture.now_ns;
  fixture_model(&fixture, MS, false);
  fixture_kernel(&fixture, serial_start + 2000, serial_start + 3000, 1000, "kernel");
  fixture_ready(&fixture);
  fixture.request.batch = 3;
  assert_int_equal(fixture_ask(&fixture, "A8"), STATUS_NO); // a serialised set answers for nothing
  fixture.request.batch = 0;
  ask(&fixture, "A8");
  ASSERT_NEAR(fixture_number(&fixture, 0, "latency_ms"), 1001 / 1e6);
  assert_string_equal(fixture.tables[0].levels, "M/L/K");
  ask(&fixture, "A10");
  ASSERT_NEAR(fixture_number(&fixture, 0, "latency_pct"), 1001 / 12e6 * 100);
  ask(&fixture, "A15");
  ASSERT_NEAR(fixture_number(&fixture, 0, "kernel_latency_ms"), 1000 / 1e6);
  ASSERT_NEAR(fixture_number(&fixture, 0, "model_latency_ms"), 12);
  assert_string_equal(fixture.tables[0].levels, "M/K");
  assert_false(fixture_has_column(&fixture, "latency_from"));
  assert_false(fixture_has_column(&fixture, "model_latency_from"));
  fixture_done(&fixture);
}

static void test_kernels_without_a_model(void **unused)
{
  (void)unused;
  struct fixture fixture;
  fixture_start(&fixture);
  fixture_run(&fixture, "K", 0);
  fixture_kernel(&fixture, 2000, 3000, 1000, "kernel");
  fixture_kernel(&fixture, 2500, 5000, 2000, "kernel");
  fixture_ready(&fixture);
  ask(&fixture, "A8");
  assert_int_equal(fixture.tables[0].row_count, 2);
  ask(&fixture, "A10");
  assert_int_equal(fixture.tables[0].row_count, 1);
  assert_true(fixture_number(&fixture, 0, "kernels_pct") == 100);
  assert_true(isnan(fixture_number(&fixture, 0, "latency_pct")));
  ask(&fixture, "A15");
  assert_true(fixture_number(&fixture, 0, "gpu_latency_ms") == 0.003);
  assert_true(isnan(fixture_number(&fixture, 0, "model_latency_ms")));
  assert_int_equal(fixture_ask(&fixture, "A11"), STATUS_NO);
  assert_int_equal(fixture_ask(&fixture, "A13"), STATUS_NO);
  fixture_done(&fixture);
}

static void test_files_without_kernels(void **unused)
{
  (void)unused;
  struct fixture fixture;
  fixture_start(&fixture);
  fixture_run(&fixture, "M/L", 1);
  fixture_model(&fixture, 10 * MS, false);
  fixture_layer(&fixture, &conv, 1000, 2 * MS);
  fixture_ready(&fixture);
  static const char *const ids[] = {"A8", "A10", "A11", "A13", "A15"};
  for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
    assert_int_equal(fixture_ask(&fixture, ids[i]), STATUS_NO);
    assert_non_null(strstr(fixture.error.why, "kernel level"));
  }
  fixture_done(&fixture);
}

// ---- GPU and non-GPU ------------------------------------------------------------------------------------------------
static void test_unions_of_device_work(void **unused)
{
  (void)unused;
  struct fixture fixture;
  fixture_start(&fixture);
  fixture_run(&fixture, "M", 1);
  fixture_model(&fixture, 9 * MS, false);
  fixture_run(&fixture, "M/L", 1);
  int64_t start = fixture.now_ns;
  fixture_model(&fixture, 10 * MS, false);
  fixture_layer(&fixture, &conv, start + 1000, 20000);
  fixture_layer(&fixture, &relu, start + 4 * MS, 900);
  fixture_run(&fixture, "M/L/K", 1);
  start = fixture.now_ns;
  fixture_model(&fixture, 11 * MS, false);
  fixture_layer(&fixture, &conv, start + 1000, 30000);
  fixture_layer(&fixture, &relu, start + 4 * MS, 9000);
  fixture_kernel(&fixture, start + 2000, start + 100000, 4000, "kernel"); // 0 … 4
  fixture_kernel(&fixture, start + 2100, start + 101000, 1000, "kernel"); // inside
  fixture_kernel(&fixture, start + 2200, start + 103000, 3000, "memcpy"); // 3 … 6
  fixture_kernel(&fixture, start + 2300, start + 110000, 500, "memset");
  fixture_kernel(&fixture, start + 2400, start + 120000, 700, "sync"); // is no work
  fixture_kernel(&fixture, start + 4 * MS + 100, start + 105000, 1000, "kernel");
  fixture_kernel(&fixture, start + 8 * MS, start + 130000, 300, "kernel"); // in no layer
  fixture_ready(&fixture);
  ask(&fixture, "A13"); // all kernels run after their layers returned
  assert_string_equal(fixture_summary_text(&fixture, "latency_basis"), "device");
  ASSERT_NEAR(fixture_summary(&fixture, "asynchronous_pct"), 8.5 / 9.5 * 100); // that of relu ran before it
  ASSERT_NEAR(fixture_number(&fixture, 0, "gpu_latency_ms"), 0.0065);
  ASSERT_NEAR(fixture_number(&fixture, 0, "non_gpu_latency_ms"), 0.030); // no device works meanwhile
  ASSERT_NEAR(fixture_number(&fixture, 0, "layer_latency_ms"), 0.0365);
  ASSERT_NEAR(fixture_number(&fixture, 1, "layer_latency_ms"), 0.010);
  ASSERT_NEAR(fixture_summary(&fixture, "layer_sum_ms"), 0.0465);
  ASSERT_NEAR(fixture_summary(&fixture, "gpu_sum_ms"), 0.0075);
  ASSERT_NEAR(fixture_summary(&fixture, "non_gpu_sum_ms"), 0.039);
  ask(&fixture, "A2");
  ASSERT_NEAR(fixture_number(&fixture, 0, "latency_ms"), 0.0365);
  ASSERT_NEAR(fixture_number(&fixture, 0, "host_ms"), 0.030);
  ASSERT_NEAR(fixture_summary(&fixture, "model_latency_ms"), 11); // of the same runs
  ASSERT_NEAR(fixture_summary(&fixture, "covered_ms"), 0.0455); // 30 and 9 on the host, 0 … 6, 105 … 106, 110 … 110.5
  ASSERT_NEAR(fixture_summary(&fixture, "outside_layers_ms"), 11 - 0.0455);
  fixture.request.asynchronous_threshold_pct = 100;
  ask(&fixture, "A2");
  assert_string_equal(fixture_summary_text(&fixture, "latency_basis"), "host");
  fixture.request.asynchronous_threshold_pct = 5;
  fixture.request.latency_basis = "host";
  ask(&fixture, "A13");
  ASSERT_NEAR(fixture_number(&fixture, 0, "layer_latency_ms"), 0.020);
  ASSERT_NEAR(fixture_number(&fixture, 0, "kernel_latency_ms"), 0.005);
  ASSERT_NEAR(fixture_number(&fixture, 0, "gpu_latency_ms"), 0.0065);
  ASSERT_NEAR(fixture_number(&fixture, 0, "non_gpu_latency_ms"), 0.0135);
  ASSERT_NEAR(fixture_number(&fixture, 0, "gpu_pct"), 32.5);
  ASSERT_NEAR(fixture_number(&fixture, 1, "gpu_latency_ms"), 0.001);
  ASSERT_NEAR(fixture_number(&fixture, 1, "non_gpu_latency_ms"), NAN); // 0.9 us less 1 us
  ASSERT_NEAR(fixture_number(&fixture, 1, "gpu_pct"), 1000 / 900.0 * 100);
  assert_true(fixture_has_note(&fixture, "1 of 2 layers"));
  ASSERT_NEAR(fixture_summary(&fixture, "kernels_without_layer"), 1);
  ASSERT_NEAR(fixture_summary(&fixture, "kernels_without_layer_ms"), 0.0003);
  ask(&fixture, "A15");
  ASSERT_NEAR(fixture_number(&fixture, 0, "kernel_latency_ms"), 0.0063);
  ASSERT_NEAR(fixture_number(&fixture, 0, "gpu_latency_ms"), 0.0068);
  ASSERT_NEAR(fixture_number(&fixture, 0, "non_gpu_latency_ms"), 9 - 0.0068);
  ASSERT_NEAR(fixture_number(&fixture, 0, "gpu_pct"), 0.0063 / 9 * 100);
  fixture_done(&fixture);
}

static void test_several_batch_sizes(void **unused)
{
  (void)unused;
  struct fixture fixture;
  fixture_start(&fixture);
  for (int batch = 1; batch <= 4; batch *= 2) {
    fixture_run(&fixture, "M", batch);
    fixture_model(&fixture, batch * 10 * MS, false);
    if (batch == 2)
      continue; // without kernels
    fixture_run(&fixture, "M/K", batch);
    int64_t start = fixture.now_ns;
    fixture_model(&fixture, batch * 11 * MS, false);
    fixture_kernel_named(&fixture, "small", start + 100, start + 1000, 100);
    fixture_kernel_named(&fixture, batch == 1 ? "gemm_32" : "gemm_128", start + 200, start + 2000, batch * MS);
  }
  fixture_ready(&fixture);
  ask(&fixture, "A15");
  assert_int_equal(fixture.tables[0].row_count, 2);
  ASSERT_NEAR(fixture_number(&fixture, 1, "batch_size"), 4);
  ASSERT_NEAR(fixture_number(&fixture, 1, "gpu_pct"), 4000100 / 40e6 * 100);
  assert_int_equal(fixture.tables[0].batch_size, 0);
  fixture.request.by = "batch";
  ask(&fixture, "A10");
  assert_int_equal(fixture.tables[0].row_count, 4);
  ASSERT_NEAR(fixture_number(&fixture, 0, "batch_size"), 1);
  assert_string_equal(fixture_text(&fixture, 0, "kernel_name"), "gemm_32");
  assert_string_equal(fixture_text(&fixture, 2, "kernel_name"), "gemm_128");
  ASSERT_NEAR(fixture_number(&fixture, 2, "latency_pct"), 10);
  ASSERT_NEAR(fixture_number(&fixture, 2, "kernels_pct"), 4 / 4.0001 * 100);
  ASSERT_NEAR(fixture_number(&fixture, 2, "max_ms"), 4);
  ASSERT_NEAR(fixture_number(&fixture, 3, "count"), 1);
  fixture.request.batch = 4;
  ask(&fixture, "A10");
  assert_int_equal(fixture.tables[0].row_count, 2);
  fixture.request.batch = 2;
  assert_int_equal(fixture_ask(&fixture, "A10"), STATUS_NO);
  fixture.request.batch = 0;
  fixture.request.by = "layer";
  assert_int_equal(fixture_ask(&fixture, "A10"), STATUS_USE);
  fixture.request.by = NULL;
  fixture.request.batch = 4;
  ask(&fixture, "A15");
  assert_int_equal(fixture.tables[0].row_count, 1);
  fixture_done(&fixture);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_same_names_never_pool),
      cmocka_unit_test(test_metrics_by_names_of_cupti),
      cmocka_unit_test(test_what_is_not_measured_is_null),
      cmocka_unit_test(test_a_kernel_that_metric_runs_lack),
      cmocka_unit_test(test_precisions_of_different_runs_add_up),
      cmocka_unit_test(test_some_precisions_are_no_flops),
      cmocka_unit_test(test_metrics_of_an_observation_that_is_left_out),
      cmocka_unit_test(test_one_deep_run_says_so_in_every_row),
      cmocka_unit_test(test_sets_by_use),
      cmocka_unit_test(test_kernels_without_a_model),
      cmocka_unit_test(test_files_without_kernels),
      cmocka_unit_test(test_unions_of_device_work),
      cmocka_unit_test(test_several_batch_sizes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
