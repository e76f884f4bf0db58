// SPDX-License-Identifier: Apache-2.0
// The findings over experiments with known answers: each fires above its threshold and is silent at it; places, bounds, order.
#include "analyze/findings/test_findings.h"

#include <math.h>
#include <xsp/call_path.h>

// ---- F1 --------------------------------------------------------------------------------------------------------------
// Of 1 ms: one layer has 100 µs, the limit; the other `duration_ns`, at two places.
static void two_layers(int64_t duration_ns)
{
  fixture_run(&fixture, "M/L", 1);
  fixture_model(&fixture, MS, false);
  fixture_span(&fixture, XSP_LEVEL_LAYER, "limit", 0, 100 * US);
  fixture_span(&fixture, XSP_LEVEL_LAYER, "conv", 200 * US, duration_ns / 2);
  fixture_span(&fixture, XSP_LEVEL_LAYER, "conv", 500 * US, duration_ns / 2);
}

static void test_f1_is_above_its_threshold(void **unused)
{
  (void)unused;
  two_layers(102 * US);
  assert_int_equal(ask_rule("F1"), 1);
  assert_string_equal(found_text(0, "id"), "F1");
  assert_string_equal(found_text(0, "rule"), "hotspot");
  assert_string_equal(found_text(0, "context"), "conv");
  assert_string_equal(found_text(0, "severity"), "high");
  assert_string_equal(found_text(0, "threshold"), "hotspot-share=10%");
  assert_string_equal(found_text(0, "basis"), "observation");
  ASSERT_NEAR(found_number(0, "time_ms"), 0.102);
  ASSERT_NEAR(found_number(0, "share_pct"), 10.2);
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.102);
  ASSERT_NEAR(found_number(0, "saving_pct"), 10.2);
  ASSERT_NEAR(fixture_summary(&fixture, "latency_ms"), 1);
}

static void test_f1_is_silent_at_its_threshold(void **unused)
{
  (void)unused;
  two_layers(100 * US);
  assert_int_equal(ask_rule("F1"), 0);
  assert_true(fixture_has_column(&fixture, "saving_ms"));
}

// Contexts of one name are findings of their own where they are large enough, together where only their sum is.
static void test_f1_of_contexts(void **unused)
{
  (void)unused;
  uint32_t step = fixture_frame(&fixture, 0, XSP_FRAME_PYTHON, "step", "/home/me/train.py", 7);
  uint32_t inner = fixture_frame(&fixture, step, XSP_FRAME_PYTHON, "linear", "/usr/lib/site-packages/torch/nn.py", 3);
  uint32_t large = fixture_frame(&fixture, inner, XSP_FRAME_FRAMEWORK, "aten::cat", NULL, 0);
  fixture_run(&fixture, "M/L", 1);
  for (int observation = 0; observation < 5; observation++) { // of five, the fastest and the slowest do not count
    int64_t from = fixture.now_ns, at = from;
    fixture.context_id = 0;
    fixture_model(&fixture, observation == 4 ? 9 * MS : MS, false);
    fixture.context_id = large;
    fixture_span(&fixture, XSP_LEVEL_LAYER, "aten::cat", at, (observation == 4 ? 9000 : 400) * US);
    at += 400 * US;
    for (int line = 10; line < 20 && observation < 4; line++, at += 50 * US) {
      uint32_t caller = fixture_frame(&fixture, 0, XSP_FRAME_PYTHON, "step", "/home/me/train.py", line);
      fixture.context_id = fixture_frame(&fixture, caller, XSP_FRAME_FRAMEWORK, "aten::copy_", NULL, 0);
      fixture_span(&fixture, XSP_LEVEL_LAYER, "aten::copy_", at, 50 * US);
    }
  }
  assert_int_equal(ask_rule("F1"), 2); // 500 of 900 µs in copies at ten places, 400 in one context
  assert_string_equal(found_text(0, "context"), "aten::copy_");
  assert_null(fixture_text(&fixture, 0, "file"));
  ASSERT_NEAR(found_number(0, "context_id"), NAN);
  ASSERT_NEAR(found_number(0, "time_ms"), 0.5);
  assert_string_equal(found_text(1, "context"), "aten::cat");
  assert_string_equal(found_text(1, "file"), "/home/me/train.py");
  ASSERT_NEAR(found_number(1, "line"), 7);
  ASSERT_NEAR(found_number(1, "context_id"), large);
  ASSERT_NEAR(found_number(1, "time_ms"), 0.4);
  ASSERT_NEAR(found_number(1, "share_pct"), 100 * 400. / 900);
}

// Operators that compute are what the program is for; what one of them copies for itself is part of it.
static void test_f1_is_silent_about_computing(void **unused)
{
  (void)unused;
  uint32_t step = fixture_frame(&fixture, 0, XSP_FRAME_PYTHON, "step", "/home/me/train.py", 7);
  uint32_t product = fixture_frame(&fixture, step, XSP_FRAME_FRAMEWORK, "aten::addmm", NULL, 0);
  fixture_run(&fixture, "M/L", 1);
  fixture_model(&fixture, MS, false);
  fixture.context_id = product;
  fixture_span(&fixture, XSP_LEVEL_LAYER, "aten::addmm", 0, 900 * US);
  fixture.context_id = fixture_frame(&fixture, product, XSP_FRAME_FRAMEWORK, "aten::copy_", NULL, 0);
  fixture_span(&fixture, XSP_LEVEL_LAYER, "aten::copy_", 100 * US, 400 * US);
  assert_int_equal(ask_rule("F1"), 0);
}

// Joints of a U-Net.
static void test_f1_is_silent_about_usual_moves(void **unused)
{
  (void)unused;
  fixture_run(&fixture, "M/L", 1);
  fixture_model(&fixture, MS, false);
  fixture_span(&fixture, XSP_LEVEL_LAYER, "aten::cat", 0, 200 * US);
  fixture_span(&fixture, XSP_LEVEL_LAYER, "aten::conv2d", 200 * US, 800 * US);
  assert_int_equal(ask_rule("F1"), 0);
}

// oneDNN computes a convolution on threads of its own, too, where no operator is around.
static void test_f1_is_silent_about_threads_of_a_library(void **unused)
{
  (void)unused;
  fixture_run(&fixture, "M/L/Lib", 1);
  fixture_model(&fixture, MS, false);
  fixture.context_id = fixture_frame(&fixture, 0, XSP_FRAME_FRAMEWORK, "aten::mkldnn_convolution", NULL, 0);
  fixture_span(&fixture, XSP_LEVEL_LAYER, "aten::mkldnn_convolution", 0, 900 * US);
  fixture.context_id = 0;
  fixture_span(&fixture, XSP_LEVEL_LIBRARY, "primitive", 100 * US, 400 * US);
  fixture.thread = fixture_track(
      &fixture,
      &(struct store_track){.process_id = 10, .thread_id = 9, .device_id = STORE_NONE, .stream_id = STORE_NONE});
  fixture_span(&fixture, XSP_LEVEL_LIBRARY, "primitive", 100 * US, 700 * US);
  fixture_span(&fixture, XSP_LEVEL_LIBRARY, "reorder", 800 * US, 100 * US);
  assert_int_equal(ask_rule("F1"), 0);
  assert_int_equal(ask_rule("F9"), 0);
}

// Of a file of `xsp run --aggregate`: totals, of what was folded.
static void test_a_folded_file(void **unused)
{
  (void)unused;
  uint32_t loss = fixture_frame(&fixture, 0, XSP_FRAME_PYTHON, "loss_fn", "train.py", 12);
  uint32_t mul = fixture_frame(&fixture, loss, XSP_FRAME_FRAMEWORK, "aten::mul", NULL, 0);
  uint32_t add = fixture_frame(&fixture, loss, XSP_FRAME_FRAMEWORK, "aten::add", NULL, 0);
  uint32_t power = fixture_frame(&fixture, loss, XSP_FRAME_FRAMEWORK, "aten::pow", NULL, 0);
  fold_start();
  for (int i = 0; i < 10; i++) {
    fixture.context_id = i % 3 == 0 ? mul : i % 3 == 1 ? add : power;
    fixture_span(&fixture, XSP_LEVEL_LAYER, "aten::mul", i * 20 * US, 19 * US);
  }
  fixture.context_id = fixture_frame(&fixture, loss, XSP_FRAME_FRAMEWORK, "free", NULL, 0);
  fixture_span(&fixture, XSP_LEVEL_LAYER, "free", 300 * US, 0); // no operator
  fold_end();
  assert_int_equal(ask_rule("F2"), 1);
  assert_string_equal(found_text(0, "basis"), "all");
  assert_string_equal(found_text(0, "context"), "loss_fn");
  assert_string_equal(found_text(0, "confidence"), "low");
  ASSERT_NEAR(found_number(0, "time_ms"), 0.19);
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.171);
  ASSERT_NEAR(found_number(0, "saving_pct"), 90); // of the root's time: no latency is known
  assert_int_equal(ask_rule("F1"), 0);
  ask_rule("F3");
  assert_true(fixture_has_note(&fixture, "F3"));
}

// Of how many steps these are is unknown.
static void test_f24_is_not_asked_of_a_folded_file(void **unused)
{
  (void)unused;
  uint32_t main = fixture_frame(&fixture, 0, XSP_FRAME_PYTHON, "main", "train.py", 12);
  fold_start();
  fixture.context_id = fixture_frame(&fixture, main, XSP_FRAME_FRAMEWORK, "Torch-Compiled Region: 1/0", NULL, 0);
  for (int i = 0; i < 10; i++)
    fixture_span(&fixture, XSP_LEVEL_LAYER, "Torch-Compiled Region: 1/0", i * 20 * US, 19 * US);
  fold_end();
  fixture.request.least_gain_pct = 0;
  assert_int_equal(ask_rule("F24"), 0);
  assert_true(fixture_has_note(&fixture, "F24"));
}

static void test_f1_without_layers_and_kernels(void **unused)
{
  (void)unused;
  fixture_run(&fixture, "M", 1);
  fixture_model(&fixture, MS, false);
  assert_int_equal(ask_rule("F1"), 0);
  assert_true(fixture_has_note(&fixture, "F1"));
}

// ---- F2 --------------------------------------------------------------------------------------------------------------
// A step of 1 ms calls loss_fn, whose lines launch `count` kernels of `mean_ns`, and one kernel of 400 µs by itself.
static void loss_of_kernels(int count, int64_t mean_ns)
{
  uint32_t step = fixture_frame(&fixture, 0, XSP_FRAME_PYTHON, "step", "train.py", 30);
  uint32_t matmul = fixture_frame(&fixture, step, XSP_FRAME_FRAMEWORK, "aten::mm", NULL, 0);
  uint32_t call = fixture_frame(&fixture, 0, XSP_FRAME_PYTHON, "step", "train.py", 31);
  fixture_run(&fixture, "M/L/K", 1);
  fixture_model(&fixture, MS, false);
  fixture.context_id = matmul;
  fixture_span(&fixture, XSP_LEVEL_LAYER, "aten::mm", 0, 20 * US);
  fixture_kernel_named(&fixture, "gemm", 1 * US, 20 * US, 400 * US);
  for (int i = 0; i < count; i++) {
    uint32_t line = fixture_frame(&fixture, call, XSP_FRAME_PYTHON, "loss_fn", "train.py", 12 + i % 3);
    int64_t at = (30 + i * 10) * US;
    fixture.context_id = fixture_frame(&fixture, line, XSP_FRAME_FRAMEWORK, "aten::mul", NULL, 0);
    fixture_span(&fixture, XSP_LEVEL_LAYER, "aten::mul", at, 6 * US);
    fixture_kernel_named(&fixture, "mul", at + US, 430 * US + i * 10 * US, mean_ns);
  }
}

static void test_f2_names_the_function_that_gathers(void **unused)
{
  (void)unused;
  loss_of_kernels(10, 10 * US - 1);
  assert_int_equal(ask_rule("F2"), 1);
  assert_string_equal(found_text(0, "rule"), "small_kernels");
  assert_string_equal(found_text(0, "context"), "loss_fn");
  assert_string_equal(found_text(0, "file"), "train.py");
  assert_string_equal(found_text(0, "confidence"), "high");
  ASSERT_NEAR(found_number(0, "line"), 12); // four of ten
  ASSERT_NEAR(found_number(0, "time_ms"), 0.09999);
  // Nine of ten parts of: 10 operators of 6 µs, 9 gaps of 4 µs between them (not the one before them), the kernels.
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.9 * (0.060 + 9 * 0.004 + 0.09999));
}

// A range shows what it gathers first, also what is in a finding within it.
static void test_f2_shows_spans(void **unused)
{
  (void)unused;
  fixture_run(&fixture, "M/L", 1);
  fixture_model(&fixture, MS, false);
  for (int i = 0; i < 12; i++)
    fixture_span(&fixture, XSP_LEVEL_LAYER, "outer", i * 5 * US, 4 * US);
  fixture_span_in(&fixture, XSP_LEVEL_LAYER, "module", "block", 500 * US, 100 * US);
  for (int i = 0; i < 12; i++)
    fixture_span(&fixture, XSP_LEVEL_LAYER, "inner", (500 + i * 5) * US, 3 * US);
  assert_int_equal(ask_rule("F2"), 2);
  assert_string_equal(found_text(0, "context"), "predict");
  assert_string_equal(found_spans(0), "[2,3,4,5,6,7,8,9,10,11,12,13,15,16,17,18]");
  assert_string_equal(found_text(1, "context"), "block");
  assert_string_equal(found_spans(1), "[15,16,17,18,19,20,21,22,23,24,25,26]");
}

// Kernels of a graph, which one call launches: the time between them goes with them.
static void test_f2_of_a_graph(void **unused)
{
  (void)unused;
  uint32_t step = fixture_frame(&fixture, 0, XSP_FRAME_PYTHON, "step", "train.py", 30);
  fixture_run(&fixture, "M/L/K", 1);
  fixture_model(&fixture, MS, false);
  fixture.context_id = fixture_frame(&fixture, step, XSP_FRAME_FRAMEWORK, "replay", NULL, 0);
  fixture_span(&fixture, XSP_LEVEL_LAYER, "replay", 0, 20 * US);
  for (int i = 0; i < 10; i++)
    fixture_kernel_named(&fixture, "mul", (1 + i) * US, (30 + i * 10) * US, 4 * US);
  assert_int_equal(ask_rule("F2"), 1);
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.9 * (10 * 0.004 + 9 * 0.006));
}

static void test_f2_is_silent_at_its_mean(void **unused)
{
  (void)unused;
  loss_of_kernels(10, 10 * US);
  assert_int_equal(ask_rule("small_kernels"), 0);
}

static void test_f2_is_silent_below_its_count(void **unused)
{
  (void)unused;
  loss_of_kernels(9, 2 * US);
  assert_int_equal(ask_rule("F2"), 0);
}

// On average they take 38 µs, since one waited for a processor: the bound is by the geometric mean.
static void test_f2_of_operators_of_which_one_waited(void **unused)
{
  (void)unused;
  fixture_run(&fixture, "M/L", 1);
  fixture_model(&fixture, MS, false);
  for (int i = 0; i < 12; i++)
    fixture_span(&fixture, XSP_LEVEL_LAYER, "aten::mul", i * 30 * US, i < 11 ? 5 * US : 400 * US);
  assert_int_equal(ask_rule("F2"), 1);
  ASSERT_NEAR(found_number(0, "time_ms"), 0.455);
  ASSERT_NEAR(found_number(0, "saving_ms"), (12 * 0.005 * pow(80, 1.0 / 12) + 11 * 0.025) * 11 / 12);
}

static void test_f2_of_operators(void **unused)
{
  (void)unused;
  fixture_run(&fixture, "M/L", 1);
  fixture_model(&fixture, MS, false);
  for (int i = 0; i < 12; i++) {
    fixture_span(&fixture, XSP_LEVEL_LAYER, "outer", i * 30 * US, 15 * US);
    fixture_span(&fixture, XSP_LEVEL_LAYER, "inner", i * 30 * US, 5 * US); // is part of the outer one
  }
  assert_int_equal(ask_rule("F2"), 1);
  assert_string_equal(found_text(0, "context"), "predict");
  assert_string_equal(found_text(0, "threshold"), "small_kernels-operator=20us");
  ASSERT_NEAR(found_number(0, "time_ms"), 0.18);
  ASSERT_NEAR(found_number(0, "saving_ms"), (0.18 + 11 * 0.015) * 11 / 12); // with the gaps
}

// Which the program's own code calls, of so many names in turn.
static void small_called(const char *category, int count, int kinds)
{
  static const char *const names[] = {"tanh", "reduce_sum", "add", "mul"};
  uint32_t predict = fixture_frame(&fixture, 0, XSP_FRAME_PYTHON, "predict", "train.py", 15);
  fixture_run(&fixture, "M/L", 1);
  fixture_model(&fixture, 10 * MS, false);
  for (int i = 0; i < count; i++) {
    fixture.context_id = fixture_frame(&fixture, predict, XSP_FRAME_FRAMEWORK, names[i % kinds], NULL, 0);
    fixture_span_in(&fixture, XSP_LEVEL_LAYER, category, names[i % kinds], i * 50 * US, 5 * US);
  }
}

static void test_f2_is_silent_about_what_xla_fused(void **unused)
{
  (void)unused;
  small_called("jax", 12, 4); // the text is what counts
  assert_int_equal(ask_rule("F2"), 0);
}

static void test_f2_of_what_the_program_calls(void **unused)
{
  (void)unused;
  small_called("operator", 12, 4);
  assert_int_equal(ask_rule("F2"), 1);
  assert_null(strstr(found_text(0, "advice"), "loop"));
}

// A loop over parameters, such as an average of them: a multiplication and an addition each.
static void test_f2_of_two_operators_in_a_loop(void **unused)
{
  (void)unused;
  small_called("operator", 101, 2);
  assert_int_equal(ask_rule("F2"), 1);
  assert_non_null(strstr(found_text(0, "advice"), "where a loop's iterations do not need each other")); // an RNN's do
  assert_string_equal(found_text(0, "context"), "predict");
}

// A mask that is written element by element: mask[i, j, k] = True.
static void test_f2_of_elements_that_are_written(void **unused)
{
  (void)unused;
  uint32_t mask = fixture_frame(&fixture, 0, XSP_FRAME_PYTHON, "mask", "train.py", 15);
  fixture_run(&fixture, "M/L", 1);
  fixture_model(&fixture, 10 * MS, false);
  for (int i = 0; i < 120; i++) {
    const char *name = i % 4 < 3 ? "aten::select" : "aten::fill_";
    fixture.context_id = fixture_frame(&fixture, mask, XSP_FRAME_FRAMEWORK, name, NULL, 0);
    fixture_span_in(&fixture, XSP_LEVEL_LAYER, "operator", name, i * 50 * US, 5 * US);
  }
  assert_int_equal(ask_rule("F2"), 1);
  assert_string_equal(found_text(0, "context"), "mask");
}

static void test_f2_is_silent_about_a_few_calls_of_two_operators(void **unused)
{
  (void)unused;
  small_called("operator", 20, 2);
  assert_int_equal(ask_rule("F2"), 0);
}

// An update of each parameter, and as many other operators: what the one loop runs is half of all.
static void test_f2_is_silent_about_one_operator_and_as_many_others(void **unused)
{
  (void)unused;
  uint32_t main = fixture_frame(&fixture, 0, XSP_FRAME_PYTHON, "main", "train.py", 15);
  fixture_run(&fixture, "M/L", 1);
  fixture_model(&fixture, MS, false);
  for (int i = 0; i < 13; i++) {
    const char *name = i < 6 ? "add_" : i < 10 ? "randn" : i < 12 ? "detach" : "zeros";
    fixture.context_id = fixture_frame(&fixture, main, XSP_FRAME_FRAMEWORK, name, NULL, 0);
    fixture_span_in(&fixture, XSP_LEVEL_LAYER, "operator", name, i * 50 * US, 5 * US);
  }
  assert_int_equal(ask_rule("F2"), 0);
}

// (out - x).square().mean(), in a step of a small model.
static void test_f2_is_silent_about_a_loss_and_its_backward_pass(void **unused)
{
  (void)unused;
  static const char *const names[] = {"aten::randn",
                                      "aten::sub",
                                      "aten::pow",
                                      "aten::mean",
                                      "autograd::a: MeanBackward0",
                                      "autograd::b: PowBackward0",
                                      "autograd::c: SubBackward0"};
  uint32_t main = fixture_frame(&fixture, 0, XSP_FRAME_PYTHON, "main", "train.py", 15);
  fixture_run(&fixture, "M/L", 1);
  fixture_model(&fixture, MS, false);
  for (int i = 0; i < 11; i++) {
    const char *name = i < 7 ? names[i] : "autograd::d: torch::autograd::AccumulateGrad";
    fixture.context_id = fixture_frame(&fixture, main, XSP_FRAME_FRAMEWORK, name, NULL, 0);
    fixture_span_in(&fixture, XSP_LEVEL_LAYER, "operator", name, i * 50 * US, 5 * US);
  }
  assert_int_equal(ask_rule("F2"), 0);
}

static void test_f2_is_silent_about_calls_of_one_operator(void **unused)
{
  (void)unused;
  small_called("operator", 100, 1);
  assert_int_equal(ask_rule("F2"), 0);
}

// ---- F3 --------------------------------------------------------------------------------------------------------------
// aten::index twice, from two lines: 100 µs forward each, and backward `slow_us` for the first, 100 µs for the second.
static void backward_of(const char *name, int64_t slow_us)
{
  fixture_run(&fixture, "M/L", 1);
  fixture_model(&fixture, MS, false);
  for (int i = 0; i < 2; i++) {
    uint32_t line = fixture_frame(&fixture, 0, XSP_FRAME_PYTHON, "forward", "net.py", 10 + i);
    fixture.context_id = fixture_frame(&fixture, line, XSP_FRAME_FRAMEWORK, name, NULL, 0);
    int64_t forward = fixture_span(&fixture, XSP_LEVEL_LAYER, name, i * 100 * US, 100 * US);
    fixture_int(&fixture, forward, "sequence", 5 + i);
    fixture.context_id = fixture_frame(&fixture, line, XSP_FRAME_FRAMEWORK, "IndexBackward0", NULL, 0);
    int64_t backward =
        fixture_span(&fixture, XSP_LEVEL_LAYER, "IndexBackward0", (300 + i * 400) * US, (i == 0 ? slow_us : 100) * US);
    fixture_int(&fixture, backward, "sequence", 5 + i);
    fixture_int(&fixture, backward, "forward_thread", 10);
  }
}

static void index_backward(int64_t slow_us)
{
  backward_of("aten::index", slow_us);
}

static void test_f3_names_the_line_of_the_forward_operator(void **unused)
{
  (void)unused;
  index_backward(201); // of both lines together it is less than twice
  assert_int_equal(ask_rule("F3"), 1);
  assert_string_equal(found_text(0, "rule"), "slow_backward");
  assert_string_equal(found_text(0, "context"), "aten::index");
  assert_string_equal(found_text(0, "file"), "net.py");
  ASSERT_NEAR(found_number(0, "line"), 10);
  ASSERT_NEAR(found_number(0, "time_ms"), 0.201);
  ASSERT_NEAR(found_number(0, "share_pct"), 20.1);
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.101); // gradients cost as much as the operator
}

// Each of two callers has less than the share.
static void test_f3_of_a_line_that_several_call(void **unused)
{
  (void)unused;
  fixture_run(&fixture, "M/L", 1);
  fixture_model(&fixture, MS, false);
  for (int i = 0; i < 2; i++) {
    uint32_t caller = fixture_frame(&fixture, 0, XSP_FRAME_PYTHON, i == 0 ? "encode" : "decode", "net.py", 20 + i);
    uint32_t line = fixture_frame(&fixture, caller, XSP_FRAME_PYTHON, "look_up", "net.py", 10);
    fixture.context_id = fixture_frame(&fixture, line, XSP_FRAME_FRAMEWORK, "aten::index", NULL, 0);
    int64_t forward = fixture_span(&fixture, XSP_LEVEL_LAYER, "aten::index", i * 100 * US, 2 * US);
    fixture_int(&fixture, forward, "sequence", 5 + i);
    fixture.context_id = fixture_frame(&fixture, line, XSP_FRAME_FRAMEWORK, "IndexBackward0", NULL, 0);
    int64_t backward = fixture_span(&fixture, XSP_LEVEL_LAYER, "IndexBackward0", (300 + i * 400) * US, 8 * US);
    fixture_int(&fixture, backward, "sequence", 5 + i);
    fixture_int(&fixture, backward, "forward_thread", 10);
  }
  fixture.request.least_gain_pct = 1;
  assert_int_equal(ask_rule("F3"), 1);
  ASSERT_NEAR(found_number(0, "line"), 10);
  ASSERT_NEAR(found_number(0, "time_ms"), 0.016);
}

static void test_f3_is_silent_at_its_ratio(void **unused)
{
  (void)unused;
  index_backward(200);
  assert_int_equal(ask_rule("F3"), 0);
}

// Its gradient is as large as the scores of which it reads one a row.
static void test_f3_is_silent_about_losses_that_pick(void **unused)
{
  (void)unused;
  backward_of("aten::nll_loss_forward", 300);
  assert_int_equal(ask_rule("F3"), 0);
}

// A kernel of the library's own, slow in bfloat16.
static void test_f3_is_silent_about_fused_attention(void **unused)
{
  (void)unused;
  backward_of("aten::_scaled_dot_product_flash_attention_for_cpu", 700);
  assert_int_equal(ask_rule("F3"), 0);
}

// The operator number `i` of a line, with its gradient.
static void gradient_of(const char *name, const char *file, int i, int64_t forward_ns, int64_t backward_ns)
{
  uint32_t line = fixture_frame(&fixture, 0, XSP_FRAME_PYTHON, "forward", file, 10);
  fixture.context_id = fixture_frame(&fixture, line, XSP_FRAME_FRAMEWORK, name, NULL, 0);
  int64_t forward = fixture_span(&fixture, XSP_LEVEL_LAYER, name, i * 20 * US, forward_ns);
  fixture_int(&fixture, forward, "sequence", 5 + i);
  fixture.context_id = fixture_frame(&fixture, line, XSP_FRAME_FRAMEWORK, "Backward0", NULL, 0);
  int64_t backward = fixture_span(&fixture, XSP_LEVEL_LAYER, "Backward0", (300 + i * 150) * US, backward_ns);
  fixture_int(&fixture, backward, "sequence", 5 + i);
  fixture_int(&fixture, backward, "forward_thread", 10);
}

// Four views at a line, whose gradients take ten times as long.
static void views_in(const char *file)
{
  fixture_run(&fixture, "M/L", 1);
  fixture_model(&fixture, MS, false);
  for (int i = 0; i < 4; i++)
    gradient_of("aten::select", file, i, 10 * US, 100 * US);
}

static void test_f3_finds_views_in_a_loop(void **unused)
{
  (void)unused;
  views_in("net.py");
  assert_int_equal(ask_rule("F3"), 1);
}

static void test_f3_is_silent_about_views_of_libraries(void **unused)
{
  (void)unused;
  views_in("/venv/lib/python3.11/site-packages/torch/nn/functional.py");
  assert_int_equal(ask_rule("F3"), 0);
}

// The backward pass has a thread and a pool of its own.
static void test_f3_is_silent_about_elementwise_operators_on_a_busy_host(void **unused)
{
  (void)unused;
  backward_of("aten::relu", 390);
  assert_int_equal(ask_rule("F3"), 0);
}

static void test_f3_is_silent_about_small_elementwise_operators(void **unused)
{
  (void)unused;
  fixture_run(&fixture, "M/L", 1);
  fixture_model(&fixture, MS, false);
  gradient_of("aten::sigmoid_", "net.py", 0, 10 * US, 200 * US);
  assert_int_equal(ask_rule("F3"), 0);
}

// ---- F5 --------------------------------------------------------------------------------------------------------------
// A step of 1 ms: an operator of 500 µs, `device_us` of them for a kernel that it launches.
static void operator_with_kernel(int64_t device_us)
{
  uint32_t outer = fixture_frame(&fixture, 0, XSP_FRAME_PYTHON, "step", "train.py", 3);
  fixture_run(&fixture, "M/L/K", 1);
  fixture_model(&fixture, MS, false);
  fixture.context_id = fixture_frame(&fixture, outer, XSP_FRAME_FRAMEWORK, "aten::item", NULL, 0);
  fixture_span(&fixture, XSP_LEVEL_LAYER, "aten::item", 100 * US, 500 * US);
  fixture_kernel_named(&fixture, "copy", 110 * US, 200 * US, device_us * US);
}

static void test_f5_is_bounded_by_the_idle_device(void **unused)
{
  (void)unused;
  operator_with_kernel(249);
  assert_int_equal(ask_rule("F5"), 1);
  assert_string_equal(found_text(0, "context"), "aten::item");
  ASSERT_NEAR(found_number(0, "line"), 3);
  ASSERT_NEAR(found_number(0, "time_ms"), 0.5);
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.5); // idle are 0.751 ms
}

static void test_f5_is_silent_at_its_ratio(void **unused)
{
  (void)unused;
  operator_with_kernel(250);
  assert_int_equal(ask_rule("F5"), 0);
}

// ---- options ---------------------------------------------------------------------------------------------------------
static void test_thresholds(void **unused)
{
  (void)unused;
  const char *given[] = {"hotspot-share=9.5%"};
  two_layers(100 * US);
  fixture.request.thresholds = given;
  fixture.request.threshold_count = 1;
  assert_int_equal(ask_rule("hotspot"), 2);
  assert_string_equal(found_text(0, "threshold"), "hotspot-share=9.5%");
  static const char *const wrong[] = {"hotspot-share", "hotspot-share=x", "hotspot-share=1us", "share=1",
                                      "hotspot-share=-1"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    given[0] = wrong[i];
    assert_int_equal(fixture_ask(&fixture, "findings"), STATUS_USE);
  }
}

static void test_an_unknown_rule(void **unused)
{
  (void)unused;
  const char *only = "F99";
  two_layers(100 * US);
  fixture_ready(&fixture);
  fixture.request.only = &only;
  fixture.request.only_count = 1;
  assert_int_equal(fixture_ask(&fixture, "findings"), STATUS_USE);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(test_f1_is_above_its_threshold),
      TEST(test_f1_is_silent_at_its_threshold),
      TEST(test_f1_of_contexts),
      TEST(test_f1_is_silent_about_computing),
      TEST(test_f1_is_silent_about_usual_moves),
      TEST(test_f1_is_silent_about_threads_of_a_library),
      TEST(test_f1_without_layers_and_kernels),
      TEST(test_a_folded_file),
      TEST(test_f24_is_not_asked_of_a_folded_file),
      TEST(test_f2_names_the_function_that_gathers),
      TEST(test_f2_shows_spans),
      TEST(test_f2_of_a_graph),
      TEST(test_f2_is_silent_at_its_mean),
      TEST(test_f2_is_silent_below_its_count),
      TEST(test_f2_of_operators_of_which_one_waited),
      TEST(test_f2_of_operators),
      TEST(test_f2_is_silent_about_what_xla_fused),
      TEST(test_f2_of_what_the_program_calls),
      TEST(test_f2_of_two_operators_in_a_loop),
      TEST(test_f2_of_elements_that_are_written),
      TEST(test_f2_is_silent_about_a_few_calls_of_two_operators),
      TEST(test_f2_is_silent_about_one_operator_and_as_many_others),
      TEST(test_f2_is_silent_about_a_loss_and_its_backward_pass),
      TEST(test_f2_is_silent_about_calls_of_one_operator),
      TEST(test_f3_names_the_line_of_the_forward_operator),
      TEST(test_f3_of_a_line_that_several_call),
      TEST(test_f3_is_silent_at_its_ratio),
      TEST(test_f3_is_silent_about_losses_that_pick),
      TEST(test_f3_is_silent_about_fused_attention),
      TEST(test_f3_finds_views_in_a_loop),
      TEST(test_f3_is_silent_about_views_of_libraries),
      TEST(test_f3_is_silent_about_small_elementwise_operators),
      TEST(test_f3_is_silent_about_elementwise_operators_on_a_busy_host),
      TEST(test_f5_is_bounded_by_the_idle_device),
      TEST(test_f5_is_silent_at_its_ratio),
      TEST(test_thresholds),
      TEST(test_an_unknown_rule),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
