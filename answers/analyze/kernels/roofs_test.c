// SPDX-License-Identifier: Apache-2.0
// Roofs: which GPU a name means, what a run's system values say, and points under a roof, the papers' among them.
#include "analyze/kernels/roofs.h"

#include "analyze/kernels/systems.h"
#include "analyze/test_fixture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static double single_of(const char *gpu)
{
  const struct system_peaks *peaks = analyze_systems_find(gpu);
  return peaks == NULL ? 0 : peaks->single;
}

static void test_names_of_gpus(void **unused)
{
  (void)unused;
  static const struct {
    const char *name;
    double single, bandwidth;
  } cases[] = {
      {"Quadro RTX 6000", 16.3, 624}, // XSP Table VII
      {"Tesla V100-SXM2-16GB", 15.7, 900},
      {"Tesla P100-PCIE-16GB", 9.3, 732},
      {"Tesla P4", 5.5, 192},
      {"Tesla M60", 4.8, 160},
      {"Tesla_V100", 15.7, 900},
      {"Quadro_RTX", 16.3, 624},
      {"Tesla V100-DGXS-32GB", 15.7, 900},
      {"Tesla V100-PCIE-32GB", 14, 900},
      {"NVIDIA A100-SXM4-40GB", 19.5, 1555},
      {"A100-SXM4-40GB", 19.5, 1555},
      {"NVIDIA A100-PG509-200", 19.5, 1555},
      {"NVIDIA A100-SXM4-80GB", 19.5, 2039},
      {"NVIDIA A100 80GB PCIe", 19.5, 1935},
      {"nvidia a100-pcie-40gb", 19.5, 1555},
      {"NVIDIA H100 80GB HBM3", 67, 3350},
      {"NVIDIA H100 PCIe", 51, 2000},
      {"NVIDIA H100 NVL", 60, 3900},
      {"NVIDIA H200", 67, 4800},
      {"AMD Instinct MI250X", 23.95, 1638.4},
      {"AMD Instinct MI250", 22.65, 1638.4},
      {"AMD Instinct(TM) MI300X", 163.4, 5300},
      {"AMD Instinct MI300A", 122.6, 5300},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const struct system_peaks *peaks = analyze_systems_find(cases[i].name);
    if (peaks == NULL || peaks->single != cases[i].single || peaks->bandwidth != cases[i].bandwidth)
      fail_msg("%s", cases[i].name);
  }
}

static void test_names_that_say_too_little(void **unused)
{
  (void)unused;
  static const char *const names[] = {
      "AMD Radeon Graphics",
      "NVIDIA GeForce RTX 4090",
      "NVIDIA GeForce P4",
      "NVIDIA GeForce RTX 3060 Laptop GPU",
      "Quadro RTX 6000 with Max-Q Design",
      "Quadro RTX 6000/8000",
      "NVIDIA RTX 6000 Ada Generation",
      "NVIDIA A100-SXM4-40GB MIG 1g.5gb",
      "NVIDIA A100",
      "NVIDIA H100",
      "NVIDIA H1000",
      "NVIDIA A10",
      "AMD Instinct MI250X/MI250",
      "AMD Instinct MI300",
      "Tesla P40",
      "NVIDIA Tesla",
      "NVIDIA",
      "H100 80GB HBM3 but longer than any name of a GPU that was ever seen anywhere",
      "  ",
      "",
  };
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (single_of(names[i]) != 0)
      fail_msg("%s", names[i]);
  assert_null(analyze_systems_find(NULL));
}

// ---- what a run says ------------------------------------------------------------------------------------------------
static struct roofs load(struct fixture *fixture, const struct store_system_value *values, size_t count)
{
  struct roofs roofs;
  struct store_experiment *experiments;
  size_t experiment_count;
  fixture_start(fixture);
  fixture_experiment_on(fixture, "second", values, count);
  assert_int_equal(store_experiments(fixture->store, &fixture->arena, &experiments, &experiment_count, &fixture->error),
                   STATUS_OK);
  assert_int_equal(experiment_count, 2);
  struct view view = {.store = fixture->store, .experiment = &experiments[1]};
  struct question question = {.view = &view, .arena = &fixture->arena};
  assert_int_equal(roofs_load(&question, &roofs, &fixture->error), STATUS_OK);
  return roofs;
}

#define NUMBER(key, value)                                                                                             \
  {                                                                                                                    \
    key, NULL, value, true                                                                                             \
  }
#define TEXT(key, value)                                                                                               \
  {                                                                                                                    \
    key, value, 0, false                                                                                               \
  }

static void test_recorded_figures_win(void **unused)
{
  (void)unused;
  struct fixture fixture;
  const struct store_system_value values[] = {
      TEXT("gpu", "Tesla V100-SXM2-16GB"),
      NUMBER("peak_flops_per_s", 14e12),
      NUMBER("peak_flops_per_s.half", 30e12),
      NUMBER("peak_flops_per_s.double", -1),
  };
  struct roofs roofs = load(&fixture, values, 4);
  ASSERT_NEAR(roofs.of[PRECISION_SINGLE].peak_flops_per_s, 14e12);
  ASSERT_NEAR(roofs.of[PRECISION_HALF].peak_flops_per_s, 30e12);
  ASSERT_NEAR(roofs.of[PRECISION_DOUBLE].peak_flops_per_s, 7.8e12); // a negative rate is no rate
  ASSERT_NEAR(roofs.of[PRECISION_TENSOR].peak_flops_per_s, 125e12);
  ASSERT_NEAR(roofs.of[PRECISION_SINGLE].memory_bandwidth_bytes_per_s, 900e9);
  ASSERT_NEAR(roofs.of[PRECISION_SINGLE].ideal_arithmetic_intensity, 14e12 / 900e9);
  assert_string_equal(roofs.source, "recorded");
  assert_string_equal(roofs.device, "Tesla V100-SXM2-16GB");
  fixture_done(&fixture);
}

static void test_the_table_answers_where_nothing_is_recorded(void **unused)
{
  (void)unused;
  struct fixture fixture;
  const struct store_system_value gpu[] = {TEXT("gpu", "NVIDIA H200")};
  struct roofs roofs = load(&fixture, gpu, 1);
  ASSERT_NEAR(roofs.of[PRECISION_SINGLE].ideal_arithmetic_intensity, 67e12 / 4.8e12);
  assert_string_equal(roofs.source, "NVIDIA H200 data sheet");
  fixture_done(&fixture);
}

static void test_an_unknown_machine_has_no_roof(void **unused)
{
  (void)unused;
  struct fixture fixture;
  const struct store_system_value values[] = {TEXT("gpu", "AMD Radeon Graphics"), TEXT("peak_flops_per_s", "fast")};
  struct roofs roofs = load(&fixture, values, 2);
  assert_null(roofs.source);
  assert_null(roofs.of[PRECISION_SINGLE].precision);
  ASSERT_NEAR(roofs.of[PRECISION_SINGLE].ideal_arithmetic_intensity, NAN);
  assert_null(roof_bound(&roofs.of[PRECISION_SINGLE], 1));
  fixture_done(&fixture);
}

static void test_a_measured_machine(void **unused)
{
  (void)unused;
  struct fixture fixture;
  const struct store_system_value values[] = {
      TEXT("peak_flops_per_s", "2e11"), // a source that has text only
      NUMBER("memory_bandwidth_bytes_per_s", 4e10),
      TEXT("peak_source", "measured"),
  };
  struct roofs roofs = load(&fixture, values, 3);
  ASSERT_NEAR(roofs.of[PRECISION_SINGLE].ideal_arithmetic_intensity, 5);
  assert_string_equal(roofs.source, "measured");
  fixture_done(&fixture);
}

static void test_the_precision_that_did_most(void **unused)
{
  (void)unused;
  struct fixture fixture;
  const struct store_system_value gpu[] = {TEXT("gpu", "Tesla P4")}; // single is all that is known
  struct roofs p4 = load(&fixture, gpu, 1);
  fixture_done(&fixture);
  const struct store_system_value v100[] = {TEXT("gpu", "Tesla V100-SXM2-16GB")};
  struct roofs roofs = load(&fixture, v100, 1);
  const double none[] = {NAN, NAN, NAN, NAN};
  const double half[] = {5, 4, NAN, 0};
  const double tensor[] = {5, 4, 1, 6};
  const double tie[] = {NAN, 4, 4, NAN};
  assert_string_equal(roofs_choose(&roofs, NULL)->precision, "single");
  assert_string_equal(roofs_choose(&roofs, none)->precision, "single");
  assert_string_equal(roofs_choose(&roofs, tie)->precision, "single");
  assert_string_equal(roofs_choose(&roofs, half)->precision, "half");
  assert_string_equal(roofs_choose(&roofs, tensor)->precision, "tensor");
  assert_string_equal(roofs_choose(&p4, tensor)->precision, "single");
  fixture_done(&fixture);
}

// ---- points ---------------------------------------------------------------------------------------------------------
static const struct roof v100 = {"single", 15.7e12, 900e9, 15.7e12 / 900e9};

static void near_print(double value, double printed)
{
  if (!(fabs(value - printed) <= 0.002 * printed))
    fail_msg("%g instead of %g", value, printed);
}

// XSP Tables III to V: Gflop, MiB read and written, ms → flops per byte, Tflop/s.
static void test_the_papers_points(void **unused)
{
  (void)unused;
  static const struct {
    double gflop, read, write, ms, intensity, tflops;
    const char *bound;
  } cases[] = {
      {77.42, 40.33, 43.86, 6.04, 876.97, 12.82, "compute"},
      {77.42, 43.93, 43.81, 6.03, 841.59, 12.83, "compute"},
      {59.20, 27.71, 8.40, 5.48, 1563.30, 10.80, "compute"},
      {62.89, 11.55, 283.05, 4.91, 203.58, 12.81, "compute"},
      {59.24, 34.83, 37.64, 4.56, 779.55, 12.99, "compute"},
      {1053.63, 4429.64, 5494.22, 84.95, 101.25, 12.40, "compute"},
      {276.64, 671.68, 335.01, 23.02, 262.08, 12.02, "compute"},
      {79.74, 362.67, 548.50, 7.45, 83.46, 10.70, "compute"},
      {79.74, 368.11, 551.70, 7.43, 82.68, 10.73, "compute"},
      {59.20, 36.51, 17.99, 5.55, 1036.10, 10.67, "compute"},
      {62.89, 11.55, 284.21, 4.91, 202.78, 12.80, "compute"},
      {59.22, 76.65, 21.36, 4.57, 576.17, 12.94, "compute"},
  };
  near_print(v100.ideal_arithmetic_intensity, 17.44);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    double flops = cases[i].gflop * 1e9;
    double bytes = (cases[i].read + cases[i].write) * 1048576;
    double intensity = roof_intensity(flops, bytes);
    near_print(intensity, cases[i].intensity);
    near_print(roof_throughput_flops_per_s(flops, cases[i].ms) / 1e12, cases[i].tflops);
    assert_string_equal(roof_bound(&v100, intensity), cases[i].bound);
    assert_false(roof_is_latency_bound(&v100, flops, bytes, cases[i].ms, 5).value.truth);
    assert_false(roof_is_exceeded(&v100, intensity, flops / cases[i].ms * 1e3).value.truth);
  }
  // Printed with two digits only: 0.26 and 0.10.
  double intensity = roof_intensity(2.85e9, (4181.23 + 6371.12) * 1048576);
  assert_true(fabs(intensity - 0.26) < 0.005);
  assert_true(fabs(roof_throughput_flops_per_s(2.85e9, 28.43) / 1e12 - 0.10) < 0.005);
  assert_string_equal(roof_bound(&v100, intensity), "memory");
}

static void test_edges(void **unused)
{
  (void)unused;
  const struct roof nothing = {NULL, NAN, NAN, NAN};
  ASSERT_NEAR(roof_intensity(0, 100), 0);
  assert_string_equal(roof_bound(&v100, 0), "memory"); // scalar_max_op: no flops
  assert_string_equal(roof_bound(&v100, v100.ideal_arithmetic_intensity), "compute");
  ASSERT_NEAR(roof_intensity(0, 0), NAN);
  ASSERT_NEAR(roof_intensity(5, 0), NAN);
  ASSERT_NEAR(roof_intensity(NAN, 5), NAN);
  ASSERT_NEAR(roof_throughput_flops_per_s(5, 0), NAN);
  assert_null(roof_bound(&v100, NAN));
  assert_null(roof_bound(&nothing, 5));

  // 1 ms at 5 % of the peaks: 0.785 Gflop, 45 MB.
  assert_true(roof_is_latency_bound(&v100, 0.784e9, 44.9e6, 1, 5).value.truth);
  assert_false(roof_is_latency_bound(&v100, 0.786e9, 44.9e6, 1, 5).value.truth);
  assert_false(roof_is_latency_bound(&v100, 0.784e9, 45.1e6, 1, 5).value.truth);
  assert_true(roof_is_latency_bound(&v100, 0.786e9, 44.9e6, 1, 6).value.truth);
  assert_false(roof_is_latency_bound(&v100, 3925000, 1, 0.005, 5).value.truth); // 5 %, as doubles 4.999999999999999
  assert_int_equal(roof_is_latency_bound(&v100, NAN, 44.9e6, 1, 5).type, CELL_NULL);
  assert_int_equal(roof_is_latency_bound(&v100, NAN, 45.1e6, 1, 5).type, CELL_BOOL);
  assert_int_equal(roof_is_latency_bound(&v100, 1, 1, 0, 5).type, CELL_NULL);
  assert_int_equal(roof_is_latency_bound(&nothing, 1, 1, 1, 5).type, CELL_NULL);

  assert_true(roof_is_exceeded(&v100, 1, 901e9).value.truth);
  assert_false(roof_is_exceeded(&v100, 1, 900e9).value.truth);
  assert_true(roof_is_exceeded(&v100, 1000, 15.8e12).value.truth);
  assert_false(roof_is_exceeded(&v100, 0, 0).value.truth);
  assert_int_equal(roof_is_exceeded(&nothing, 1, 1).type, CELL_NULL);
  assert_int_equal(roof_is_exceeded(&v100, NAN, 1).type, CELL_NULL);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_names_of_gpus),
      cmocka_unit_test(test_names_that_say_too_little),
      cmocka_unit_test(test_recorded_figures_win),
      cmocka_unit_test(test_the_table_answers_where_nothing_is_recorded),
      cmocka_unit_test(test_an_unknown_machine_has_no_roof),
      cmocka_unit_test(test_a_measured_machine),
      cmocka_unit_test(test_the_precision_that_did_most),
      cmocka_unit_test(test_the_papers_points),
      cmocka_unit_test(test_edges),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
