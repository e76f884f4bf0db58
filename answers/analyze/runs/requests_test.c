// SPDX-License-Identifier: Apache-2.0
// Requests over an experiment with known answers: ranges around predictions, and predictions in none.
#include "analyze/test_fixture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MS 1000000

static struct fixture fixture;

static void range(const char *name, int64_t start_ms, int64_t ms)
{
  (void)fixture_span(&fixture, XSP_LEVEL_APPLICATION, name, start_ms * MS, ms * MS);
}

static void prediction(int64_t start_ms, int64_t ms)
{
  (void)fixture_span(&fixture, XSP_LEVEL_MODEL, "Net", start_ms * MS, ms * MS);
}

// Four requests of 10, 20, 30 and 40 ms, one each 100 ms, all in one range "serve". Each waits 2 ms before its model, which runs twice
// in the last one. Then a prediction without a range.
static void test_ranges(void **unused)
{
  (void)unused;
  fixture_start(&fixture);
  fixture_run(&fixture, "A/M", 1);
  (void)fixture_span_in(&fixture, XSP_LEVEL_APPLICATION, "program", "python3 serve.py", 0, 1000 * MS);
  range("serve", 0, 500);
  for (int i = 0; i < 4; i++) {
    range("POST /predict", 100 * i, 10 * (i + 1));
    range("infer", 100 * i + 1, 8);
    prediction(100 * i + 2, 5);
  }
  prediction(320, 15);
  prediction(600, 7);
  fixture_ready(&fixture);
  assert_int_equal(fixture_ask(&fixture, "requests"), STATUS_OK);
  assert_int_equal(fixture.tables[0].row_count, 2);
  assert_string_equal(fixture_text(&fixture, 0, "request"), "POST /predict");
  ASSERT_NEAR(fixture_number(&fixture, 0, "is_range"), 1);
  ASSERT_NEAR(fixture_number(&fixture, 0, "count"), 4);
  ASSERT_NEAR(fixture_number(&fixture, 0, "requests_per_s"), 4 / 0.34);
  ASSERT_NEAR(fixture_number(&fixture, 0, "threads"), 1);
  ASSERT_NEAR(fixture_number(&fixture, 0, "concurrent"), 100 / 340.0);
  ASSERT_NEAR(fixture_number(&fixture, 0, "mean_ms"), 25);
  ASSERT_NEAR(fixture_number(&fixture, 0, "p50_ms"), 25);
  ASSERT_NEAR(fixture_number(&fixture, 0, "p95_ms"), 38.5);
  ASSERT_NEAR(fixture_number(&fixture, 0, "model_ms"), 35 / 4.0);
  ASSERT_NEAR(fixture_number(&fixture, 0, "before_ms"), 2);
  assert_string_equal(fixture_text(&fixture, 1, "request"), "Net");
  ASSERT_NEAR(fixture_number(&fixture, 1, "count"), 1);
  ASSERT_NEAR(fixture_number(&fixture, 1, "before_ms"), NAN);
  assert_true(fixture_has_note(&fixture, "predictions in no range"));
  fixture_done(&fixture);
}

// Two requests of 50 ms in 150 ms, in each of two runs: the time between runs does not count, and what both have counts once. Each run
// has threads of its own.
static void check_runs(int64_t apart_ms, double together_ms)
{
  fixture_start(&fixture);
  for (int run = 0; run < 2; run++) {
    fixture_run(&fixture, "A/M", 1);
    for (int i = 0; i < 2; i++) {
      range("POST /predict", apart_ms * run + 100 * i, 50);
      prediction(apart_ms * run + 100 * i + 10, 20);
    }
  }
  fixture_ready(&fixture);
  assert_int_equal(fixture_ask(&fixture, "requests"), STATUS_OK);
  assert_int_equal(fixture.tables[0].row_count, 1);
  ASSERT_NEAR(fixture_number(&fixture, 0, "count"), 4);
  ASSERT_NEAR(fixture_number(&fixture, 0, "requests_per_s"), 4000 / together_ms);
  ASSERT_NEAR(fixture_number(&fixture, 0, "concurrent"), 200 / together_ms);
  ASSERT_NEAR(fixture_number(&fixture, 0, "threads"), 2);
  fixture_done(&fixture);
}

static void test_runs(void **unused)
{
  (void)unused;
  check_runs(3600000, 300);
  check_runs(30, 180);
}

static void check_training(unsigned level, const char *category)
{
  fixture_start(&fixture);
  fixture_run(&fixture, "A/M", 1);
  for (int i = 0; i < 4; i++) {
    prediction(100 * i, 50);
    (void)fixture_span_in(&fixture, level, category, "part", 100 * i * MS, 50 * MS);
  }
  fixture_ready(&fixture);
  assert_int_equal(fixture_ask(&fixture, "requests"), STATUS_NO);
  fixture_done(&fixture);
}

static void test_training_has_none(void **unused)
{
  (void)unused;
  check_training(XSP_LEVEL_APPLICATION, "backward");
  check_training(XSP_LEVEL_APPLICATION, "optimizer");
  check_training(XSP_LEVEL_MODEL, "step");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_ranges),
      cmocka_unit_test(test_runs),
      cmocka_unit_test(test_training_has_none),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
