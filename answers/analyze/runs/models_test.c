// SPDX-License-Identifier: Apache-2.0
// A1 and L0 over experiments with known answers: pooling, warm-up, the level rule, overheads.
#include "analyze/test_fixture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <xsp/call_path.h>

#include <cmocka.h>

#define MS 1000000

static void predictions(struct fixture *fixture, const char *levels, int64_t batch, const int64_t *us, size_t count)
{
  fixture_run(fixture, levels, batch);
  for (size_t i = 0; i < count; i++)
    fixture_model(fixture, us[i] * 1000, false);
}

static void test_a1_statistics_per_batch(void **unused)
{
  (void)unused;
  struct fixture fixture;
  fixture_start(&fixture);
  fixture_run(&fixture, "M", 1);
  fixture_model(&fixture, 50 * MS, true); // cold
  fixture_model(&fixture, 20 * MS, true);
  for (int i = 0; i < 5; i++)
    fixture_model(&fixture, (i == 4 ? 100 : 2 + i) * MS, false);
  fixture_run(&fixture, "M", 1); // equal configuration: pooled
  for (int i = 0; i < 5; i++)
    fixture_model(&fixture, (7 + i) * MS, false);
  predictions(&fixture, "M", 2, (const int64_t[]){8000, 8000, 8000}, 3);
  predictions(&fixture, "M", 4, (const int64_t[]){15500, 15500}, 2);
  predictions(&fixture, "M/L", 1, (const int64_t[]){900000}, 1); // is not A1's
  fixture_ready(&fixture);
  assert_int_equal(fixture_ask(&fixture, "a1"), STATUS_OK);
  assert_int_equal(fixture.tables[0].row_count, 3);
  // 2 3 4 5 7 8 9 10 11 100 without two at each end
  ASSERT_NEAR(fixture_number(&fixture, 0, "latency_ms"), (4 + 5 + 7 + 8 + 9 + 10) / 6.0);
  ASSERT_NEAR(fixture_number(&fixture, 0, "throughput_per_s"), 1000 / ((4 + 5 + 7 + 8 + 9 + 10) / 6.0));
  ASSERT_NEAR(fixture_number(&fixture, 0, "n"), 10);
  ASSERT_NEAR(fixture_number(&fixture, 0, "min_ms"), 2);
  ASSERT_NEAR(fixture_number(&fixture, 0, "max_ms"), 100);
  ASSERT_NEAR(fixture_number(&fixture, 1, "cv_pct"), 0);
  ASSERT_NEAR(fixture_number(&fixture, 1, "throughput_per_s"), 250);
  ASSERT_NEAR(fixture_number(&fixture, 1, "is_optimal"), 1); // doubling to 4 gains 3.2 %
  ASSERT_NEAR(fixture_number(&fixture, 2, "is_maximum"), 1);
  ASSERT_NEAR(fixture_summary(&fixture, "optimal_batch"), 2);
  ASSERT_NEAR(fixture_summary(&fixture, "maximum_throughput_batch"), 4);
  ASSERT_NEAR(fixture_summary(&fixture, "maximum_throughput_per_s"), 4000 / 15.5);
  ASSERT_NEAR(fixture_summary(&fixture, "online_latency_ms"), (4 + 5 + 7 + 8 + 9 + 10) / 6.0);
  ASSERT_NEAR(fixture_summary(&fixture, "cold_latency_ms"), 50);
  assert_false(fixture_has_column(&fixture, "latency_from"));
  assert_int_equal(fixture.tables[0].run_count, 4);
  assert_int_equal(fixture.tables[0].observations, 15);
  assert_int_equal(fixture.tables[0].batch_size, 0); // several
  assert_string_equal(fixture.tables[0].levels, "M");
  assert_string_equal(fixture.tables[0].statistic, "trimmed:0.2");
  fixture.request.statistic = "max";
  fixture.request.optimal = "latency<=8.5ms";
  assert_int_equal(fixture_ask(&fixture, "A1"), STATUS_OK);
  ASSERT_NEAR(fixture_number(&fixture, 0, "latency_ms"), 100);
  ASSERT_NEAR(fixture_summary(&fixture, "optimal_batch"), 2);
  fixture.request.optimal = "latency<=7999us";
  assert_int_equal(fixture_ask(&fixture, "A1"), STATUS_OK);
  ASSERT_NEAR(fixture_summary(&fixture, "optimal_batch"), NAN);
  assert_true(fixture_has_note(&fixture, "not reached"));
  fixture.request.optimal = "latency<10";
  assert_int_equal(fixture_ask(&fixture, "A1"), STATUS_USE);
  fixture.request.optimal = NULL;
  fixture.request.statistic = "average";
  assert_int_equal(fixture_ask(&fixture, "A1"), STATUS_USE);
  fixture_done(&fixture);
}

struct compiled { // by PyTorch
  const char *id, *trigger, *function, *reason, *graph_break;
};

static void compiled(struct fixture *fixture, const struct compiled *of, uint32_t path, int64_t start_ns, int64_t ms)
{
  fixture->context_id = path;
  int64_t id = fixture_span_in(fixture, XSP_LEVEL_APPLICATION, "compile", "torch.compile", start_ns, ms * MS);
  const char *const texts[][2] = {{"compile_id", of->id},           {"trigger", of->trigger},
                                  {"function", of->function},       {"reason", of->reason},
                                  {"graph_break", of->graph_break}, {"file", "/home/me/net.py"}};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
    if (texts[i][1] != NULL && (strcmp(texts[i][0], "file") != 0 || of->function != NULL))
      fixture_words(fixture, id, texts[i][0], texts[i][1]);
  if (of->function != NULL)
    fixture_int(fixture, id, "line", 8);
}

static void check_compiled(const struct fixture *fixture, size_t row, const char *function, const char *kind,
                           const char *reason, double line, double count, double total_ms, double max_ms)
{
  assert_string_equal(fixture_text(fixture, row, "function"), function);
  assert_string_equal(fixture_text(fixture, row, "kind"), kind);
  const char *found = fixture_text(fixture, row, "reason");
  assert_string_equal(found != NULL ? found : "", reason);
  ASSERT_NEAR(fixture_number(fixture, row, "line"), line);
  ASSERT_NEAR(fixture_number(fixture, row, "count"), count);
  ASSERT_NEAR(fixture_number(fixture, row, "total_ms"), total_ms);
  ASSERT_NEAR(fixture_number(fixture, row, "max_ms"), max_ms);
}

// By function, kind and reason without its values; the longest first. Gradients have the name of their function.
static void test_a25(void **unused)
{
  (void)unused;
  struct fixture fixture;
  fixture_start(&fixture);
  fixture_run(&fixture, "A/M/L", 1);
  uint32_t module = fixture_frame(&fixture, 0, XSP_FRAME_PYTHON, "<module>", "/home/me/train.py", 40),
           main = fixture_frame(&fixture, module, XSP_FRAME_PYTHON, "main", "/home/me/train.py", 30),
           library = fixture_frame(&fixture, main, XSP_FRAME_PYTHON, "wrap", "/usr/lib/python3/dist-packages/a.py", 1);
  (void)fixture_span_in(&fixture, XSP_LEVEL_APPLICATION, "program", "python3 train.py", 0, 1000 * MS);
  struct compiled of = {"0/0", "DYNAMO", "Net.forward", NULL, "item()"},
                  backward = {"0/0", "LAZY_BACKWARD", NULL, NULL, NULL};
  compiled(&fixture, &of, library, 10 * MS, 100);
  compiled(&fixture, &backward, main, 110 * MS, 40);
  of = (struct compiled){"1/0", "DYNAMO", "Net.torch_dynamo_resume_in_forward_at_9", NULL, NULL};
  compiled(&fixture, &of, library, 150 * MS, 10);
  of = (struct compiled){"0/1", "DYNAMO", "Net.forward",
                         "0/0: tensor 'x' size mismatch at index 0. expected 4, actual 5", NULL};
  compiled(&fixture, &of, library, 200 * MS, 70);
  of.id = "0/2", of.reason = "0/1: tensor 'x' size mismatch at index 0. expected 5, actual 6";
  compiled(&fixture, &of, library, 300 * MS, 80);
  of.id = "0/3", of.reason = "0/2: L['scale'] == 1.5          # h * scale  # net.py:9";
  compiled(&fixture, &of, module, 400 * MS, 5);
  fixture_ready(&fixture);
  assert_int_equal(fixture_ask(&fixture, "compilation"), STATUS_OK);
  assert_int_equal(fixture.tables[0].row_count, 5);
  check_compiled(&fixture, 0, "Net.forward", "new shape", "tensor 'x' size mismatch at index 0. expected 4, actual 5",
                 30, 2, 150, 80);
  check_compiled(&fixture, 1, "Net.forward", "first", "", 30, 1, 100, 100);
  assert_string_equal(fixture_text(&fixture, 1, "graph_break"), "item()");
  check_compiled(&fixture, 2, "Net.forward", "gradients", "", 30, 1, 40, 40);
  ASSERT_NEAR(fixture_number(&fixture, 2, "function_line"), 8);
  check_compiled(&fixture, 3, "Net.torch_dynamo_resume_in_forward_at_9", "after a graph break", "", 30, 1, 10, 10);
  check_compiled(&fixture, 4, "Net.forward", "guard", "L['scale'] == 1.5", 40, 1, 5, 5);
  ASSERT_NEAR(fixture_number(&fixture, 0, "share_pct"), 100 * 150 / 305.0);
  ASSERT_NEAR(fixture_summary(&fixture, "compile_count"), 6);
  ASSERT_NEAR(fixture_summary(&fixture, "recompile_count"), 3);
  ASSERT_NEAR(fixture_summary(&fixture, "compile_total_ms"), 305);
  ASSERT_NEAR(fixture_summary(&fixture, "of_program_pct"), 30.5);
  fixture_done(&fixture);
}

static void test_a25_of_a_program_that_compiles_nothing(void **unused)
{
  (void)unused;
  struct fixture fixture;
  fixture_start(&fixture);
  predictions(&fixture, "M", 1, (const int64_t[]){1000, 1000, 1000}, 3);
  fixture_ready(&fixture);
  assert_int_equal(fixture_ask(&fixture, "A25"), STATUS_NO);
  fixture_done(&fixture);
}

static void cold_predictions(struct fixture *fixture, const char *levels, int64_t batch, const int64_t *us,
                             size_t count)
{
  fixture_run(fixture, levels, batch);
  for (size_t i = 0; i < count; i++) {
    fixture_model(fixture, us[i] * 1000, true);
    fixture_int(fixture, fixture->span_id, "cold", 1);
  }
}

static void test_a1_keeps_cold_runs_apart(void **unused)
{
  (void)unused;
  struct fixture fixture;
  fixture_start(&fixture);
  cold_predictions(&fixture, "M", 2, (const int64_t[]){70000, 90000}, 2); // before all that is warm
  cold_predictions(&fixture, "M", 1, (const int64_t[]){61000, 60000, 65000}, 3);
  cold_predictions(&fixture, "M", 8, (const int64_t[]){99000}, 1); // a batch size with nothing else
  fixture_run(&fixture, "M", 1);
  fixture_model(&fixture, 50 * MS, true);
  fixture_model(&fixture, 4 * MS, false);
  predictions(&fixture, "M", 2, (const int64_t[]){6000}, 1);
  predictions(&fixture, "M", 4, (const int64_t[]){11000}, 1);
  fixture_ready(&fixture);
  assert_int_equal(fixture_ask(&fixture, "A1"), STATUS_OK);
  assert_int_equal(fixture.tables[0].row_count, 3);
  assert_int_equal(fixture.tables[0].run_count, 3);
  ASSERT_NEAR(fixture_number(&fixture, 0, "cold_ms"), 61);
  ASSERT_NEAR(fixture_number(&fixture, 1, "cold_ms"), 80);
  ASSERT_NEAR(fixture_number(&fixture, 2, "cold_ms"), NAN);
  ASSERT_NEAR(fixture_number(&fixture, 0, "n"), 1);
  ASSERT_NEAR(fixture_summary(&fixture, "cold_latency_ms"), 50);
  ASSERT_NEAR(fixture_summary(&fixture, "cold_batch"), 1);
  ASSERT_NEAR(fixture_summary(&fixture, "cold_count"), 3);
  ASSERT_NEAR(fixture_summary(&fixture, "cold_median_ms"), 61);
  ASSERT_NEAR(fixture_summary(&fixture, "cold_min_ms"), 60);
  ASSERT_NEAR(fixture_summary(&fixture, "cold_max_ms"), 65);
  ASSERT_NEAR(fixture_summary(&fixture, "load_median_ms"), NAN);
  assert_int_equal(fixture_ask(&fixture, "L0"), STATUS_OK);
  assert_int_equal(fixture.tables[0].row_count, 3);
  ASSERT_NEAR(fixture_number(&fixture, 0, "spans"), 2);
  fixture_done(&fixture);
}

// Two cold runs at M/L, slower than at M: A1's cold figures are those at M; with --cold they are the only runs.
static void test_cold_runs_alone(void **unused)
{
  (void)unused;
  struct fixture fixture;
  fixture_start(&fixture);
  predictions(&fixture, "M", 1, (const int64_t[]){4000}, 1);
  cold_predictions(&fixture, "M", 1, (const int64_t[]){61000, 60000, 65000}, 3);
  cold_predictions(&fixture, "M/L", 1, (const int64_t[]){71000, 70000, 75000}, 3);
  fixture_ready(&fixture);
  assert_int_equal(fixture_ask(&fixture, "A1"), STATUS_OK);
  ASSERT_NEAR(fixture_number(&fixture, 0, "latency_ms"), 4);
  ASSERT_NEAR(fixture_number(&fixture, 0, "cold_ms"), 61);
  ASSERT_NEAR(fixture_summary(&fixture, "cold_count"), 3);
  fixture.request.cold = true;
  assert_int_equal(fixture_ask(&fixture, "A1"), STATUS_OK);
  ASSERT_NEAR(fixture_number(&fixture, 0, "latency_ms"), 61); // n = 3: the median
  ASSERT_NEAR(fixture_number(&fixture, 0, "n"), 3);
  assert_int_equal(fixture_ask(&fixture, "L0"), STATUS_OK);
  assert_int_equal(fixture.tables[0].row_count, 2);
  ASSERT_NEAR(fixture_number(&fixture, 1, "overhead_ms"), 10);
  assert_int_equal(fixture_ask(&fixture, "T8"), STATUS_OK);
  ASSERT_NEAR(fixture_number(&fixture, 0, "online_latency_ms"), 61);
  assert_non_null(strstr(fixture.tables[0].title, "first inferences"));
  fixture_done(&fixture);
}

static void test_sort_and_top(void **unused)
{
  (void)unused;
  struct fixture fixture;
  fixture_start(&fixture);
  for (int64_t batch = 1; batch <= 8; batch *= 2)
    predictions(&fixture, "M", batch, (const int64_t[]){batch == 2 ? 9000 : batch * 1000}, 1);
  fixture_ready(&fixture);
  fixture.request.sort = "latency_ms";
  fixture.request.top = 2;
  assert_int_equal(fixture_ask(&fixture, "A1"), STATUS_OK);
  assert_int_equal(fixture.tables[0].row_count, 2);
  ASSERT_NEAR(fixture_number(&fixture, 0, "batch_size"), 2);
  ASSERT_NEAR(fixture_number(&fixture, 1, "batch_size"), 8);
  fixture.request.sort = "cv_pct"; // null in every row: order stays
  assert_int_equal(fixture_ask(&fixture, "A1"), STATUS_OK);
  ASSERT_NEAR(fixture_number(&fixture, 0, "batch_size"), 1);
  fixture.request.sort = "colour";
  assert_int_equal(fixture_ask(&fixture, "A1"), STATUS_USE);
  assert_non_null(strstr(fixture.error.why, "throughput_per_s"));
  assert_int_equal(fixture_ask(&fixture, "A99"), STATUS_USE);
  fixture_done(&fixture);
}

static void test_level_rule_falls_back_to_the_next_deeper_set(void **unused)
{
  (void)unused;
  struct fixture fixture;
  fixture_start(&fixture);
  predictions(&fixture, "M/L/K+metrics", 1, (const int64_t[]){9000}, 1);
  predictions(&fixture, "M/L/K", 1, (const int64_t[]){7000}, 1);
  predictions(&fixture, "M/K", 1, (const int64_t[]){6000}, 1);
  predictions(&fixture, "M/L", 1, (const int64_t[]){3000}, 1);
  predictions(&fixture, "M/L/K+metrics", 2, (const int64_t[]){12000}, 1);
  predictions(&fixture, "M/L/K", 4, (const int64_t[]){16000}, 1);
  predictions(&fixture, "M/K", 4, (const int64_t[]){14000}, 1); // fewest levels
  predictions(&fixture, "K", 8, (const int64_t[]){1000}, 1);    // has no model level
  fixture_ready(&fixture);
  assert_int_equal(fixture_ask(&fixture, "A1"), STATUS_OK);
  assert_int_equal(fixture.tables[0].row_count, 3);
  ASSERT_NEAR(fixture_number(&fixture, 0, "latency_ms"), 3);
  assert_string_equal(fixture_text(&fixture, 0, "latency_from"), "M/L");
  ASSERT_NEAR(fixture_number(&fixture, 1, "latency_ms"), 12);
  assert_string_equal(fixture_text(&fixture, 1, "latency_from"), "M/L/K+metrics");
  ASSERT_NEAR(fixture_number(&fixture, 2, "latency_ms"), 14);
  assert_true(fixture_has_note(&fixture, "overhead of the deeper levels is included"));
  fixture_done(&fixture);
}

// Serialised sets are in L0, over the same levels, and in no other figure.
static void test_serialised_sets_are_not_in_the_level_rule(void **unused)
{
  (void)unused;
  struct fixture fixture;
  fixture_start(&fixture);
  predictions(&fixture, "M", 1, (const int64_t[]){4000}, 1);
  predictions(&fixture, "M/L@serial", 1, (const int64_t[]){9000}, 1);
  predictions(&fixture, "M/L", 1, (const int64_t[]){5000}, 1);
  predictions(&fixture, "M@serial", 2, (const int64_t[]){1000}, 1); // the only set of its batch size
  fixture_ready(&fixture);
  assert_int_equal(fixture_ask(&fixture, "A1"), STATUS_OK);
  assert_int_equal(fixture.tables[0].row_count, 1);
  ASSERT_NEAR(fixture_number(&fixture, 0, "latency_ms"), 4);
  assert_int_equal(fixture_ask(&fixture, "L0"), STATUS_OK);
  assert_int_equal(fixture.tables[0].row_count, 4);
  assert_string_equal(fixture_text(&fixture, 1, "levels"), "M/L");
  assert_string_equal(fixture_text(&fixture, 2, "levels"), "M/L@serial");
  assert_string_equal(fixture_text(&fixture, 2, "over"), "M/L");
  ASSERT_NEAR(fixture_number(&fixture, 2, "overhead_ms"), 4);
  fixture_done(&fixture);

  fixture_start(&fixture);
  predictions(&fixture, "M@serial", 1, (const int64_t[]){1000}, 1);
  fixture_ready(&fixture);
  assert_int_equal(fixture_ask(&fixture, "A1"), STATUS_NO);
  fixture_done(&fixture);
}

static void test_unknown_batch_sizes(void **unused)
{
  (void)unused;
  struct fixture fixture;
  fixture_start(&fixture);
  fixture_run(&fixture, "M", 0);
  fixture_model(&fixture, 5 * MS, false);
  fixture_run(&fixture, "M", 0); // this one says it by a tag
  fixture_model(&fixture, 6 * MS, false);
  fixture_int(&fixture, fixture.span_id, "batch_size", 32);
  fixture_ready(&fixture);
  assert_int_equal(fixture_ask(&fixture, "A1"), STATUS_OK);
  ASSERT_NEAR(fixture_number(&fixture, 0, "batch_size"), NAN);
  ASSERT_NEAR(fixture_number(&fixture, 0, "latency_ms"), 5);
  ASSERT_NEAR(fixture_number(&fixture, 0, "throughput_per_s"), NAN);
  ASSERT_NEAR(fixture_number(&fixture, 1, "batch_size"), 32);
  ASSERT_NEAR(fixture_summary(&fixture, "cold_latency_ms"), NAN);
  ASSERT_NEAR(fixture_summary(&fixture, "online_latency_ms"), NAN);
  fixture_done(&fixture);
}

static void test_different_batch_sizes_in_one_run(void **unused)
{
  (void)unused;
  struct fixture fixture;
  fixture_start(&fixture);
  fixture_run(&fixture, "M", 0);
  fixture_model(&fixture, 5 * MS, false);
  fixture_int(&fixture, fixture.span_id, "batch_size", 2);
  fixture_model(&fixture, 7 * MS, false); // does not say
  fixture_ready(&fixture);
  assert_int_equal(fixture_ask(&fixture, "A1"), STATUS_OK);
  ASSERT_NEAR(fixture_number(&fixture, 0, "batch_size"), 2);
  assert_false(fixture_has_note(&fixture, "different batch sizes"));
  fixture_done(&fixture);

  fixture_start(&fixture);
  fixture_run(&fixture, "M", 0);
  for (int64_t batch = 1; batch <= 4; batch *= 2) {
    fixture_model(&fixture, batch * MS, false);
    fixture_int(&fixture, fixture.span_id, "batch_size", batch);
  }
  fixture_ready(&fixture);
  assert_int_equal(fixture_ask(&fixture, "A1"), STATUS_OK);
  ASSERT_NEAR(fixture_number(&fixture, 0, "batch_size"), NAN);
  ASSERT_NEAR(fixture_number(&fixture, 0, "latency_ms"), 2);
  ASSERT_NEAR(fixture_number(&fixture, 0, "throughput_per_s"), NAN);
  assert_true(fixture_has_note(&fixture, "different batch sizes"));
  fixture_done(&fixture);
}

// Without signatures: training steps of a mean of 10 ms, and predictions of 2 ms and a batch size.
static void test_models_are_never_pooled(void **unused)
{
  (void)unused;
  struct fixture fixture;
  fixture_start(&fixture);
  fixture_run(&fixture, "M", 0);
  for (int64_t i = 0; i < 3; i++) {
    fixture_model(&fixture, (9 + i) * MS, false);
    fixture_words(&fixture, fixture.span_id, "model", "multi_step_on_iterator");
    fixture_model(&fixture, 2 * MS, false);
    fixture_words(&fixture, fixture.span_id, "model", "one_step_on_data");
    fixture_int(&fixture, fixture.span_id, "batch_size", 100);
  }
  fixture_ready(&fixture);
  assert_int_equal(fixture_ask(&fixture, "A1"), STATUS_OK);
  assert_int_equal(fixture.tables[0].row_count, 2);
  assert_string_equal(fixture_text(&fixture, 0, "model"), "multi_step_on_iterator");
  ASSERT_NEAR(fixture_number(&fixture, 0, "latency_ms"), 10);
  ASSERT_NEAR(fixture_number(&fixture, 0, "batch_size"), NAN);
  ASSERT_NEAR(fixture_number(&fixture, 1, "latency_ms"), 2);
  ASSERT_NEAR(fixture_number(&fixture, 1, "batch_size"), 100);
  ASSERT_NEAR(fixture_number(&fixture, 1, "observations"), 3);
  fixture_done(&fixture);
}

static void test_several_experiments_give_one_table_each(void **unused)
{
  (void)unused;
  struct fixture fixture;
  fixture_start(&fixture);
  predictions(&fixture, "M", 1, (const int64_t[]){1000}, 1);
  fixture_experiment(&fixture, "second");
  predictions(&fixture, "M", 1, (const int64_t[]){2000}, 1);
  fixture_experiment(&fixture, "third");
  predictions(&fixture, "K", 1, (const int64_t[]){2000}, 1);
  fixture_ready(&fixture);
  assert_int_equal(fixture_ask(&fixture, "A1"), STATUS_OK);
  assert_int_equal(fixture.table_count, 2);
  assert_string_equal(fixture.tables[0].experiment, "first");
  assert_string_equal(fixture.tables[1].experiment, "second");
  assert_true(fixture_has_note(&fixture, "third is left out"));
  ASSERT_NEAR(fixture_number(&fixture, 0, "latency_ms"), 1);
  assert_int_equal(fixture_ask(&fixture, "A2"), STATUS_NO);
  fixture_done(&fixture);
}

static void test_l0_overhead_of_each_set(void **unused)
{
  (void)unused;
  struct fixture fixture;
  fixture_start(&fixture);
  predictions(&fixture, "M", 1, (const int64_t[]){10000, 10000}, 2);
  predictions(&fixture, "M/L", 1, (const int64_t[]){12000, 12000}, 2);
  struct store_run run = {.batch_size = 1, .dropped_count = 3, .own_pct = 0.5};
  assert_true(level_set_parse("M/L/K", 5, &run.levels));
  fixture_run_full(&fixture, &run);
  int64_t start = fixture.now_ns;
  fixture_model(&fixture, 12020 * 1000, false); // two kernels, 10 us each
  fixture_kernel(&fixture, start + 100, start + 200, 500, "kernel");
  fixture_kernel(&fixture, start + 300, start + 800, 500, "kernel");
  fixture_kernel(&fixture, start + 500, start + 1400, 500, "memcpy");
  predictions(&fixture, "M/L/K+metrics", 1, (const int64_t[]){50000}, 1);
  predictions(&fixture, "M", 2, (const int64_t[]){20000}, 1);
  predictions(&fixture, "M/L", 2, (const int64_t[]){19000}, 1); // negative
  predictions(&fixture, "M", 4, (const int64_t[]){20000}, 1);
  predictions(&fixture, "M/L", 4, (const int64_t[]){20000}, 1); // zero
  fixture_ready(&fixture);
  assert_int_equal(fixture_ask(&fixture, "L0"), STATUS_OK);
  assert_int_equal(fixture.tables[0].row_count, 8);
  assert_string_equal(fixture_text(&fixture, 0, "levels"), "M");
  ASSERT_NEAR(fixture_number(&fixture, 0, "overhead_ms"), NAN);
  assert_null(fixture_text(&fixture, 0, "over"));
  ASSERT_NEAR(fixture_number(&fixture, 0, "spans"), 2);
  assert_string_equal(fixture_text(&fixture, 1, "over"), "M");
  ASSERT_NEAR(fixture_number(&fixture, 1, "overhead_ms"), 2);
  ASSERT_NEAR(fixture_number(&fixture, 1, "overhead_pct"), 20);
  assert_string_equal(fixture_text(&fixture, 2, "over"), "M/L");
  ASSERT_NEAR(fixture_number(&fixture, 2, "overhead_ms"), 12.02 - 12);
  ASSERT_NEAR(fixture_number(&fixture, 2, "kernels"), 2);
  ASSERT_NEAR(fixture_number(&fixture, 2, "overhead_per_kernel_ns"), (12.02 - 12) * 1e6 / 2);
  ASSERT_NEAR(fixture_number(&fixture, 2, "spans"), 7);
  ASSERT_NEAR(fixture_number(&fixture, 2, "dropped"), 3);
  ASSERT_NEAR(fixture_number(&fixture, 2, "own_pct"), 0.5);
  ASSERT_NEAR(fixture_number(&fixture, 0, "own_pct"), NAN);
  assert_string_equal(fixture_text(&fixture, 3, "levels"), "M/L/K+metrics");
  assert_string_equal(fixture_text(&fixture, 3, "over"), "M/L/K");
  ASSERT_NEAR(fixture_number(&fixture, 3, "overhead_ms"), 50 - 12.02);
  ASSERT_NEAR(fixture_number(&fixture, 5, "overhead_ms"), -1);
  ASSERT_NEAR(fixture_number(&fixture, 5, "overhead_pct"), -5);
  assert_null(fixture_text(&fixture, 0, "verdict"));              // there is no set before it
  ASSERT_NEAR(fixture_number(&fixture, 1, "overhead_low_ms"), 2); // two equal values on each side
  ASSERT_NEAR(fixture_number(&fixture, 1, "overhead_high_ms"), 2);
  assert_string_equal(fixture_text(&fixture, 1, "interval_from"), "observations");
  assert_string_equal(fixture_text(&fixture, 1, "verdict"), "overhead");
  assert_true(fixture_has_note(&fixture, "differences between runs are not in it"));
  ASSERT_NEAR(fixture_number(&fixture, 2, "overhead_low_ms"), NAN); // one observation has no spread
  ASSERT_NEAR(fixture_number(&fixture, 2, "overhead_high_ms"), NAN);
  assert_null(fixture_text(&fixture, 2, "interval_from"));
  assert_string_equal(fixture_text(&fixture, 2, "verdict"), "not decided");
  ASSERT_NEAR(fixture_number(&fixture, 7, "overhead_ms"), 0);
  fixture.request.layer = "module"; // there are none, and none are needed
  assert_int_equal(fixture_ask(&fixture, "L0"), STATUS_OK);
  ASSERT_NEAR(fixture_number(&fixture, 2, "kernels"), 2);
  fixture.request.batch = 2;
  assert_int_equal(fixture_ask(&fixture, "L0"), STATUS_OK);
  assert_int_equal(fixture.tables[0].row_count, 2);
  fixture.request.batch = 3;
  assert_int_equal(fixture_ask(&fixture, "L0"), STATUS_NO);
  fixture_done(&fixture);
}

// A tracer that adds exactly 10 us a kernel: two kernels in one layer, one in the other.
static void test_l0_by_layer_gives_back_ten_microseconds_a_kernel(void **unused)
{
  (void)unused;
  struct fixture fixture;
  fixture_start(&fixture);
  for (int deep = 0; deep < 2; deep++) {
    fixture_run(&fixture, deep ? "M/L/K" : "M/L", 1);
    for (int i = 0; i < 4; i++) {
      int64_t start = fixture.now_ns;
      int64_t first = (100 + i) * 1000 + deep * 20000; // ns
      fixture_model(&fixture, 1 * MS, i == 0);
      fixture_layer(&fixture, &(struct fixture_layer){"conv", "Conv", NULL, NULL, 0, UNKNOWN_BYTES}, start + 1000,
                    first);
      fixture_layer(&fixture, &(struct fixture_layer){"relu", "Relu", NULL, NULL, 1, UNKNOWN_BYTES}, start + 500000,
                    50000 + deep * 10000);
      fixture_layer(&fixture, &(struct fixture_layer){"relu", "Relu", NULL, NULL, 1, UNKNOWN_BYTES}, start + 700000,
                    5000 - deep * 1000);
      if (!deep)
        continue;
      fixture_kernel(&fixture, start + 2000, start + 600000, 100, "kernel");
      fixture_kernel(&fixture, start + 3000, start + 601000, 100, "kernel");
      fixture_kernel(&fixture, start + 500100, start + 602000, 100, "kernel");
    }
  }
  fixture_ready(&fixture);
  fixture.request.by = "layer";
  assert_int_equal(fixture_ask(&fixture, "L0"), STATUS_OK);
  assert_int_equal(fixture.tables[0].row_count, 3);
  ASSERT_NEAR(fixture_number(&fixture, 0, "latency_ms"), 0.102);
  ASSERT_NEAR(fixture_number(&fixture, 0, "deeper_latency_ms"), 0.122);
  ASSERT_NEAR(fixture_number(&fixture, 0, "kernels"), 2);
  ASSERT_NEAR(fixture_number(&fixture, 0, "overhead_per_kernel_ns"), 10000);
  ASSERT_NEAR(fixture_number(&fixture, 1, "kernels"), 1);
  ASSERT_NEAR(fixture_number(&fixture, 1, "overhead_per_kernel_ns"), 10000);
  ASSERT_NEAR(fixture_number(&fixture, 2, "kernels"), 0);
  ASSERT_NEAR(fixture_number(&fixture, 2, "overhead_ms"), 0.004 - 0.005); // negative ones are shown too
  ASSERT_NEAR(fixture_number(&fixture, 2, "overhead_per_kernel_ns"), NAN);
  assert_string_equal(fixture_text(&fixture, 2, "layer_name"), "relu");
  ASSERT_NEAR(fixture_summary(&fixture, "kernels"), 3);
  ASSERT_NEAR(fixture_summary(&fixture, "overhead_ms"), 0.02 + 0.01 - 0.001);
  fixture.request.by = "colour";
  assert_int_equal(fixture_ask(&fixture, "L0"), STATUS_USE);
  fixture_done(&fixture);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a25),
      cmocka_unit_test(test_a25_of_a_program_that_compiles_nothing),
      cmocka_unit_test(test_a1_statistics_per_batch),
      cmocka_unit_test(test_a1_keeps_cold_runs_apart),
      cmocka_unit_test(test_cold_runs_alone),
      cmocka_unit_test(test_sort_and_top),
      cmocka_unit_test(test_level_rule_falls_back_to_the_next_deeper_set),
      cmocka_unit_test(test_serialised_sets_are_not_in_the_level_rule),
      cmocka_unit_test(test_unknown_batch_sizes),
      cmocka_unit_test(test_different_batch_sizes_in_one_run),
      cmocka_unit_test(test_models_are_never_pooled),
      cmocka_unit_test(test_several_experiments_give_one_table_each),
      cmocka_unit_test(test_l0_overhead_of_each_set),
      cmocka_unit_test(test_l0_by_layer_gives_back_ten_microseconds_a_kernel),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
