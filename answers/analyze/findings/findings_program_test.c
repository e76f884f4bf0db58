// SPDX-License-Identifier: Apache-2.0
// F18 to F28, F34, F39, F58 and F60 over programs with known answers: each names its fault with its line, and is silent about the same
// program without.
#include "analyze/findings/test_findings.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <xsp/call_path.h>

#define FILE_OF "/home/me/train.py"
#define TORCH "/venv/lib/python3.11/site-packages/torch/"

static uint32_t python(uint32_t caller, const char *name, const char *file, int64_t line)
{
  return fixture_frame(&fixture, caller, XSP_FRAME_PYTHON, name, file, line);
}

// An operator that a line calls.
static int64_t operator_at(uint32_t caller, const char *name, int64_t start_ns, int64_t duration_ns)
{
  fixture.context_id = fixture_frame(&fixture, caller, XSP_FRAME_FRAMEWORK, name, NULL, 0);
  return fixture_span(&fixture, XSP_LEVEL_LAYER, name, start_ns, duration_ns);
}

static int64_t backward_at(uint32_t caller, const char *name, int64_t start_ns, int64_t duration_ns)
{
  fixture.context_id = fixture_frame(&fixture, caller, XSP_FRAME_FRAMEWORK, name, NULL, 0);
  return fixture_span_in(&fixture, XSP_LEVEL_LAYER, "backward", name, start_ns, duration_ns);
}

static int64_t step(int64_t duration_ns)
{
  fixture.context_id = 0;
  int64_t start_ns = fixture.now_ns;
  fixture_model(&fixture, duration_ns, false);
  return start_ns;
}

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
  ASSERT_NEAR(found_number(0, "saving_ms"), 10 * 0.5 * 0.99); // not ten times 1.97 ms
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

// ---- F21 and F22 -----------------------------------------------------------------------------------------------------
static void calls(const char *const *signatures, size_t count)
{
  fixture_run(&fixture, "M/L", 1);
  uint32_t main = python(0, "main", FILE_OF, 16);
  for (size_t i = 0; i < count; i++) {
    int64_t at = step(MS);
    fixture_words(&fixture, fixture.span_id, "signature", signatures[i]);
    operator_at(main, "aten::addmm", at + US, 500 * US);
  }
}

static void test_f21(void **unused)
{
  (void)unused;
  static const char *const growing[] = {"ids=int64[1,10]", "ids=int64[1,11]", "ids=int64[1,12]",
                                        "ids=int64[1,13]", "ids=int64[1,14]", "ids=int64[1,15]",
                                        "ids=int64[1,16]", "ids=int64[1,17]", "ids=int64[1,18]"};
  calls(growing, 9);
  assert_int_equal(ask_rule("F21"), 1);
  ASSERT_NEAR(found_number(0, "line"), 16);
  ASSERT_NEAR(found_number(0, "time_ms"), 8. / 9);
  assert_string_equal(found_text(0, "confidence"), "high");
}

// Of other numbers than token ids these may be two epochs over batches that are sorted by their lengths.
static void test_f21_is_less_sure_without_token_ids(void **unused)
{
  (void)unused;
  char signatures[24][32];
  const char *sorted[24];
  for (int i = 0; i < 24; i++) {
    snprintf(signatures[i], sizeof signatures[i], "x=float32[8,%d,64]", 16 + i % 12);
    sorted[i] = signatures[i];
  }
  calls(sorted, 24);
  assert_int_equal(ask_rule("F21"), 1);
  assert_string_equal(found_text(0, "confidence"), "medium");
}

static void test_f21_names_the_line_that_calls_the_model(void **unused)
{
  (void)unused;
  fixture_run(&fixture, "M/L", 1);
  uint32_t call = python(python(0, "sample", FILE_OF, 16), "Module._call_impl", TORCH "nn/modules/module.py", 1798);
  uint32_t forward =
      python(python(call, "GPT.forward", FILE_OF, 5), "Module._call_impl", TORCH "nn/modules/module.py", 1798);
  for (int i = 0; i < 9; i++) {
    char signature[32];
    int64_t at = step(MS);
    snprintf(signature, sizeof signature, "ids=int64[1,%d]", 10 + i);
    fixture_words(&fixture, fixture.span_id, "signature", signature);
    operator_at(python(forward, "Block.forward", FILE_OF, 3), "aten::addmm", at + US, 500 * US);
  }
  assert_int_equal(ask_rule("F21"), 1);
  ASSERT_NEAR(found_number(0, "line"), 16);
}

static void test_f21_is_silent_with_a_cache(void **unused)
{
  (void)unused;
  static const char *const cached[] = {"ids=int64[1,10]", "ids=int64[1,1]", "ids=int64[1,1]",
                                       "ids=int64[1,1]",  "ids=int64[1,1]", "ids=int64[1,1]",
                                       "ids=int64[1,1]",  "ids=int64[1,1]", "ids=int64[1,1]"};
  calls(cached, 9);
  assert_int_equal(ask_rule("F21"), 0);
}

// Two epochs over batches that are sorted by their lengths.
static void test_f21_is_silent_about_few_calls_in_a_row(void **unused)
{
  (void)unused;
  static const char *const sorted[] = {"float32[8,16,64]", "float32[8,17,64]", "float32[8,18,64]", "float32[8,19,64]",
                                       "float32[8,20,64]", "float32[8,16,64]", "float32[8,17,64]", "float32[8,18,64]",
                                       "float32[8,19,64]", "float32[8,20,64]"};
  calls(sorted, 10);
  assert_int_equal(ask_rule("F21"), 0);
}

static void test_f22(void **unused)
{
  (void)unused;
  static const char *const doubles[] = {"float64[64,512]", "float64[64,512]"};
  calls(doubles, 2);
  assert_int_equal(ask_rule("F22"), 1);
  ASSERT_NEAR(found_number(0, "line"), 16);
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.25); // half of the operators' time
}

static void test_f22_of_xla(void **unused)
{
  (void)unused;
  static const char *const doubles[] = {"f64[256,256], f64[256]", "f64[256,256], f64[256]"};
  calls(doubles, 2);
  assert_int_equal(ask_rule("F22"), 1);
}

static void test_f22_is_silent(void **unused)
{
  (void)unused;
  static const char *const floats[] = {"float32[64,512]", "float32[64,512]"};
  calls(floats, 2);
  assert_int_equal(ask_rule("F22"), 0);
}

// ---- F23 -------------------------------------------------------------------------------------------------------------
static int64_t inference(bool has_graph, bool has_backward)
{
  fixture_run(&fixture, "M/L", 1);
  uint32_t main = python(0, "main", FILE_OF, 15);
  int64_t at = step(MS);
  fixture_words(&fixture, fixture.span_id, "signature", "float32[8,128]");
  for (int i = 0; i < 4; i++) {
    int64_t id = operator_at(main, "aten::addmm", at + i * 100 * US, 100 * US);
    if (has_graph)
      fixture_int(&fixture, id, "sequence", 5 + i);
  }
  if (has_backward)
    backward_at(main, "AddmmBackward0", at + 500 * US, 100 * US);
  return at;
}

static void without_gradients(int64_t dropout_us)
{
  int64_t at = inference(false, false) + 600 * US;
  uint32_t layer = python(0, "main", FILE_OF, 20);
  operator_at(layer, "aten::dropout", at, dropout_us * US);
  operator_at(fixture.context_id, "aten::bernoulli_", at, dropout_us * US - US);
}

static void test_f23(void **unused)
{
  (void)unused;
  (void)inference(true, false);
  assert_int_equal(ask_rule("F23"), 1);
  ASSERT_NEAR(found_number(0, "line"), 15);
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.6); // outside of operators
}

static void test_f23_is_silent_without_a_graph(void **unused)
{
  (void)unused;
  (void)inference(false, false);
  assert_int_equal(ask_rule("F23"), 0);
}

static void test_f23_names_dropout_without_gradients(void **unused)
{
  (void)unused;
  without_gradients(60);
  assert_int_equal(ask_rule("F23"), 1);
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.06);
}

static void test_f23_is_silent_at_little_dropout(void **unused)
{
  (void)unused;
  without_gradients(40);
  assert_int_equal(ask_rule("F23"), 0);
}

static void test_f23_is_silent_in_training(void **unused)
{
  (void)unused;
  (void)inference(true, true);
  assert_int_equal(ask_rule("F23"), 0);
}

// ---- F24 and F25 -----------------------------------------------------------------------------------------------------
static void regions(int count)
{
  fixture_run(&fixture, "M/L", 1);
  uint32_t main = python(0, "main", FILE_OF, 32), layer = python(main, "Layer.forward", FILE_OF, 16);
  int64_t at = step(MS);
  for (int i = 0; i < count; i++)
    operator_at(i == 0 ? main : layer, "Torch-Compiled Region: 1/0", at + i * 100 * US, 50 * US);
}

static void test_f24(void **unused)
{
  (void)unused;
  regions(4);
  assert_int_equal(ask_rule("F24"), 1);
  ASSERT_NEAR(found_number(0, "line"), 16); // where the model goes on after a break
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.75);
}

static void test_f24_is_silent_about_one_region(void **unused)
{
  (void)unused;
  regions(1);
  assert_int_equal(ask_rule("F24"), 0);
}

static void compilations(int count)
{
  fixture_run(&fixture, "M/L", 1);
  uint32_t main = python(0, "main", FILE_OF, 32);
  for (int i = 0; i < 10; i++) {
    int64_t at = step(MS);
    fixture.context_id = fixture_frame(&fixture, main, XSP_FRAME_FRAMEWORK, "torch.compile", NULL, 0);
    if (i < count)
      fixture_span_in(&fixture, XSP_LEVEL_APPLICATION, "compile", "torch.compile", at, 500 * US);
  }
}

static void test_f25(void **unused)
{
  (void)unused;
  compilations(4);
  assert_int_equal(ask_rule("F25"), 1);
  ASSERT_NEAR(found_number(0, "line"), 32);
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.15); // the first does not count
}

// Functions that the loop calls later for the first time.
static void test_f25_is_silent_about_the_first_of_each_function(void **unused)
{
  (void)unused;
  fixture_run(&fixture, "M/L", 1);
  for (int i = 0; i < 10; i++) {
    int64_t id = fixture_span_in(&fixture, XSP_LEVEL_APPLICATION, "compile", "jax.jit compilation", step(MS), 500 * US);
    fixture_words(&fixture, id, "compile_id", i < 4 ? "4/1" : i % 2 == 0 ? "5/0" : "6/0");
  }
  assert_int_equal(ask_rule("F25"), 1);
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.15);
}

// Each kind of reason has the advice of its framework.
static void tracings(const char *reason, const char *advice)
{
  fixture_run(&fixture, "M/L", 1);
  for (int i = 0; i < 10; i++) {
    int64_t id = fixture_span_in(&fixture, XSP_LEVEL_APPLICATION, "compile", "tf.function", step(MS), 500 * US);
    fixture_words(&fixture, id, "reason", reason);
  }
  assert_int_equal(ask_rule("F25"), 1);
  assert_string_equal(found_text(0, "context"), "tf.function");
  assert_non_null(strstr(found_text(0, "advice"), advice));
  assert_null(strstr(found_text(0, "advice"), "mark_dynamic"));
}

static void test_f25_of_shapes_of_tf_function(void **unused)
{
  (void)unused;
  tracings("argument x mismatch. expected TensorSpec(shape=(2, 3)), actual TensorSpec(shape=(2, 4))",
           "reduce_retracing=True");
}

static void test_f25_of_values_of_tf_function(void **unused)
{
  (void)unused;
  tracings("argument rate == 0.5, now 0.25: a value of Python's", "tensors instead of Python numbers");
}

static void test_f25_is_silent_about_the_first(void **unused)
{
  (void)unused;
  compilations(3);
  assert_int_equal(ask_rule("F25"), 0);
}

// ---- F26 -------------------------------------------------------------------------------------------------------------
// `fill_us`: of the backward pass, that clears the gradient.
static void embedding(const char *name, const char *backward, int64_t backward_us, int64_t fill_us)
{
  fixture_run(&fixture, "M/L", 1);
  uint32_t main = python(0, "main", FILE_OF, 24), forward = python(main, "forward", FILE_OF, 13),
           update = python(0, "main", FILE_OF, 27), adam = python(update, "Adam.step", TORCH "optim/adam.py", 100);
  int64_t at = step(MS);
  operator_at(forward, name, at, 10 * US);
  backward_at(forward, backward, at + 100 * US, backward_us * US);
  operator_at(fixture.context_id, "aten::fill_", at + 101 * US, fill_us * US);
  operator_at(adam, "aten::mul_", at + 500 * US, 400 * US);
}

static void test_f26(void **unused)
{
  (void)unused;
  embedding("aten::embedding", "EmbeddingBackward0", 60, 50);
  assert_int_equal(ask_rule("F26"), 1);
  ASSERT_NEAR(found_number(0, "line"), 27); // most is in the optimizer
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.44);
}

static void test_f26_of_bags(void **unused)
{
  (void)unused;
  embedding("aten::embedding_bag", "EmbeddingBagBackward0", 60, 50);
  assert_int_equal(ask_rule("F26"), 1);
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.44);
}

static void test_f26_is_silent_at_its_ratio(void **unused)
{
  (void)unused;
  embedding("aten::embedding", "EmbeddingBackward0", 50, 40);
  assert_int_equal(ask_rule("F26"), 0);
}

static void test_f26_is_silent_about_a_small_table(void **unused)
{
  (void)unused;
  embedding("aten::embedding", "EmbeddingBackward0", 60, 1); // many rows are added up
  assert_int_equal(ask_rule("F26"), 0);
}

// ---- F27 -------------------------------------------------------------------------------------------------------------
static void chain(const char *file)
{
  static const char *const names[] = {"aten::mul", "aten::tanh", "aten::add", "aten::pow"};
  fixture_run(&fixture, "M/L", 1);
  uint32_t gelu = python(python(0, "main", FILE_OF, 40), "gelu", file, 9);
  int64_t at = step(MS);
  for (int i = 0; i < 4; i++)
    operator_at(gelu, names[i], at + i * 100 * US, 100 * US);
  backward_at(gelu, "TanhBackward0", at + 500 * US, 100 * US);
}

static void test_f27(void **unused)
{
  (void)unused;
  chain(FILE_OF);
  assert_int_equal(ask_rule("F27"), 1);
  assert_string_equal(found_text(0, "context"), "gelu");
  ASSERT_NEAR(found_number(0, "line"), 9);
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.375); // three quarters of 500 us
}

static void copies_in_chain(const char *name, const char *third)
{
  const char *const names[] = {"aten::mul", "aten::mul", third};
  fixture_run(&fixture, "M/L", 1);
  uint32_t update = python(python(0, "main", FILE_OF, 40), "update", FILE_OF, 9);
  int64_t at = step(MS);
  for (int i = 0; i < 3; i++)
    operator_at(update, names[i], at + i * 100 * US, 100 * US);
  operator_at(update, name, at + 300 * US, 100 * US);
}

static void test_f27_of_copies(void **unused)
{
  (void)unused;
  copies_in_chain("aten::clone", "aten::add");
  assert_int_equal(ask_rule("F27"), 1);
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.3);
}

static void test_f27_is_silent_about_mere_copies(void **unused)
{
  (void)unused;
  fixture.request.thresholds = (const char *[]){"elementwise-operators=3"};
  fixture.request.threshold_count = 1;
  copies_in_chain("aten::view", "aten::clone");
  assert_int_equal(ask_rule("F27"), 0);
}

static void test_f27_is_silent_about_views(void **unused)
{
  (void)unused;
  copies_in_chain("aten::view", "aten::add");
  assert_int_equal(ask_rule("F27"), 0);
}

static void test_f27_is_silent_about_installed_code(void **unused)
{
  (void)unused;
  chain(TORCH "nn/functional.py");
  assert_int_equal(ask_rule("F27"), 0);
}

// A block of a model, called at two lines: an elementwise operator at each of its lines, and a product at all or at one of them.
static void block(bool between)
{
  fixture_run(&fixture, "M/L", 1);
  int64_t at = step(4 * MS);
  for (int i = 0; i < 2; i++) {
    uint32_t unet = python(0, "UNet.forward", FILE_OF, 40 + i);
    for (int line = 12; line < 17; line++) {
      uint32_t forward = python(unet, "Residual.forward", FILE_OF, line);
      uint32_t module = python(forward, "Conv2d.forward", TORCH "nn/modules/conv.py", 500);
      operator_at(forward, "aten::mul", at, 200 * US);
      operator_at(module, between || line == 12 ? "aten::conv2d" : "aten::max_pool2d", at + 200 * US, 100 * US);
      at += 300 * US;
    }
  }
}

static void test_f27_is_silent_about_operators_between_products(void **unused)
{
  (void)unused;
  block(true);
  assert_int_equal(ask_rule("F27"), 0);
}

static void test_f27_counts_a_call_at_each_place(void **unused)
{
  (void)unused;
  block(false);
  assert_int_equal(ask_rule("F27"), 1);
  assert_non_null(strstr(found_text(0, "title"), " 4 elementwise"));
  ASSERT_NEAR(found_number(0, "saving_ms"), 1.2); // three quarters of 8 times 200 us
}

static void test_f27_leaves_lines_of_products_out(void **unused)
{
  (void)unused;
  fixture.request.thresholds = (const char *[]){"elementwise-operators=0"};
  fixture.request.threshold_count = 1;
  block(false);
  assert_int_equal(ask_rule("F27"), 1);
  ASSERT_NEAR(found_number(0, "saving_ms"), 1.2);
}

// ---- F28 -------------------------------------------------------------------------------------------------------------
static void indexing(int64_t backward_us)
{
  fixture_run(&fixture, "M/L", 1);
  uint32_t sample = python(0, "sample", FILE_OF, 9);
  int64_t at = step(MS);
  operator_at(sample, "aten::index", at, 100 * US);
  backward_at(sample, "IndexBackward0", at + 500 * US, backward_us * US);
}

static void test_f28(void **unused)
{
  (void)unused;
  indexing(50);
  assert_int_equal(ask_rule("F28"), 1);
  ASSERT_NEAR(found_number(0, "line"), 9);
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.15);
}

static void test_f28_is_silent_below_its_share(void **unused)
{
  (void)unused;
  indexing(49);
  assert_int_equal(ask_rule("F28"), 0);
}

// ---- F58 -------------------------------------------------------------------------------------------------------------
static void positions(int count, const char *each)
{
  fixture_run(&fixture, "M/L", 1);
  uint32_t forward = python(0, "forward", FILE_OF, 24);
  uint32_t cell = python(forward, "LSTMCell.forward", TORCH "nn/modules/rnn.py", 1500);
  int64_t at = step(4 * MS);
  for (int i = 0; i < count; i++) {
    operator_at(cell, "aten::lstm_cell", at + i * 20 * US, 10 * US);
    operator_at(forward, each, at + i * 20 * US + 10 * US, 10 * US);
  }
  backward_at(cell, "AddmmBackward0", at + 2 * MS, 160 * US);
}

static void test_f58(void **unused)
{
  (void)unused;
  positions(32, "aten::select");
  assert_int_equal(ask_rule("F58"), 1);
  ASSERT_NEAR(found_number(0, "line"), 24);
  ASSERT_NEAR(found_number(0, "time_ms"), 0.48); // of cells alone
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.4);
  assert_string_equal(found_text(0, "confidence"), "medium");
}

// Also cells that are layers, called once each.
static void test_f58_is_silent_about_few_positions(void **unused)
{
  (void)unused;
  positions(31, "aten::select");
  assert_int_equal(ask_rule("F58"), 0);
}

static void test_f58_is_silent_about_a_decoder(void **unused)
{
  (void)unused;
  positions(40, "aten::multinomial");
  assert_int_equal(ask_rule("F58"), 0);
}

// ---- F60 -------------------------------------------------------------------------------------------------------------
static void product_at(uint32_t caller, const char *name, int64_t at)
{
  operator_at(caller, "aten::matmul", at, 100 * US);
  operator_at(fixture.context_id, name, at + 10 * US, 80 * US);
}

static void attention(const char *file, const char *product, int64_t between_us)
{
  fixture_run(&fixture, "M/L", 1);
  uint32_t main = python(0, "main", FILE_OF, 40);
  int64_t at = step(MS);
  operator_at(python(main, "Attention.forward", file, 20), "aten::mul", at, 50 * US); // before the products
  product_at(python(main, "Attention.forward", file, 21), product, at + 50 * US);
  operator_at(python(main, "Attention.forward", file, 22), "aten::_softmax", at + 150 * US, between_us * US);
  backward_at(python(main, "Attention.forward", file, 22), "SoftmaxBackward0", at + 350 * US, 40 * US);
  product_at(python(main, "Attention.forward", file, 23), "aten::bmm", at + 400 * US);
  backward_at(python(main, "Attention.forward", file, 23), "BmmBackward0", at + 500 * US, 200 * US);
  operator_at(python(main, "Attention.forward", file, 24), "aten::mul", at + 700 * US, 50 * US);
  product_at(python(main, "Attention.forward", file, 25), "aten::mm", at + 750 * US);
}

static void test_f60(void **unused)
{
  (void)unused;
  attention(FILE_OF, "aten::bmm", 160);
  assert_int_equal(ask_rule("F60"), 1);
  assert_string_equal(found_text(0, "context"), "Attention.forward");
  ASSERT_NEAR(found_number(0, "line"), 22);
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.2); // without products, and what is around both
}

static void test_f60_is_silent_below_its_share(void **unused)
{
  (void)unused;
  attention(FILE_OF, "aten::bmm", 159);
  assert_int_equal(ask_rule("F60"), 0);
}

static void test_f60_is_silent_about_installed_code(void **unused)
{
  (void)unused;
  attention(TORCH "nn/functional.py", "aten::bmm", 160);
  assert_int_equal(ask_rule("F60"), 0);
}

// h = x @ w1, softmax(h @ w2, 1), gate @ experts.
static void test_f60_is_silent_about_a_gate_of_experts(void **unused)
{
  (void)unused;
  attention(FILE_OF, "aten::mm", 160);
  assert_int_equal(ask_rule("F60"), 0);
}

// A classifier: x @ w, softmax, x.T @ gradient; nothing is a batch of products.
static void test_f60_is_silent_about_a_gradient_by_hand(void **unused)
{
  (void)unused;
  fixture_run(&fixture, "M/L", 1);
  int64_t at = step(MS);
  product_at(python(0, "step", FILE_OF, 21), "aten::mm", at);
  operator_at(python(0, "step", FILE_OF, 22), "aten::softmax", at + 100 * US, 400 * US);
  product_at(python(0, "step", FILE_OF, 23), "aten::mm", at + 500 * US);
  assert_int_equal(ask_rule("F60"), 0);
}

// With dropout on a CPU, PyTorch's operator runs products and softmax itself.
static void test_f60_is_silent_about_pytorchs_attention(void **unused)
{
  (void)unused;
  fixture_run(&fixture, "M/L", 1);
  int64_t at = step(2 * MS);
  product_at(python(0, "forward", FILE_OF, 21), "aten::bmm", at);
  operator_at(python(0, "forward", FILE_OF, 22), "aten::mul", at + 900 * US, 900 * US);
  operator_at(python(0, "forward", FILE_OF, 22), "aten::scaled_dot_product_attention", at + 100 * US, 600 * US);
  operator_at(fixture.context_id, "aten::_scaled_dot_product_attention_math", at + 100 * US, 600 * US);
  operator_at(fixture.context_id, "aten::softmax", at + 200 * US, 400 * US);
  product_at(python(0, "forward", FILE_OF, 23), "aten::bmm", at + 700 * US);
  assert_int_equal(ask_rule("F60"), 0);
}

// ---- which findings remain ---------------------------------------------------------------------------------------------
static void test_least_gain(void **unused)
{
  (void)unused;
  indexing(50);
  fixture.request.least_gain_pct = 15.1;
  assert_int_equal(ask_rule("F28"), 0);
}

// ---- F34 -------------------------------------------------------------------------------------------------------------
static void padded_batch(int64_t padded, int64_t spare)
{
  fixture_run(&fixture, "M/L", 1);
  int64_t id = fixture_span(&fixture, XSP_LEVEL_MODEL, "predict", 0, MS);
  fixture_int(&fixture, id, "positions", 100);
  fixture_int(&fixture, id, "padded", padded);
  fixture_int(&fixture, id, "spare", spare);
  operator_at(python(0, "train", FILE_OF, 25), "aten::addmm", 0, 800 * US);
}

static void test_f34_of_positions_to_spare(void **unused)
{
  (void)unused;
  padded_batch(49, 10);
  assert_int_equal(ask_rule("F34"), 1);
  ASSERT_NEAR(found_number(0, "line"), 25);
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.08);
}

static void test_f34_of_all_padding(void **unused)
{
  (void)unused;
  padded_batch(50, 9);
  assert_int_equal(ask_rule("F34"), 1);
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.4);
}

static void test_f34_is_silent(void **unused)
{
  (void)unused;
  padded_batch(49, 9);
  assert_int_equal(ask_rule("F34"), 0);
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
  noted("throttled_pct", "4.9");
  assert_int_equal(ask_rule("F39"), 0);
}

static void test_f39_of_a_hypervisor(void **unused)
{
  (void)unused;
  noted("steal_pct", "10");
  assert_int_equal(ask_rule("F39"), 1);
  assert_true(isnan(found_number(0, "saving_ms")));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(test_f18),
      TEST(test_f18_is_silent),
      TEST(test_f18_is_silent_about_a_result_of_each_call),
      TEST(test_f19),
      TEST(test_f19_bound_is_without_waits_for_a_processor),
      TEST(test_f19_bound_on_a_busy_machine),
      TEST(test_f19_bound_by_samples_of_cpu_time),
      TEST(test_one_cause_in_a_function_is_one_finding),
      TEST(test_places_together_yield_to_what_is_around_them),
      TEST(test_f19_is_silent_about_fused_ones),
      TEST(test_f19_is_silent_about_a_closure),
      TEST(test_f20),
      TEST(test_f20_bound_is_of_the_shortest_early_step),
      TEST(test_chains_yield_to_a_growing_graph),
      TEST(test_what_is_left_out_explains_nothing),
      TEST(test_small_operators_beside_a_growing_graph),
      TEST(test_f20_is_silent_about_equal_steps),
      TEST(test_f20_is_silent_about_longer_sequences),
      TEST(test_f21),
      TEST(test_f21_is_less_sure_without_token_ids),
      TEST(test_f21_names_the_line_that_calls_the_model),
      TEST(test_f21_is_silent_with_a_cache),
      TEST(test_f21_is_silent_about_few_calls_in_a_row),
      TEST(test_f22),
      TEST(test_f22_of_xla),
      TEST(test_f22_is_silent),
      TEST(test_f23),
      TEST(test_f23_is_silent_without_a_graph),
      TEST(test_f23_names_dropout_without_gradients),
      TEST(test_f23_is_silent_at_little_dropout),
      TEST(test_f23_is_silent_in_training),
      TEST(test_f24),
      TEST(test_f24_is_silent_about_one_region),
      TEST(test_f25),
      TEST(test_f25_is_silent_about_the_first_of_each_function),
      TEST(test_f25_of_shapes_of_tf_function),
      TEST(test_f25_of_values_of_tf_function),
      TEST(test_f25_is_silent_about_the_first),
      TEST(test_f26),
      TEST(test_f26_of_bags),
      TEST(test_f26_is_silent_at_its_ratio),
      TEST(test_f26_is_silent_about_a_small_table),
      TEST(test_f27),
      TEST(test_f27_of_copies),
      TEST(test_f27_is_silent_about_mere_copies),
      TEST(test_f27_is_silent_about_views),
      TEST(test_f27_is_silent_about_installed_code),
      TEST(test_f27_is_silent_about_operators_between_products),
      TEST(test_f27_counts_a_call_at_each_place),
      TEST(test_f27_leaves_lines_of_products_out),
      TEST(test_f28),
      TEST(test_f28_is_silent_below_its_share),
      TEST(test_f58),
      TEST(test_f58_is_silent_about_few_positions),
      TEST(test_f58_is_silent_about_a_decoder),
      TEST(test_f60),
      TEST(test_f60_is_silent_below_its_share),
      TEST(test_f60_is_silent_about_installed_code),
      TEST(test_f60_is_silent_about_a_gate_of_experts),
      TEST(test_f60_is_silent_about_a_gradient_by_hand),
      TEST(test_f60_is_silent_about_pytorchs_attention),
      TEST(test_least_gain),
      TEST(test_f34_of_positions_to_spare),
      TEST(test_f34_of_all_padding),
      TEST(test_f34_is_silent),
      TEST(test_f39),
      TEST(test_f39_is_silent),
      TEST(test_f39_of_a_hypervisor),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
