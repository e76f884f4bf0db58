// SPDX-License-Identifier: Apache-2.0
// Questions that share a cache: an experiment is loaded once, layers are paired and work is counted once, and each answer is the
// one without a cache.
#include "analyze/test_fixture.h"
#include "analyze/view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MS 1000000

static double latency_ms(struct fixture *fixture, const char *statistic, int64_t batch)
{
  fixture->request.statistic = statistic;
  fixture->request.batch = batch;
  assert_int_equal(fixture_ask(fixture, "A2"), STATUS_OK);
  return fixture_number(fixture, 0, "latency_ms");
}

static void test_an_experiment_is_loaded_once(void **unused)
{
  (void)unused;
  struct fixture fixture;
  fixture_start(&fixture);
  for (int64_t batch = 1; batch <= 2; batch++) {
    fixture_run(&fixture, "M/L", batch);
    for (int i = 1; i <= 3; i++) { // a layer that takes batch * 1, 2 and 6 ms
      int64_t start_ns = fixture.now_ns;
      fixture_model(&fixture, 20 * MS, false);
      fixture_layer(&fixture, &(struct fixture_layer){.name = "conv", .index = 0, .alloc_bytes = UNKNOWN_BYTES},
                    start_ns + MS, batch * (i == 3 ? 6 : i) * MS);
    }
  }
  fixture_ready(&fixture);
  struct analyze_cache cache = {.bytes_most = 0}; // layer rows do not stay
  fixture.request.cache = &cache;
  ASSERT_NEAR(latency_ms(&fixture, "mean", 1), 3);
  size_t loaded_bytes = cache.lasting.used_bytes;
  assert_true(loaded_bytes > 0);
  ASSERT_NEAR(latency_ms(&fixture, "median", 1), 2);
  ASSERT_NEAR(latency_ms(&fixture, "max", 2), 12);
  ASSERT_NEAR(latency_ms(&fixture, "mean", 2), 6);
  fixture.request.cold = true; // there are no cold runs: none of the shared ones is taken
  assert_int_equal(fixture_ask(&fixture, "A2"), STATUS_NO);
  fixture.request.cold = false;
  ASSERT_NEAR(latency_ms(&fixture, "mean", 1), 3);
  assert_int_equal(cache.lasting.used_bytes, loaded_bytes);
  analyze_cache_done(&cache);
  fixture_done(&fixture);
}

static void test_work_is_counted_once(void **unused)
{
  (void)unused;
  struct fixture fixture;
  fixture_start(&fixture);
  fixture_run(&fixture, "M/L", 2);
  for (int i = 0; i < 3; i++) {
    int64_t start_ns = fixture.now_ns;
    fixture_model(&fixture, 10 * MS, false);
    fixture_layer(&fixture, &(struct fixture_layer){"Gemm", "Gemm", "[2,10]", NULL, -1, UNKNOWN_BYTES}, start_ns, MS);
    fixture_words(&fixture, fixture.span_id, "input_shape", "[2,50] [50,10] [10]");
  }
  fixture_ready(&fixture);
  struct analyze_cache cache = {.bytes_most = SIZE_MAX};
  fixture.request.cache = &cache;
  assert_int_equal(fixture_ask(&fixture, "A14"), STATUS_OK);
  ASSERT_NEAR(fixture_number(&fixture, 0, "analytic_flops"), 2020);
  const struct counted_rows *counted = cache.shared->counted;
  const struct paired_layers *paired = cache.shared->paired;
  assert_true(counted != NULL && paired != NULL);
  fixture.request.statistic = "median";
  assert_int_equal(fixture_ask(&fixture, "A14"), STATUS_OK);
  ASSERT_NEAR(fixture_number(&fixture, 0, "analytic_flops"), 2020);
  assert_ptr_equal(cache.shared->counted, counted); // else the newest comes first
  assert_ptr_equal(cache.shared->paired, paired);
  analyze_cache_done(&cache);
  fixture_done(&fixture);
}

// The cause's first sentence and the table of findings.
static void test_rules_are_asked_once(void **unused)
{
  (void)unused;
  struct fixture fixture;
  struct cause *causes;
  size_t count;
  fixture_start(&fixture);
  fixture_run(&fixture, "M/L", 4);
  for (int i = 0; i < 3; i++) {
    int64_t start_ns = fixture.now_ns;
    fixture_model(&fixture, 10 * MS, false);
    fixture_layer(&fixture, &(struct fixture_layer){"copy_", NULL, NULL, NULL, -1, UNKNOWN_BYTES}, start_ns, 9 * MS);
  }
  fixture_ready(&fixture);
  assert_int_equal(fixture_ask(&fixture, "findings"), STATUS_OK);
  struct table alone = fixture.tables[0];
  assert_true(alone.row_count > 0);
  struct analyze_cache cache = {.findings_follow = true};
  fixture.request.cache = &cache;
  assert_int_equal(analyze_causes(&fixture.store, 1, &fixture.request, &fixture.arena, &causes, &count, &fixture.error),
                   STATUS_OK);
  const struct kept_findings *kept = cache.findings[0];
  assert_non_null(kept);
  fixture.request.batch = 4; // which the cause has found by itself
  size_t lasting_bytes = cache.lasting.used_bytes;
  assert_int_equal(fixture_ask(&fixture, "findings"), STATUS_OK);
  assert_int_equal(cache.lasting.used_bytes, lasting_bytes);
  assert_int_equal(fixture.tables[0].row_count, alone.row_count);
  assert_int_equal(fixture.tables[0].batch_size, 4);
  for (size_t row = 0; row < alone.row_count; row++)
    assert_string_equal(fixture_text(&fixture, row, "title"),
                        fixture_text(&(struct fixture){.tables = &alone}, row, "title"));
  fixture.request.least_gain_pct = 101; // another question
  assert_int_equal(fixture_ask(&fixture, "findings"), STATUS_OK);
  assert_int_equal(fixture.tables[0].row_count, 0);
  assert_ptr_equal(cache.findings[0], kept);
  analyze_cache_done(&cache);
  fixture_done(&fixture);
}

static void take_headway(void *context, uint64_t done, uint64_t total)
{
  uint64_t *told = context;
  told[0] |= UINT64_C(1) << done;
  told[1] = total;
}

static void test_runs_that_are_read_are_watched(void **unused)
{
  (void)unused;
  struct fixture fixture;
  uint64_t told[2] = {0};
  fixture_start(&fixture);
  for (int i = 0; i < 3; i++) {
    int64_t start_ns = fixture.now_ns;
    fixture_run(&fixture, "M/L", 1);
    fixture_model(&fixture, 10 * MS, false);
    fixture_layer(&fixture, &(struct fixture_layer){"conv", NULL, NULL, NULL, -1, UNKNOWN_BYTES}, start_ns, 9 * MS);
  }
  fixture_ready(&fixture);
  fixture.request.run_watcher = (struct headway_watcher){take_headway, told};
  assert_int_equal(fixture_ask(&fixture, "A2"), STATUS_OK);
  assert_int_equal(told[0], 7); // each of the three
  assert_int_equal(told[1], 3);
  fixture_done(&fixture);
}

static void test_an_unknown_analysis_names_all(void **unused)
{
  (void)unused;
  struct fixture fixture;
  fixture_start(&fixture);
  fixture_run(&fixture, "M", 1);
  fixture_ready(&fixture);
  assert_int_equal(fixture_ask(&fixture, "A99"), STATUS_USE);
  for (size_t i = 0; analyses[i] != NULL; i++)
    assert_non_null(strstr(fixture.error.why, analyses[i]->id));
  fixture_done(&fixture);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_an_experiment_is_loaded_once), cmocka_unit_test(test_work_is_counted_once),
      cmocka_unit_test(test_rules_are_asked_once), cmocka_unit_test(test_runs_that_are_read_are_watched),
      cmocka_unit_test(test_an_unknown_analysis_names_all)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
