// SPDX-License-Identifier: Apache-2.0
// The calling context tree's figures, each derived by hand.
#include "correlate/context_metrics.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <xsp/span.h>

#include <cmocka.h>

// program (1) calls conv (2), which calls a kernel's launch (3), which starts the kernel (4); program calls add (5) too.
enum { PROGRAM = 1, CONV, LAUNCH, KERNEL, ADD };
static struct store_context contexts[] = {
    {PROGRAM, 0, 1}, {CONV, PROGRAM, 2}, {LAUNCH, CONV, 3}, {KERNEL, LAUNCH, 4}, {ADD, PROGRAM, 5}};
static const struct store_call_paths paths = {.contexts = contexts, .context_count = 5};

static struct arena arena;
static struct store_context_metric *rows;
static size_t row_count;

static void make_rows(struct context_metrics *metrics)
{
  context_metrics_rows(metrics, 7, &paths, &arena, &rows, &row_count);
  context_metrics_done(metrics);
}

static const struct store_context_metric *find(int64_t context_id, const char *metric)
{
  for (size_t i = 0; i < row_count; i++)
    if (rows[i].context_id == context_id && strcmp(rows[i].metric, metric) == 0)
      return &rows[i];
  return NULL;
}

static void check(int64_t context_id, const char *metric, int64_t count, int64_t sum, int64_t minimum, int64_t maximum,
                  double mean, double variance, int64_t exclusive_sum)
{
  const struct store_context_metric *row = find(context_id, metric);
  assert_non_null(row);
  assert_int_equal(row->run_id, 7);
  assert_int_equal(row->count, count);
  assert_int_equal(row->sum, sum);
  assert_int_equal(row->minimum, minimum);
  assert_int_equal(row->maximum, maximum);
  assert_true(row->mean == mean);
  assert_true(row->variance == variance);
  assert_int_equal(row->exclusive_sum, exclusive_sum);
}

static void test_times(void **state)
{
  (void)state;
  struct context_metrics metrics = {0};
  context_metrics_add_span(&metrics, CONV, CONTEXT_OTHER, XSP_KIND_SYNC, 100); // with a launch of 30 inside
  context_metrics_add_span(&metrics, LAUNCH, CONTEXT_OTHER, XSP_KIND_LAUNCH, 30);
  context_metrics_add_span(&metrics, CONV, CONTEXT_OTHER, XSP_KIND_SYNC, 140); // with one of 40
  context_metrics_add_span(&metrics, LAUNCH, CONTEXT_OTHER, XSP_KIND_LAUNCH, 40);
  context_metrics_add_span(&metrics, KERNEL, CONTEXT_WORK, XSP_KIND_EXECUTION, 500);
  context_metrics_add_span(&metrics, KERNEL, CONTEXT_WORK, XSP_KIND_EXECUTION, 700);
  context_metrics_add_span(&metrics, ADD, CONTEXT_OTHER, XSP_KIND_SYNC, 20);
  make_rows(&metrics);
  // Of 30 and 40: mean 35, variance ((-5)² + 5²) / 2 = 25. Of 100 and 140: mean 120, variance 20² = 400.
  check(LAUNCH, "host_ns", 2, 70, 30, 40, 35, 25, 70);
  check(CONV, "host_ns", 2, 240, 100, 140, 120, 400, 240 - 70);
  check(ADD, "host_ns", 1, 20, 20, 20, 20, 0, 20);
  // The program has no span: the set of its operators, 100, 140 and 20. Σx² = 10000 + 19600 + 400 = 30000, mean 260/3,
  // so that the variance is 10000 - 67600/9.
  const struct store_context_metric *program = find(PROGRAM, "host_ns");
  assert_int_equal(program->count, 3);
  assert_int_equal(program->sum, 260);
  assert_int_equal(program->minimum, 20);
  assert_int_equal(program->maximum, 140);
  assert_true(fabs(program->mean - 260.0 / 3) < 1e-9);
  assert_true(fabs(program->variance - (10000 - 67600.0 / 9)) < 1e-6);
  assert_int_equal(program->exclusive_sum, 0);
  check(KERNEL, "device_ns", 2, 1200, 500, 700, 600, 10000, 1200);
  check(LAUNCH, "device_ns", 2, 1200, 500, 700, 600, 10000, 0);
  check(PROGRAM, "device_ns", 2, 1200, 500, 700, 600, 10000, 0);
  check(LAUNCH, "launches", 2, 2, 1, 1, 1, 0, 2);
  check(PROGRAM, "launches", 2, 2, 1, 1, 1, 0, 0);
  assert_null(find(ADD, "device_ns"));
  assert_null(find(KERNEL, "host_ns"));
  assert_int_equal(row_count,
                   4 + 4 + 3); // host: all but the kernel; device: all but add; launches: all above the kernel
}

static void test_bytes_add_up_and_flops_contain(void **state)
{
  (void)state;
  struct context_metrics metrics = {0};
  context_metrics_add(&metrics, CONV, CONTEXT_BYTES, 64);
  context_metrics_add(&metrics, LAUNCH, CONTEXT_BYTES, 16);
  context_metrics_add(&metrics, CONV, CONTEXT_FLOPS, 1000);
  context_metrics_add(&metrics, LAUNCH, CONTEXT_FLOPS, 600);
  make_rows(&metrics);
  check(CONV, "bytes", 2, 80, 16, 64, 40, 576, 64);
  check(PROGRAM, "bytes", 2, 80, 16, 64, 40, 576, 0);
  check(CONV, "flops", 1, 1000, 1000, 1000, 1000, 0, 400);
  check(PROGRAM, "flops", 1, 1000, 1000, 1000, 1000, 0, 0);
}

static void test_side_by_side(void **state)
{
  (void)state;
  struct context_metrics metrics = {0};
  context_metrics_add_span(&metrics, PROGRAM, CONTEXT_OTHER, XSP_KIND_SYNC, 100); // its operators ran on two threads
  context_metrics_add_span(&metrics, CONV, CONTEXT_OTHER, XSP_KIND_SYNC, 90);
  context_metrics_add_span(&metrics, ADD, CONTEXT_OTHER, XSP_KIND_SYNC, 80);
  make_rows(&metrics);
  check(PROGRAM, "host_ns", 1, 170, 100, 100, 100, 0, 0);
  int64_t exclusive = 0;
  for (size_t i = 0; i < row_count; i++)
    exclusive += rows[i].exclusive_sum;
  assert_int_equal(exclusive, 170);
}

static void test_large_values_stay_at_the_end(void **state)
{
  (void)state;
  struct context_metrics metrics = {0};
  for (int i = 0; i < 8; i++)
    context_metrics_add(&metrics, CONV, CONTEXT_DEVICE_NS, INT64_MAX);
  make_rows(&metrics);
  const struct store_context_metric *row = find(PROGRAM, "device_ns");
  assert_int_equal(row->sum, INT64_MAX);
  assert_int_equal(row->exclusive_sum, 0);
  assert_true(row->variance >= 0);
}

static void test_names_of_samples_are_bounded(void **state)
{
  (void)state;
  struct context_metrics metrics = {0};
  const struct store_tag tag = {.type = STORE_INT, .value.integer = 3};
  char name[32];
  size_t taken = 0;
  for (int i = 0; i < 300; i++) {
    snprintf(name, sizeof name, "samples_%d", i);
    enum context_metric metric = context_metrics_of_tag(&metrics, name);
    taken += metric != CONTEXT_METRIC_NONE;
    if (metric != CONTEXT_METRIC_NONE)
      context_metrics_add_tag(&metrics, KERNEL, CONTEXT_SAMPLES, metric, &tag, NULL);
  }
  assert_int_equal(taken, 256);
  assert_int_equal(context_metrics_of_tag(&metrics, "samples_7"), CONTEXT_METRICS + 7);
  assert_int_equal(context_metrics_of_tag(&metrics, "sample"), CONTEXT_METRIC_NONE);
  make_rows(&metrics);
  check(KERNEL, "samples_255", 1, 3, 3, 3, 3, 0, 3);
  check(PROGRAM, "samples_255", 1, 3, 3, 3, 3, 0, 0);
  assert_null(find(KERNEL, "samples_256"));
}

static int clear(void **state)
{
  (void)state;
  arena_done(&arena);
  return 0;
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(test_times, clear),
      cmocka_unit_test_teardown(test_bytes_add_up_and_flops_contain, clear),
      cmocka_unit_test_teardown(test_side_by_side, clear),
      cmocka_unit_test_teardown(test_large_values_stay_at_the_end, clear),
      cmocka_unit_test_teardown(test_names_of_samples_are_bounded, clear),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
