// SPDX-License-Identifier: Apache-2.0
// F18 to F20, F39, F61, F62, F64 and F65 over programs with known answers: what is read, updated, kept and computed step by step. Each names
// its fault with its line, and is silent about the same program without.
#include "analyze/findings/test_operators.h"

#include <math.h>
#include <string.h>

// ---- F18 -------------------------------------------------------------------------------------------------------------
static void reads(int count)
{
  fixture_run(&fixture, "M/L", 1);
  int64_t at = step(MS);
  uint32_t main = python(0, "main", FILE_OF, 29), accuracy = python(main, "accuracy", FILE_OF, 8);
  for (int i = 0; i < count; i++)
    operator_at(accuracy, "aten::item", at + i * 20 * US, 10 * US);
  operator_at(main, "aten::addmm", at + 800 * US, 100 * US);
}

static void test_f18(void **unused)
{
  (void)unused;
  reads(16);
  assert_int_equal(ask_rule("F18"), 1);
  assert_string_equal(found_text(0, "context"), "accuracy");
  ASSERT_NEAR(found_number(0, "line"), 8);
  ASSERT_NEAR(found_number(0, "time_ms"), 0.31); // 16 of 10 us, and 15 times 10 us between them
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.31 * 15 / 16);
}

static void test_f18_of_a_folded_file(void **unused)
{
  (void)unused;
  uint32_t log = python(python(0, "main", FILE_OF, 29), "log", FILE_OF, 8);
  fold_start();
  for (int i = 0; i < 16; i++)
    operator_at(log, "aten::item", i * 20 * US, 10 * US);
  fold_end();
  assert_int_equal(ask_rule("F18"), 1);
  assert_string_equal(found_text(0, "confidence"), "low"); // in one step, or one in each of 16
}

static void test_f18_is_silent(void **unused)
{
  (void)unused;
  reads(15);
  assert_int_equal(ask_rule("F18"), 0);
}

// A model runs for each read: as where an agent acts, no read can wait for the next.
static void test_f18_is_silent_about_a_result_of_each_call(void **unused)
{
  (void)unused;
  fixture_run(&fixture, "M/L", 1);
  int64_t at = step(MS);
  uint32_t act = python(python(0, "main", FILE_OF, 29), "act", FILE_OF, 8);
  for (int i = 0; i < 16; i++) {
    operator_at(python(act, "Linear.forward", TORCH "nn/modules/linear.py", 134), "aten::linear", at + i * 40 * US,
                20 * US);
    operator_at(act, "aten::item", at + i * 40 * US + 30 * US, 5 * US);
  }
  assert_int_equal(ask_rule("F18"), 0);
}

// What F18 reads are the small operators of F2, most of which are at another line.
static void test_one_cause_in_a_function_is_one_finding(void **unused)
{
  (void)unused;
  fixture_run(&fixture, "M/L", 1);
  int64_t at = step(MS);
  uint32_t main = python(0, "main", FILE_OF, 29);
  for (int i = 0; i < 16; i++) {
    static const char *const names[] = {"aten::select", "aten::eq", "aten::lt", "aten::item"};
    for (int k = 0; k < 4; k++)
      operator_at(python(main, "accuracy", FILE_OF, k < 3 ? 7 : 8), names[k], at + (i * 60 + k * 15) * US, 10 * US);
  }
  assert_int_equal(ask_rule("F2"), 1);
  static const char *const both[] = {"F18", "F2"};
  fixture.request.only = both;
  fixture.request.only_count = 2;
  assert_int_equal(fixture_ask(&fixture, "findings"), STATUS_OK);
  assert_int_equal(fixture.tables[0].row_count, 1);
  assert_string_equal(found_text(0, "id"), "F18");
}

// Twelve lines copy for layouts, none for a tenth of the time: F1 has the copies together, and so no line.
static void test_places_together_yield_to_what_is_around_them(void **unused)
{
  (void)unused;
  fixture_run(&fixture, "M/L", 1);
  int64_t at = step(MS);
  uint32_t main = python(0, "main", FILE_OF, 29);
  for (int i = 0; i < 12; i++) {
    uint32_t line = python(main, "Stage.forward", FILE_OF, 15 + i);
    operator_at(line, "aten::contiguous", at + i * 80 * US, 70 * US);
    operator_at(fixture.context_id, "aten::copy_", at + i * 80 * US + US, (50 + i) * US);
  }
  static const char *const both[] = {"F1", "F9"};
  assert_int_equal(ask_rule("F9"), 1);
  fixture.request.only = both;
  fixture.request.only_count = 2;
  assert_int_equal(fixture_ask(&fixture, "findings"), STATUS_OK);
  for (size_t i = 0; i < fixture.tables[0].row_count; i++)
    assert_string_equal(found_text(i, "id"), "F9");
}

// ---- F19 -------------------------------------------------------------------------------------------------------------
static void optimizer(const char *name, int count, int64_t duration_ns)
{
  fixture_run(&fixture, "M/L", 1);
  int64_t at = step(10 * MS);
  uint32_t main = python(0, "main", FILE_OF, 15), adam = python(main, "Adam.step", TORCH "optim/adam.py", 100);
  for (int i = 0; i < count; i++)
    operator_at(adam, name, at + i * 20 * US, duration_ns);
}

static void test_f19(void **unused)
{
  (void)unused;
  optimizer("aten::mul_", 100, 10 * US);
  assert_int_equal(ask_rule("F19"), 1);
  assert_string_equal(found_text(0, "file"), FILE_OF);
  ASSERT_NEAR(found_number(0, "line"), 15);
  ASSERT_NEAR(found_number(0, "time_ms"), 1.99);
}

static void test_f19_bound_is_without_waits_for_a_processor(void **unused)
{
  (void)unused;
  fixture_run(&fixture, "M/L", 1);
  int64_t at = step(10 * MS);
  uint32_t main = python(0, "main", FILE_OF, 15), adam = python(main, "Adam.step", TORCH "optim/adam.py", 100);
  for (int i = 0; i < 100; i++)
    operator_at(adam, "aten::mul_", at + i * 20 * US, i < 99 ? 20 * US : 5 * MS);
  assert_int_equal(ask_rule("F19"), 1);
  ASSERT_NEAR(found_number(0, "time_ms"), 6.98);
  ASSERT_NEAR(found_number(0, "saving_ms"), 100 * 0.02 * pow(250, 0.01) * 0.99);
}

// The program has a processor for a tenth of the time; half of that is the step's.
static void steps_on_a_busy_machine(void)
{
  optimizer("aten::mul_", 100, 10 * US);
  uint32_t step = fixture.context_id, main = python(0, "main", FILE_OF, 12);
  for (int i = 0; i < 10; i++) {
    fixture.context_id = i % 2 == 0 ? step : main;
    fixture_sample(&fixture, SAMPLE_CPU, i * MS, 100 * US);
  }
}

static void test_f19_bound_on_a_busy_machine(void **unused)
{
  (void)unused;
  steps_on_a_busy_machine();
  fixture.thread = fixture.stream; // another
  fixture_sample(&fixture, SAMPLE_IO, 5 * MS, 2 * MS);
  assert_int_equal(ask_rule("F19"), 1);
  ASSERT_NEAR(found_number(0, "saving_ms"), 9 * 0.5 * 0.99); // from the first sample to the last; not ten times 1.97 ms
  assert_non_null(strstr(found_text(0, "saving_basis"), "waits for processors"));
}

// Without samples of waits it may sleep for nine tenths.
static void test_f19_bound_by_samples_of_cpu_time(void **unused)
{
  (void)unused;
  steps_on_a_busy_machine();
  assert_int_equal(ask_rule("F19"), 1);
  ASSERT_NEAR(found_number(0, "saving_ms"), 1.99 * 0.99);
  assert_null(strstr(found_text(0, "saving_basis"), "waits for processors"));
}

static void test_f19_is_silent_about_fused_ones(void **unused)
{
  (void)unused;
  optimizer("aten::_fused_adam_", 1, 900 * US);
  assert_int_equal(ask_rule("F19"), 0);
}

// Of a file of --aggregate: 100 steps in all, each of which runs `count` operators.
static size_t folded_optimizer(const char *name, int count)
{
  uint32_t main = python(0, "main", FILE_OF, 15), adam = python(main, "Adam.step", TORCH "optim/adam.py", 100);
  fold_start();
  for (int i = 0; i < 100 * count; i++)
    operator_at(adam, name, i * 10 * US / count, 9 * US / count);
  fold_end();
  return ask_rule("F19");
}

static void test_f19_of_a_folded_file(void **unused)
{
  (void)unused;
  assert_int_equal(folded_optimizer("aten::mul_", 2), 1);
  assert_string_equal(found_text(0, "confidence"), "low");
}

static void test_f19_is_silent_about_fused_ones_of_a_folded_file(void **unused)
{
  (void)unused;
  assert_int_equal(folded_optimizer("aten::_fused_adam_", 1), 0);
}

// Lightning hands the whole step to the optimizer.
static void test_f19_is_silent_about_a_closure(void **unused)
{
  (void)unused;
  fixture_run(&fixture, "M/L", 1);
  int64_t at = step(10 * MS);
  uint32_t fit = python(0, "main", FILE_OF, 15), sgd = python(fit, "SGD.step", TORCH "optim/sgd.py", 100),
           closure = python(sgd, "closure", "/venv/lib/python3.11/site-packages/lightning/loops.py", 50),
           own = python(closure, "Net.training_step", FILE_OF, 8);
  for (int i = 0; i < 100; i++)
    operator_at(own, "aten::select", at + i * 20 * US, 10 * US);
  operator_at(sgd, "aten::_foreach_add_", at + 3 * MS, 10 * US);
  assert_int_equal(ask_rule("F19"), 0);
}

// ---- F20 -------------------------------------------------------------------------------------------------------------
static void steps_with_backward(int growth)
{
  fixture_run(&fixture, "M/L", 1);
  uint32_t main = python(0, "main", FILE_OF, 18);
  for (int i = 0; i < 9; i++) {
    int64_t at = step((10 + i * growth) * MS);
    for (int k = 0; k < 2 + i * growth; k++)
      backward_at(main, "AddmmBackward0", at + k * US, US);
  }
}

static void test_f20(void **unused)
{
  (void)unused;
  steps_with_backward(1);
  assert_int_equal(ask_rule("F20"), 1);
  ASSERT_NEAR(found_number(0, "line"), 18);
  ASSERT_NEAR(found_number(0, "time_ms"), 14);
  ASSERT_NEAR(found_number(0, "saving_ms"), 4);
}

// The first step sets up: it is no measure.
static void test_f20_bound_is_of_the_shortest_early_step(void **unused)
{
  (void)unused;
  fixture_run(&fixture, "M/L", 1);
  uint32_t main = python(0, "main", FILE_OF, 18);
  for (int i = 0; i < 9; i++) {
    int64_t at = step((i == 0 ? 19 : 10 + i) * MS);
    for (int k = 0; k < 2 + i; k++)
      backward_at(main, "AddmmBackward0", at + k * US, US);
  }
  assert_int_equal(ask_rule("F20"), 1);
  ASSERT_NEAR(found_number(0, "saving_ms"), 15 - 11);
}

// F27 counts backward operators of earlier steps, too.
static void test_chains_yield_to_a_growing_graph(void **unused)
{
  (void)unused;
  static const char *const both[] = {"F20", "F27"}, *const names[] = {"aten::mul", "aten::tanh", "aten::add",
                                                                      "aten::pow"};
  fixture_run(&fixture, "M/L", 1);
  uint32_t cell = python(python(0, "main", FILE_OF, 18), "cell", FILE_OF, 9);
  for (int i = 0; i < 9; i++) {
    int64_t at = step((10 + i * 10) * MS);
    for (int k = 0; k < 4; k++)
      operator_at(cell, names[k], at + k * US, US);
    for (int k = 0; k <= i; k++)
      backward_at(cell, "TanhBackward0", at + MS + k * 10 * MS, 9 * MS);
  }
  assert_int_equal(ask_rule("F27"), 1);
  fixture.request.only = both;
  fixture.request.only_count = 2;
  assert_int_equal(fixture_ask(&fixture, "findings"), STATUS_OK);
  assert_int_equal(fixture.tables[0].row_count, 1);
  assert_string_equal(found_text(0, "id"), "F20");
}

// F20 gains 4 of 104 ms, F27 6.
static void test_what_is_left_out_explains_nothing(void **unused)
{
  (void)unused;
  static const char *const both[] = {"F20", "F27"}, *const names[] = {"aten::mul", "aten::tanh", "aten::add",
                                                                      "aten::pow"};
  fixture_run(&fixture, "M/L", 1);
  uint32_t cell = python(python(0, "main", FILE_OF, 18), "cell", FILE_OF, 9);
  for (int i = 0; i < 9; i++) {
    int64_t at = step(100 * MS + i * MS);
    for (int k = 0; k < 4; k++)
      operator_at(cell, names[k], at + k * 2 * MS, 2 * MS);
    for (int k = 0; k <= i; k++)
      backward_at(cell, "TanhBackward0", at + (10 + k) * MS, US);
  }
  fixture.request.only = both;
  fixture.request.only_count = 2;
  fixture.request.least_gain_pct = 3;
  fixture_ready(&fixture);
  assert_int_equal(fixture_ask(&fixture, "findings"), STATUS_OK);
  assert_int_equal(fixture.tables[0].row_count, 1);
  assert_string_equal(found_text(0, "id"), "F20");
  fixture.request.least_gain_pct = 5;
  assert_int_equal(fixture_ask(&fixture, "findings"), STATUS_OK);
  assert_int_equal(fixture.tables[0].row_count, 1);
  assert_string_equal(found_text(0, "id"), "F27");
}

// What F2 finds elsewhere has no backward operators.
static void test_small_operators_beside_a_growing_graph(void **unused)
{
  (void)unused;
  static const char *const both[] = {"F2", "F20"}, *const names[] = {"aten::select", "aten::eq", "aten::lt"};
  fixture_run(&fixture, "M/L", 1);
  uint32_t main = python(0, "main", FILE_OF, 18), metric = python(main, "metric", FILE_OF, 8);
  for (int i = 0; i < 9; i++) {
    int64_t at = step((10 + i) * MS);
    for (int k = 0; k < 60; k++)
      operator_at(metric, names[k % 3], at + k * 15 * US, 10 * US);
    for (int k = 0; k < 2 + i; k++)
      backward_at(main, "AddmmBackward0", at + (k + 1) * MS, MS);
  }
  assert_int_equal(ask_rule("F2"), 1);
  fixture.request.only = both;
  fixture.request.only_count = 2;
  assert_int_equal(fixture_ask(&fixture, "findings"), STATUS_OK);
  assert_int_equal(fixture.tables[0].row_count, 2);
  assert_string_equal(found_text(0, "id"), "F20");
  assert_string_equal(found_text(1, "context"), "metric");
}

// Each step has a longer sequence than the one before.
static void test_f20_is_silent_about_longer_sequences(void **unused)
{
  (void)unused;
  fixture_run(&fixture, "M/L", 1);
  uint32_t main = python(0, "main", FILE_OF, 18);
  for (int i = 0; i < 9; i++) {
    int64_t at = step((10 + i) * MS);
    for (int k = 0; k < 2 + i; k++) {
      operator_at(main, "aten::addmm", at + k * 2 * US, US);
      backward_at(main, "AddmmBackward0", at + 5 * MS + k * 2 * US, US);
    }
  }
  assert_int_equal(ask_rule("F20"), 0);
}

static void test_f20_is_silent_about_equal_steps(void **unused)
{
  (void)unused;
  steps_with_backward(0);
  assert_int_equal(ask_rule("F20"), 0);
}

// ---- F39 -------------------------------------------------------------------------------------------------------------
static void noted(const char *key, const char *pct)
{
  const struct store_system_value system[] = {{.key = "cpus_allowed", .number = 2, .is_number = true},
                                              {.key = "cpu_quota", .number = 1.5, .is_number = true}};
  fixture_experiment_on(&fixture, "train", system, 2);
  fixture_run(&fixture, "M/L", 1);
  operator_at(0, "aten::addmm", step(MS), 800 * US);
  assert_int_equal(store_add_note(fixture.store, 0, key, pct, NULL), STATUS_OK);
}

static void test_f39(void **unused)
{
  (void)unused;
  noted("throttled_pct", "40");
  assert_int_equal(ask_rule("F39"), 1);
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.2); // of two processors, each stopped for a fifth of the time
}

static void test_f39_is_silent(void **unused)
{
  (void)unused;
  noted("throttled_pct", "9.9"); // 4.95 % of two processors
  assert_int_equal(ask_rule("F39"), 0);
}

static void test_f39_of_a_hypervisor(void **unused)
{
  (void)unused;
  noted("steal_pct", "10");
  assert_int_equal(ask_rule("F39"), 1);
  assert_true(isnan(found_number(0, "saving_ms")));
}

// ---- F61 -------------------------------------------------------------------------------------------------------------
// A session of ONNX Runtime: three times `first` of 100 µs, then a normalization and an activation of `each_us`.
static void session(const char *first, const char *normalization, const char *activation, int64_t each_us)
{
  fixture_run(&fixture, "M/L", 1);
  fixture_model(&fixture, MS, false);
  int64_t at = 0;
  for (int i = 0; i < 9; i++) {
    const char *type = i % 3 == 0 ? first : i % 3 == 1 ? normalization : activation;
    int64_t us = i % 3 == 0 ? 100 : each_us;
    char name[16];
    snprintf(name, sizeof name, "n%d", i);
    fixture_layer(&fixture, &(struct fixture_layer){name, type, "[1,8,32,32]", NULL, i, UNKNOWN_BYTES}, at, us * US);
    fixture_words(&fixture, fixture.span_id, "provider", "CPUExecutionProvider");
    at += us * US;
  }
}

static void test_f61(void **unused)
{
  (void)unused;
  session("Conv", "BatchNormalization", "Relu", 20);
  assert_int_equal(ask_rule("F61"), 1);
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.12); // what convolutions gain besides is unknown
  assert_non_null(strstr(found_text(0, "title"), "6 normalizations and activations"));
}

static void test_f61_is_silent_about_little(void **unused)
{
  (void)unused;
  session("Conv", "BatchNormalization", "Relu", 4);
  assert_int_equal(ask_rule("F61"), 0);
}

// As an optimized residual network has them: activations are in the convolutions, or after sums.
static void test_f61_is_silent_about_an_optimized_graph(void **unused)
{
  (void)unused;
  session("Conv", "Add", "Relu", 20);
  assert_int_equal(ask_rule("F61"), 0);
}

static void test_f61_is_silent_about_a_dense_network(void **unused)
{
  (void)unused;
  session("Concat", "BatchNormalization", "Relu", 20);
  assert_int_equal(ask_rule("F61"), 0);
}

// Which activations are folded into products depends on their types.
static void test_f61_is_silent_about_products(void **unused)
{
  (void)unused;
  session("Gemm", "Clip", "Relu", 20);
  assert_int_equal(ask_rule("F61"), 0);
}

static void test_f61_is_silent_about_gates(void **unused)
{
  (void)unused;
  session("Conv", "HardSigmoid", "Mul", 20);
  assert_int_equal(ask_rule("F61"), 0);
}

static void test_f61_is_silent_about_a_blocked_layout(void **unused)
{
  (void)unused;
  session("Conv", "Relu", "ReorderOutput", 20);
  assert_int_equal(ask_rule("F61"), 0);
}

// ---- F62 -------------------------------------------------------------------------------------------------------------
static void linked(int64_t id, int64_t sequence, bool is_backward)
{
  fixture_int(&fixture, id, "sequence", sequence);
  if (is_backward)
    fixture_int(&fixture, id, "forward_thread", 10);
}

// A step with two products; below the first one's gradient, checkpointing a function of `file` computes that product again for
// `again_us`.
static void checkpointed(const char *file, int64_t again_us)
{
  fixture_run(&fixture, "M/L", 1);
  uint32_t forward = python(0, "Net.forward", FILE_OF, 27);
  uint32_t library = python(forward, "checkpoint", file, 495);
  uint32_t block = python(library, "Block.forward", FILE_OF, 14);
  int64_t at = step(MS);
  linked(operator_at(block, "aten::addmm", at, 100 * US), 5, false);
  linked(operator_at(forward, "aten::addmm", at + 100 * US, 100 * US), 6, false);
  linked(backward_at(forward, "AddmmBackward0", at + 300 * US, 100 * US), 6, true);
  linked(backward_at(block, "AddmmBackward0", at + 400 * US, 400 * US), 5, true);
  linked(operator_at(fixture.context_id, "aten::addmm", at + 400 * US, again_us * US), 9, false);
}

static void test_f62(void **unused)
{
  (void)unused;
  checkpointed(TORCH "utils/checkpoint.py", 60);
  assert_int_equal(ask_rule("F62"), 1);
  ASSERT_NEAR(found_number(0, "line"), 27);
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.06);
}

static void test_f62_is_silent_about_little(void **unused)
{
  (void)unused;
  checkpointed(TORCH "utils/checkpoint.py", 49);
  assert_int_equal(ask_rule("F62"), 0);
}

// A function with a backward pass of its own, which computes with gradients there.
static void test_f62_is_silent_about_other_functions(void **unused)
{
  (void)unused;
  checkpointed(FILE_OF, 60);
  assert_int_equal(ask_rule("F62"), 0);
}

// ---- F65 -------------------------------------------------------------------------------------------------------------
static void gradient(uint32_t caller, bool adds, int64_t at)
{
  fixture.context_id = caller;
  fixture_span_in(&fixture, XSP_LEVEL_LAYER, "wrapper",
                  "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", at, 10 * US);
  backward_at(caller, "torch::autograd::AccumulateGrad", at, 10 * US);
  if (adds)
    operator_at(fixture.context_id, "aten::add_", at + US, 8 * US);
}

// Steps of 1 ms: the gradients of `trained` parameters of a head are set, then, in steps from `from` on, others are added up to.
struct transfer {
  int steps, trained, from;
  int cleared, odd; // this step adds to none; it sets one less; 0: no step
  int only_last;    // of the steps, only this one runs `last`; 0: all
  bool twice;
  const char *last; // an operator at the end of each step
};

static size_t transfer(const struct transfer *how)
{
  fixture_run(&fixture, "A/M/L", 1);
  uint32_t main = python(0, "main", FILE_OF, 27), passes = python(0, "main", FILE_OF, 29);
  uint32_t head = python(main, "Net.forward", FILE_OF, 12);
  uint32_t body = python(python(main, "Net.forward", FILE_OF, 11), "Block.forward", FILE_OF, 5);
  for (int i = 0; i < how->steps; i++) {
    int64_t at = step(MS);
    for (int k = 0; k <= how->twice; k++)
      fixture_span_in(&fixture, XSP_LEVEL_APPLICATION, "backward", "backward", at + k * 500 * US, 400 * US);
    fixture.context_id = head;
    fixture_span_in(&fixture, XSP_LEVEL_LAYER, "wrapper", "autograd::engine::evaluate_function: MmBackward0", at,
                    50 * US);
    for (int k = how->odd != 0 && i == how->odd; k < how->trained; k++)
      gradient(passes, false, at + 60 * US + k * 10 * US);
    fixture.context_id = body;
    fixture_span_in(&fixture, XSP_LEVEL_LAYER, "wrapper", "autograd::engine::evaluate_function: ConvolutionBackward0",
                    at + 100 * US, 100 * US);
    gradient(passes, i >= how->from && (how->cleared == 0 || i != how->cleared), at + 200 * US);
    if (how->last != NULL && (how->only_last == 0 || i == how->only_last))
      operator_at(passes, how->last, at + 900 * US, US);
  }
  return ask_rule("F65");
}

static void test_f65(void **unused)
{
  (void)unused;
  assert_int_equal(transfer(&(struct transfer){.steps = 5, .trained = 2, .from = 1}), 1);
  ASSERT_NEAR(found_number(0, "line"), 11);
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.11);
  assert_non_null(strstr(found_text(0, "title"), "train.py:29"));
}

static void test_f65_is_silent_where_all_are_cleared(void **unused)
{
  (void)unused;
  assert_int_equal(transfer(&(struct transfer){.steps = 5, .trained = 2, .from = 5}), 0);
}

// zero_grad(set_to_none=False)
static void test_f65_is_silent_where_all_are_zeroed(void **unused)
{
  (void)unused;
  assert_int_equal(transfer(&(struct transfer){.steps = 5, .from = 1}), 0);
}

// A discriminator's gradients are added up to by the generator's pass, and cleared for its own.
static void test_f65_is_silent_where_not_each_step_adds(void **unused)
{
  (void)unused;
  assert_int_equal(transfer(&(struct transfer){.steps = 5, .trained = 2, .from = 2}), 0);
}

// p.grad.zero_(), with an optimizer by hand.
static void test_f65_is_silent_where_others_are_zeroed(void **unused)
{
  (void)unused;
  assert_int_equal(transfer(&(struct transfer){.steps = 5, .trained = 2, .from = 1, .last = "aten::zero_"}), 0);
}

static void test_f65_is_silent_where_others_are_zeroed_at_once(void **unused)
{
  (void)unused;
  assert_int_equal(transfer(&(struct transfer){.steps = 5, .trained = 2, .from = 1, .last = "aten::_foreach_zero_"}),
                   0);
}

// Gradients that are accumulated over 25 steps.
static void test_f65_is_silent_where_others_are_cleared_at_times(void **unused)
{
  (void)unused;
  assert_int_equal(transfer(&(struct transfer){.steps = 40, .trained = 2, .from = 1, .cleared = 25}), 0);
}

static void test_f65_is_silent_where_others_are_zeroed_at_times(void **unused)
{
  (void)unused;
  const struct transfer how = {.steps = 40, .trained = 2, .from = 1, .last = "aten::zero_", .only_last = 25};
  assert_int_equal(transfer(&how), 0);
}

static void test_f65_of_a_last_step_with_other_parameters(void **unused)
{
  (void)unused;
  assert_int_equal(transfer(&(struct transfer){.steps = 40, .trained = 2, .from = 1, .odd = 39}), 1);
}

static void test_f65_is_silent_about_two_passes(void **unused)
{
  (void)unused;
  assert_int_equal(transfer(&(struct transfer){.steps = 5, .trained = 2, .from = 1, .twice = true}), 0);
}

// ---- F64 -------------------------------------------------------------------------------------------------------------
// Ten steps, of which each `every`th evaluates for 8.6 of 10 ms. All call `other` for 0.5 ms, or in further 10 ms for its gradient.
static void evaluated_in(const char *file, const char *function, int every, const char *other, bool trains)
{
  fixture_run(&fixture, "M/L", 1);
  uint32_t main = python(0, "main", FILE_OF, 30), evaluate = python(main, function, file, 13),
           beside = python(main, other, FILE_OF, 20);
  for (int i = 0; i < 10; i++) {
    int64_t at = step(trains ? 20 * MS : 10 * MS);
    operator_at(main, "aten::addmm", at, 200 * US);
    backward_at(main, "AddmmBackward0", at + 200 * US, 200 * US);
    if (i % every == 0)
      operator_at(evaluate, "aten::addmm", at + 400 * US, 8600 * US);
    operator_at(beside, "aten::isfinite", at + 9 * MS, 500 * US);
    if (trains)
      backward_at(beside, "AddmmBackward0", at + 10 * MS, 10 * MS);
  }
}

static void evaluated(const char *function, int every, const char *other, bool trains)
{
  evaluated_in(FILE_OF, function, every, other, trains);
}

static void test_f64_of_libraries_that_train(void **unused)
{
  (void)unused;
  evaluated_in("/venv/lib/python3.11/site-packages/transformers/trainer.py", "Trainer.evaluate", 1, "look", false);
  assert_int_equal(ask_rule("F64"), 1);
  ASSERT_NEAR(found_number(0, "line"), 30); // the program's own
}

static void test_f64_is_silent_about_other_libraries(void **unused)
{
  (void)unused;
  evaluated_in(TORCH "nn/functional.py", "evaluate", 1, "look", false);
  assert_int_equal(ask_rule("F64"), 0);
}

// Two thirds of the operators' time, a third of the loop. Trainers read batches and count between operators; a function of the program may
// be about anything, such as targets for a policy that acts in a simulation.
static size_t light(const char *file, const char *function)
{
  fixture_run(&fixture, "M/L", 1);
  uint32_t main = python(0, "main", FILE_OF, 30), evaluate = python(main, function, file, 13);
  for (int i = 0; i < 10; i++) {
    int64_t at = step(10 * MS);
    operator_at(main, "aten::addmm", at, 800 * US);
    backward_at(main, "AddmmBackward0", at + MS, 800 * US);
    operator_at(evaluate, "aten::addmm", at + 3 * MS, 3300 * US);
  }
  return ask_rule("F64");
}

static void test_f64_beside_what_is_in_no_operator(void **unused)
{
  (void)unused;
  assert_int_equal(light("/venv/lib/python3.11/site-packages/transformers/trainer.py", "Trainer.evaluate"), 1);
  ASSERT_NEAR(found_number(0, "saving_ms"), 3.3);
  ASSERT_NEAR(found_number(0, "share_pct"), 100 * 3.3 / 4.9);
}

static void test_f64_is_silent_about_little_of_the_loop(void **unused)
{
  (void)unused;
  assert_int_equal(light(FILE_OF, "evaluate_targets"), 0);
}

static void test_f64(void **unused)
{
  (void)unused;
  evaluated("evaluate", 1, "look", false);
  assert_int_equal(ask_rule("F64"), 1);
  ASSERT_NEAR(found_number(0, "line"), 13);
  ASSERT_NEAR(found_number(0, "saving_ms"), 8.6);
  assert_non_null(strstr(found_text(0, "title"), "10 of 10 training steps"));
}

static void test_f64_is_silent_about_one_evaluation(void **unused)
{
  (void)unused;
  evaluated("evaluate", 2, "look", false);
  assert_int_equal(ask_rule("F64"), 0);
}

// All steps have one of the two functions, half of them the one that takes long.
static void test_f64_counts_steps_of_one_function(void **unused)
{
  (void)unused;
  evaluated("evaluate", 2, "validate_logits", false);
  assert_int_equal(ask_rule("F64"), 0);
}

static size_t named(const char *function, void **unused)
{
  findings_test_done(unused);
  findings_test_start(unused);
  evaluated(function, 1, "look", false);
  return ask_rule("F64");
}

static void test_f64_is_silent_about_another_function(void **unused)
{
  (void)unused;
  static const char *const names[] = {"teach", "retrieval", "MedievalNet.forward", "latest", "invalidate"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    assert_int_equal(named(names[i], unused), 0);
  }
}

static void test_f64_matches_words_of_names(void **unused)
{
  (void)unused;
  static const char *const names[] = {"Trainer.evaluate", "run_eval", "validate", "do_validation", "test_epoch"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    assert_int_equal(named(names[i], unused), 1);
  }
}

static void test_f64_is_silent_about_what_trains(void **unused)
{
  (void)unused;
  evaluated("look", 1, "evaluate_actions", true);
  assert_int_equal(ask_rule("F64"), 0);
}

// As policies that are trained by proximal optimization.
static void test_f64_beside_what_trains(void **unused)
{
  (void)unused;
  evaluated("evaluate", 1, "evaluate_actions", true);
  assert_int_equal(ask_rule("F64"), 1);
  ASSERT_NEAR(found_number(0, "line"), 13);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(test_f18),
      TEST(test_f18_of_a_folded_file),
      TEST(test_f18_is_silent),
      TEST(test_f18_is_silent_about_a_result_of_each_call),
      TEST(test_f19),
      TEST(test_f19_bound_is_without_waits_for_a_processor),
      TEST(test_f19_bound_on_a_busy_machine),
      TEST(test_f19_bound_by_samples_of_cpu_time),
      TEST(test_one_cause_in_a_function_is_one_finding),
      TEST(test_places_together_yield_to_what_is_around_them),
      TEST(test_f19_is_silent_about_fused_ones),
      TEST(test_f19_of_a_folded_file),
      TEST(test_f19_is_silent_about_fused_ones_of_a_folded_file),
      TEST(test_f19_is_silent_about_a_closure),
      TEST(test_f20),
      TEST(test_f20_bound_is_of_the_shortest_early_step),
      TEST(test_chains_yield_to_a_growing_graph),
      TEST(test_what_is_left_out_explains_nothing),
      TEST(test_small_operators_beside_a_growing_graph),
      TEST(test_f20_is_silent_about_equal_steps),
      TEST(test_f20_is_silent_about_longer_sequences),
      TEST(test_f39),
      TEST(test_f39_is_silent),
      TEST(test_f39_of_a_hypervisor),
      TEST(test_f61),
      TEST(test_f61_is_silent_about_little),
      TEST(test_f61_is_silent_about_an_optimized_graph),
      TEST(test_f61_is_silent_about_a_dense_network),
      TEST(test_f61_is_silent_about_products),
      TEST(test_f61_is_silent_about_gates),
      TEST(test_f61_is_silent_about_a_blocked_layout),
      TEST(test_f65),
      TEST(test_f65_is_silent_where_all_are_cleared),
      TEST(test_f65_is_silent_where_all_are_zeroed),
      TEST(test_f65_is_silent_where_not_each_step_adds),
      TEST(test_f65_is_silent_where_others_are_zeroed),
      TEST(test_f65_is_silent_where_others_are_zeroed_at_once),
      TEST(test_f65_is_silent_where_others_are_cleared_at_times),
      TEST(test_f65_is_silent_where_others_are_zeroed_at_times),
      TEST(test_f65_of_a_last_step_with_other_parameters),
      TEST(test_f65_is_silent_about_two_passes),
      TEST(test_f62),
      TEST(test_f62_is_silent_about_little),
      TEST(test_f62_is_silent_about_other_functions),
      TEST(test_f64_of_libraries_that_train),
      TEST(test_f64_is_silent_about_other_libraries),
      TEST(test_f64_beside_what_is_in_no_operator),
      TEST(test_f64_is_silent_about_little_of_the_loop),
      TEST(test_f64),
      TEST(test_f64_is_silent_about_one_evaluation),
      TEST(test_f64_counts_steps_of_one_function),
      TEST(test_f64_is_silent_about_another_function),
      TEST(test_f64_matches_words_of_names),
      TEST(test_f64_is_silent_about_what_trains),
      TEST(test_f64_beside_what_trains),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
