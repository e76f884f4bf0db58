// SPDX-License-Identifier: Apache-2.0
// F29 over programs with samples: what happens again and again is found at its line, what happens once is not. The first
// sentence where nothing is found.
#include "analyze/findings/test_samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define NUMPY SITE "numpy/_core/_multiarray_umath.cpython-311-x86_64-linux-gnu.so"

static uint32_t save_in(uint32_t caller)
{
  return python(python(caller, "save", FILE_OF, 11), "save", SITE "torch/serialization.py", 900);
}

static void test_checkpoints_in_each_step(void **unused)
{
  (void)unused;
  start();
  fixture.context_id = save_in(fixture.context_id);
  samples_of_steps(2);
  assert_int_equal(ask_rule("F29"), 1);
  assert_string_equal(found_text(0, "file"), FILE_OF);
  ASSERT_NEAR(found_number(0, "line"), 11);
  ASSERT_NEAR(found_number(0, "saving_ms"), 2);
  ASSERT_NEAR(found_number(0, "saving_pct"), 20);
}

static void test_one_checkpoint_is_none(void **unused)
{
  (void)unused;
  start();
  fixture.context_id = save_in(fixture.context_id);
  fixture_sample(&fixture, SAMPLE_CPU, 199 * MS, 40 * MS);
  assert_int_equal(ask_rule("F29"), 0);
}

static void test_running_compiled_code_is_no_compilation(void **unused)
{
  (void)unused;
  start();
  fixture.context_id = python(fixture.context_id, "__call__", SITE "torch/_inductor/output_code.py", 600);
  samples_of_steps(2);
  assert_int_equal(ask_rule("F29"), 0);
}

static void test_programs_in_each_step(void **unused)
{
  (void)unused;
  start();
  uint32_t memory = python(fixture.context_id, "memory", FILE_OF, 8);
  fixture.context_id = python(memory, "Popen._try_wait", "/usr/lib/python3.11/subprocess.py", 1959);
  for (int i = 0; i < 20; i++)
    fixture_sample(&fixture, SAMPLE_CHILD, (i * 10 + 9) * MS, 2 * MS);
  assert_int_equal(ask_rule("F29"), 1);
  assert_non_null(strstr(found_text(0, "title"), "other programs"));
  ASSERT_NEAR(found_number(0, "line"), 8);
}

// In each `every`th of 20 steps, for 4 ms.
static void models_made(int every)
{
  start();
  uint32_t make = python(fixture.context_id, "Net.__init__", FILE_OF, 7);
  uint32_t layer = python(make, "Linear.__init__", SITE "torch/nn/modules/linear.py", 105);
  fixture.context_id = python(layer, "kaiming_uniform_", SITE "torch/nn/init.py", 460);
  for (int i = 0; i < 20; i += every)
    fixture_sample(&fixture, SAMPLE_CPU, (i * 10 + 9) * MS, 4 * MS);
}

static void test_models_made_in_each_step(void **unused)
{
  (void)unused;
  models_made(1);
  assert_int_equal(ask_rule("F29"), 1);
  assert_non_null(strstr(found_text(0, "title"), "creates a model"));
  ASSERT_NEAR(found_number(0, "line"), 7);
}

// As by a search, each of whose trials has some steps.
static void test_models_of_several_steps(void **unused)
{
  (void)unused;
  models_made(2);
  assert_int_equal(ask_rule("F29"), 0);
}

// Each call of a tf.function goes through this file; only a new argument is traced.
static void calls_of_a_traced_function(const char *file, const char *function)
{
  start();
  fixture.context_id = python(fixture.context_id, "Function.__call__",
                              SITE "tensorflow/python/eager/polymorphic_function/polymorphic_function.py", 833);
  fixture.context_id = python(fixture.context_id, function, file, 1000);
  samples_of_steps(2);
}

static void test_tracing_in_each_step(void **unused)
{
  (void)unused;
  calls_of_a_traced_function(SITE "tensorflow/python/framework/func_graph.py", "func_graph_from_py_func");
  assert_int_equal(ask_rule("F29"), 1);
  assert_non_null(strstr(found_text(0, "title"), "traced"));
}

static void test_running_a_traced_function_is_no_tracing(void **unused)
{
  (void)unused;
  calls_of_a_traced_function(SITE "tensorflow/python/eager/polymorphic_function/tracing_compilation.py",
                             "call_function");
  assert_int_equal(ask_rule("F29"), 0);
}

// The compilation's span has the reason that A25 prints.
static void test_the_title_has_why_it_is_traced_again(void **unused)
{
  (void)unused;
  fixture_experiment(&fixture, "train");
  fixture_run(&fixture, "A/M/L", 1);
  for (int i = 0; i < 20; i++) {
    fixture_model(&fixture, 10 * MS, false);
    fixture.context_id = 0;
    int64_t id = fixture_span_in(&fixture, XSP_LEVEL_APPLICATION, "compile", "tf.function", i * STEP, 6 * MS);
    fixture_words(&fixture, id, "reason", "argument n == 3, now 4");
  }
  fixture.thread = thread(7);
  uint32_t main = python(0, "main", FILE_OF, 30);
  for (int i = 0; i < 20; i++) {
    fixture.context_id =
        python(main, "func_graph_from_py_func", SITE "tensorflow/python/framework/func_graph.py", 1000);
    fixture_sample(&fixture, SAMPLE_CPU, i * STEP + MS, 5 * MS);
    fixture.context_id = main;
    fixture_sample(&fixture, SAMPLE_CPU, i * STEP + 8 * MS, 2 * MS);
  }
  assert_int_equal(ask_rule("F29"), 1);
  assert_non_null(strstr(found_text(0, "title"), "argument n == 3"));
}

static uint32_t step_of_keras(void)
{
  start();
  return python(python(fixture.context_id, "fit", FILE_OF, 19), "TensorFlowTrainer.train_step",
                SITE "keras/src/backend/tensorflow/trainer.py", 60);
}

static void test_eager_steps_of_keras(void **unused)
{
  (void)unused;
  fixture.context_id = python(step_of_keras(), "matmul", SITE "tensorflow/python/ops/math_ops.py", 5);
  samples_of_steps(2);
  assert_int_equal(ask_rule("F29"), 1);
  assert_non_null(strstr(found_text(0, "title"), "run_eagerly"));
  ASSERT_NEAR(found_number(0, "line"), 19);
}

// One execution of a program, in which nothing else takes time, of which there could be parts.
static void all_time_in_eager_keras(int operators)
{
  fixture_experiment(&fixture, "train");
  fixture_run(&fixture, "A/M/L", 1);
  fixture_model(&fixture, 200 * MS, false);
  fixture.thread = thread(7);
  uint32_t step = python(python(0, "fit", FILE_OF, 19), "TensorFlowTrainer.train_step",
                         SITE "keras/src/backend/tensorflow/trainer.py", 60);
  for (int i = 0; i < 40; i++) {
    fixture.context_id = python(step, "matmul", SITE "tensorflow/python/ops/math_ops.py", 10 + i % operators);
    fixture_sample(&fixture, SAMPLE_CPU, (1 + i) * MS, MS);
  }
}

static void test_eager_steps_that_take_all_time(void **unused)
{
  (void)unused;
  all_time_in_eager_keras(4);
  assert_int_equal(ask_rule("F29"), 1);
  assert_non_null(strstr(found_text(0, "title"), "run_eagerly"));
}

static void test_one_eager_operator_is_no_loop(void **unused)
{
  (void)unused;
  all_time_in_eager_keras(1);
  assert_int_equal(ask_rule("F29"), 0);
}

// Of 10 ms a step: the input of a step under tf.function, or the picture of a request.
static size_t little_work(const char *file, const char *function, int64_t ms)
{
  start_with(8);
  fixture.context_id = python(python(fixture.context_id, "main", FILE_OF, 28), function, file, 5);
  samples_of_steps(ms);
  return ask_rule("F29");
}

static void test_little_eager_input_is_none(void **unused)
{
  (void)unused;
  assert_int_equal(little_work(SITE "tensorflow/python/ops/random_ops.py", "random_normal", 1), 0);
}

// Of 40 samples, 20 have 27 % of the time, ± 12 %: it may be less than the threshold's 20 %.
static void test_eager_input_of_few_samples(void **unused)
{
  (void)unused;
  assert_int_equal(little_work(SITE "tensorflow/python/ops/random_ops.py", "random_normal", 3), 0);
}

static void test_much_eager_input(void **unused)
{
  (void)unused;
  assert_int_equal(little_work(SITE "tensorflow/python/ops/random_ops.py", "random_normal", 6), 1);
}

static void test_little_decoding_is_none(void **unused)
{
  (void)unused;
  assert_int_equal(little_work(SITE "PIL/ImageFile.py", "ImageFile.load", 1), 0);
}

static void test_much_decoding(void **unused)
{
  (void)unused;
  assert_int_equal(little_work(SITE "PIL/ImageFile.py", "ImageFile.load", 3), 1);
}

static void test_tracing_a_step_of_keras_is_not_eager(void **unused)
{
  (void)unused;
  fixture.context_id =
      python(step_of_keras(), "func_graph_from_py_func", SITE "tensorflow/python/framework/func_graph.py", 5);
  samples_of_steps(2);
  assert_int_equal(ask_rule("F29"), 1);
  assert_non_null(strstr(found_text(0, "title"), "traced"));
}

// One execution of a program without steps, which saves nearly all of the time.
static void mostly_saves(bool again)
{
  fixture_experiment(&fixture, "train");
  fixture_run(&fixture, "A/M/L", 1);
  fixture_model(&fixture, 200 * MS, false);
  fixture.thread = thread(7);
  uint32_t main = python(0, "main", FILE_OF, 30), save = save_in(main);
  for (int i = 0; i < 40; i++) {
    bool saves = again ? i % 2 == 0 : i > 0;
    fixture.context_id = saves ? save : python(main, "forward", SITE "torch/nn/modules/linear.py", 134);
    fixture_sample(&fixture, SAMPLE_CPU, (1 + i) * MS, saves ? MS : 10 * US);
  }
  fixture.context_id = python(main, "forward", SITE "torch/nn/modules/linear.py", 134);
  fixture_sample(&fixture, SAMPLE_CPU, 100 * MS, MS);
}

static void test_what_takes_nearly_all_again(void **unused)
{
  (void)unused;
  mostly_saves(true);
  assert_int_equal(ask_rule("F29"), 1);
}

static void test_what_takes_nearly_all_once(void **unused)
{
  (void)unused;
  mostly_saves(false);
  assert_int_equal(ask_rule("F29"), 0);
}

static void checks(int64_t main_ms, int64_t ms)
{
  start_with(main_ms);
  fixture.context_id = python(fixture.context_id, "check", FILE_OF, 9);
  fixture.context_id = python(fixture.context_id, "predict_proba", SITE "sklearn/pipeline.py", 900);
  fixture.context_id = python(fixture.context_id, "check_array", SITE "sklearn/utils/validation.py", 730);
  samples_of_steps(ms);
}

static void test_checks_of_single_rows(void **unused)
{
  (void)unused;
  checks(6, 3);
  assert_int_equal(ask_rule("F29"), 1);
  assert_non_null(strstr(found_text(0, "title"), "few rows"));
  ASSERT_NEAR(found_number(0, "line"), 9);
}

static uint32_t native(uint32_t caller, const char *name, const char *module)
{
  const struct store_frame frame = {.kind = XSP_FRAME_NATIVE, .name = name, .module = module};
  return store_context_id(fixture.store, caller, store_frame_id(fixture.store, &frame));
}

// A call of LightGBM's predict() takes some ms in Python, and some in its library.
static void tree_calls(int64_t python_ms, int64_t trees_ms)
{
  start_with(1);
  uint32_t predict =
      python(python(fixture.context_id, "score", FILE_OF, 14), "LGBMModel.predict", SITE "lightgbm/sklearn.py", 1100);
  fixture.context_id = python(predict, "check_array", SITE "sklearn/utils/validation.py", 730);
  samples_of_steps(python_ms);
  fixture.context_id = native(predict, "LGBM_BoosterPredictForMat", SITE "lightgbm/lib/lib_lightgbm.so");
  samples_of_steps(trees_ms);
}

static void test_trees_of_single_rows(void **unused)
{
  (void)unused;
  tree_calls(5, 4);
  assert_int_equal(ask_rule("F29"), 1);
  assert_non_null(strstr(found_text(0, "title"), "LightGBM"));
  ASSERT_NEAR(found_number(0, "line"), 14);
  ASSERT_NEAR(found_number(0, "saving_ms"), 5);
}

static void test_trees_of_many_rows(void **unused)
{
  (void)unused;
  tree_calls(2, 7);
  assert_int_equal(ask_rule("F29"), 0);
}

static void test_a_few_checks_are_none(void **unused)
{
  (void)unused;
  checks(9, 1);
  assert_int_equal(ask_rule("F29"), 0);
}

// All that a short loop has of samples is in its first step.
static void test_what_one_step_has_is_none(void **unused)
{
  (void)unused;
  start_with(0);
  uint32_t main = fixture.context_id, save = save_in(main);
  for (int i = 0; i < 20; i++) {
    fixture.context_id = save;
    fixture_sample(&fixture, SAMPLE_CPU, 4 * i * MS / 10 + 1, 3 * MS);
    fixture.context_id = python(main, "forward", SITE "torch/nn/modules/linear.py", 134);
    fixture_sample(&fixture, SAMPLE_CPU, 4 * i * MS / 10 + 2, MS / 10);
  }
  assert_int_equal(ask_rule("F29"), 0);
}

static void test_a_saving_thread_is_none(void **unused)
{
  (void)unused;
  start();
  fixture.context_id = save_in(0);
  fixture.thread = thread(8);
  for (int i = 0; i < 20; i++)
    fixture_sample(&fixture, SAMPLE_CPU, (i * 10 + 9) * MS, 2 * MS);
  assert_int_equal(ask_rule("F29"), 0);
}

// Eager operators at two lines of a function: it has them together, the second line most of them.
static void test_work_at_several_lines(void **unused)
{
  (void)unused;
  start();
  uint32_t main = fixture.context_id;
  for (int i = 0; i < 20; i++) {
    uint32_t line = python(main, "train_step", FILE_OF, 40 + i % 2);
    fixture.context_id = python(line, "matmul", SITE "tensorflow/python/ops/math_ops.py", 5);
    fixture_sample(&fixture, SAMPLE_CPU, (i * 10 + 9) * MS, (6 + i % 2) * MS);
  }
  assert_int_equal(ask_rule("F29"), 1);
  ASSERT_NEAR(found_number(0, "line"), 41);
}

// Half of it is at one line of main, which calls a function for it.
static void test_work_that_a_line_calls(void **unused)
{
  (void)unused;
  start();
  for (int i = 0; i < 40; i++) {
    uint32_t caller = python(0, "main", FILE_OF, i % 2 == 0 ? 20 : 21 + i % 6);
    fixture.context_id = python(caller, i % 2 == 0 ? "save_all" : "save_one", FILE_OF, i % 2 == 0 ? 60 : 70 + i % 6);
    fixture.context_id = python(fixture.context_id, "save", SITE "torch/serialization.py", 900);
    fixture_sample(&fixture, SAMPLE_CPU, (i * 5 + 1) * MS, MS);
  }
  assert_int_equal(ask_rule("F29"), 1);
  ASSERT_NEAR(found_number(0, "line"), 60);
}

static void sleeps(uint32_t caller)
{
  fixture.context_id = python(caller, "fetch", FILE_OF, 11);
  for (int i = 0; i < 20; i++)
    fixture_sample(&fixture, SAMPLE_SLEEP, (i * 10 + 9) * MS, 3 * MS);
}

static void test_a_blocked_event_loop(void **unused)
{
  (void)unused;
  start();
  sleeps(python(fixture.context_id, "Handle._run", "/usr/lib/python3.11/asyncio/events.py", 80));
  assert_int_equal(ask_rule("F29"), 1);
  assert_non_null(strstr(found_text(0, "title"), "event loop"));
  ASSERT_NEAR(found_number(0, "line"), 11);
}

static void test_a_sleep(void **unused)
{
  (void)unused;
  start();
  sleeps(fixture.context_id);
  assert_int_equal(ask_rule("F29"), 1);
  assert_null(strstr(found_text(0, "title"), "event loop"));
}

// A call of predict() for each row sets up its input, then runs a graph.
static void test_predict_again_and_again(void **unused)
{
  (void)unused;
  start_with(7);
  uint32_t predict = python(python(fixture.context_id, "score", FILE_OF, 19), "TensorFlowTrainer.predict",
                            SITE "keras/src/backend/tensorflow/trainer.py", 526);
  uint32_t inputs = python(predict, "ArrayDataAdapter.get_tf_dataset",
                           SITE "keras/src/trainers/data_adapters/array_data_adapter.py", 237);
  fixture.context_id = python(inputs, "shuffle", SITE "tensorflow/python/ops/random_ops.py", 5);
  samples_of_steps(2);
  fixture.context_id = python(predict, "Function.__call__",
                              SITE "tensorflow/python/eager/polymorphic_function/polymorphic_function.py", 8);
  samples_of_steps(1);
  assert_int_equal(ask_rule("F29"), 1);
  assert_non_null(strstr(found_text(0, "title"), "predict()"));
  ASSERT_NEAR(found_number(0, "line"), 19);
  ASSERT_NEAR(found_number(0, "saving_ms"), 2);
}

// A model computes 4 ms of a step in operators; `update` of a file, in line 12, takes some ms in Python.
static void own_code_of(const char *host, const char *file, int64_t model_ms, int64_t update_ms)
{
  start_on(host, 0);
  uint32_t main = fixture.context_id;
  fixture.context_id = fixture_frame(&fixture, main, XSP_FRAME_FRAMEWORK, "aten::addmm", NULL, 0);
  for (int i = 0; i < 20; i++)
    fixture_span(&fixture, XSP_LEVEL_LAYER, "aten::addmm", i * STEP, 4 * MS);
  fixture.context_id = python(main, "Linear.forward", SITE "torch/nn/modules/linear.py", 134);
  samples_of_steps(model_ms);
  fixture.context_id = python(main, "update", file, 12);
  samples_of_steps(update_ms);
}

static void own_code(int64_t model_ms, int64_t update_ms)
{
  own_code_of("elsewhere", FILE_OF, model_ms, update_ms);
}

static void test_own_code_beside_the_model(void **unused)
{
  (void)unused;
  own_code(5, 5);
  assert_int_equal(ask_rule("F29"), 1);
  ASSERT_NEAR(found_number(0, "line"), 12);
  ASSERT_NEAR(found_number(0, "saving_ms"), 5);
}

// The answer of a server is written to its client; own_code's path is that of `update` (train.py:12).
static void test_writing_an_answer_is_none(void **unused)
{
  (void)unused;
  own_code(5, 0);
  fixture.context_id =
      python(fixture.context_id, "BaseHTTPRequestHandler.end_headers", "/usr/lib/python3.11/http/server.py", 547);
  for (int i = 0; i < 20; i++)
    fixture_sample(&fixture, SAMPLE_IO, (i * 10 + 9) * MS, 4 * MS);
  assert_int_equal(ask_rule("F29"), 0);
}

// asyncio.run(main()) with nothing to do.
static void test_an_idle_event_loop_is_none(void **unused)
{
  (void)unused;
  own_code(5, 0);
  uint32_t loop =
      python(fixture.context_id, "BaseEventLoop._run_once", "/usr/lib/python3.11/asyncio/base_events.py", 1884);
  fixture.context_id = python(loop, "EpollSelector.select", "/usr/lib/python3.11/selectors.py", 468);
  for (int i = 0; i < 20; i++)
    fixture_sample(&fixture, SAMPLE_IO, (i * 10 + 9) * MS, 4 * MS);
  assert_int_equal(ask_rule("F29"), 0);
}

// As os.system(), which is no function of Python's.
static void test_waits_for_processes_in_each_step(void **unused)
{
  (void)unused;
  own_code(5, 0);
  for (int i = 0; i < 20; i++)
    fixture_sample(&fixture, SAMPLE_CHILD, (i * 10 + 9) * MS, 4 * MS);
  assert_int_equal(ask_rule("F29"), 1);
  ASSERT_NEAR(found_number(0, "line"), 12);
}

enum line_of { OF_THIS_MACHINE, OF_ANOTHER, OF_A_CHANGED_FILE, OF_A_SERVER };

// Asks about a program whose twelfth line collects garbage.
static bool title_has_line(enum line_of of)
{
  const char *path = source_of("\n\n\n\n\n\n\n\n\n\n\n  gc.collect() \n");
  struct utsname names;
  char other[sizeof names.nodename + 1];
  uname(&names);
  snprintf(other, sizeof other, "%sx", names.nodename);
  fixture.created_ns = of == OF_A_CHANGED_FILE ? 1 : INT64_MAX;
  fixture.request.reads_source = of != OF_A_SERVER;
  own_code_of(of == OF_ANOTHER ? other : names.nodename, path, 5, 5);
  assert_int_equal(ask_rule("F29"), 1);
  const char *title = found_text(0, "title");
  return strcmp(title + strlen(title) - strlen(": gc.collect()"), ": gc.collect()") == 0;
}

// Asks F2 about a program whose third line, in `function`, has a layer of a library multiply 40 times a step. `model`: it is called by one.
// `own`: by way of a module of the program. `others`: operators besides, at that line. Each step begins with `head` at the line of the
// loop, and has `element` at that of the layer.
static size_t products_over(const char *source, const char *function, bool model, bool own, int others,
                            const char *head, const char *element)
{
  const char *path = source_of(source);
  struct utsname names;
  uname(&names);
  fixture.thread = start_on(names.nodename, 0);
  static const char call[] = SITE "torch/nn/modules/module.py";
  uint32_t main = python(0, "main", FILE_OF, 50);
  uint32_t caller = model ? python(main, "Module._call_impl", call, 1798) : main;
  bool is_comprehension = strstr(function, "<listcomp>") != NULL;
  uint32_t begins = python(caller, is_comprehension ? "forward" : function, path, is_comprehension ? 3 : 2);
  uint32_t line = python(is_comprehension ? begins : caller, function, path, 3);
  uint32_t layer = own ? python(python(line, "Module._call_impl", call, 1798), "Scorer.forward", FILE_OF, 7) : line;
  uint32_t forward = python(layer, "Linear.forward", SITE "torch/nn/modules/linear.py", 134);
  for (int i = 0; i < 20; i++) {
    fixture.context_id = fixture_frame(&fixture, python(begins, "Tensor.__iter__", SITE "torch/_tensor.py", 9),
                                       XSP_FRAME_FRAMEWORK, head, NULL, 0);
    fixture_span(&fixture, XSP_LEVEL_LAYER, head, i * STEP, US);
    fixture.context_id = fixture_frame(&fixture, line, XSP_FRAME_FRAMEWORK, element, NULL, 0);
    for (int k = 0; k < 40; k++)
      fixture_span(&fixture, XSP_LEVEL_LAYER, element, i * STEP + k * 100 * US + 50 * US, US);
  }
  for (int i = 0; i < 20 * (40 + others); i++) {
    bool is_other = i % (40 + others) >= 40;
    const char *name = is_other ? "aten::stack" : "aten::linear";
    fixture.context_id = fixture_frame(&fixture, is_other ? line : forward, XSP_FRAME_FRAMEWORK, name, NULL, 0);
    fixture_span(&fixture, XSP_LEVEL_LAYER, name, i / (40 + others) * STEP + i % (40 + others) * 100 * US + US, 5 * US);
  }
  return ask_rule("F2");
}

static size_t products_in_loop(const char *source, const char *function, bool model, bool own, int others)
{
  return products_over(source, function, model, own, others, "aten::unbind", "aten::view");
}

static const char rows_source[] = "def forward(x):\n  for row in x:\n    out.append(first(row))\n";

static void test_products_of_rows(void **unused)
{
  for (int own = 0; own < 2; own++) {
    findings_test_done(unused);
    findings_test_start(unused);
    assert_int_equal(products_in_loop(rows_source, "forward", true, own == 1, 0), 1);
    ASSERT_NEAR(found_number(0, "line"), 3);
    assert_string_equal(found_text(0, "context"), "forward");
    assert_non_null(strstr(found_text(0, "advice"), "whole batch"));
  }
}

static void test_products_of_a_comprehension(void **unused)
{
  (void)unused;
  assert_int_equal(products_in_loop("\n\n[first(row) for row in x]\n", "forward.<locals>.<listcomp>", true, false, 0),
                   1);
  assert_string_equal(found_text(0, "context"), "forward");
}

static void test_products_of_a_recurrence_are_none(void **unused)
{
  (void)unused;
  static const char source[] = "def forward(x):\n  for row in x:\n    h = first(row + h)\n";
  assert_int_equal(products_in_loop(source, "forward", true, false, 0), 0);
}

static void test_products_of_elements(void **unused)
{
  (void)unused;
  assert_int_equal(products_over(rows_source, "forward", true, false, 0, "aten::size", "aten::select"), 1);
}

// Parameters of different shapes; experts, whose rows a mask chooses.
static void test_products_of_different_shapes_are_none(void **unused)
{
  static const char *const elements[] = {"aten::view", "aten::index", "aten::index_put_"};
  for (size_t i = 0; i < sizeof elements / sizeof elements[0]; i++) {
    findings_test_done(unused);
    findings_test_start(unused);
    const char *head = i > 0 ? "aten::unbind" : "aten::size";
    assert_int_equal(products_over(rows_source, "forward", true, false, 0, head, elements[i]), 0);
  }
}

// A model of many equal layers.
static void test_products_of_requests_are_none(void **unused)
{
  (void)unused;
  assert_int_equal(products_in_loop(rows_source, "main", false, false, 0), 0);
}

// Of a few items each, each of which has a loop.
static void test_products_of_few_items_are_none(void **unused)
{
  (void)unused;
  assert_int_equal(products_in_loop(rows_source, "forward", true, true, 2), 0);
}

static void test_own_code_has_its_source(void **unused)
{
  (void)unused;
  assert_true(title_has_line(OF_THIS_MACHINE));
}

static void test_own_code_of_another_machine_has_none(void **unused)
{
  (void)unused;
  assert_false(title_has_line(OF_ANOTHER));
}

static void test_own_code_of_a_changed_file_has_none(void **unused)
{
  (void)unused;
  assert_false(title_has_line(OF_A_CHANGED_FILE));
}

static void test_own_code_of_a_server_has_none(void **unused)
{
  (void)unused;
  assert_false(title_has_line(OF_A_SERVER));
}

static void test_a_little_own_code_is_none(void **unused)
{
  (void)unused;
  own_code(9, 1);
  assert_int_equal(ask_rule("F29"), 0);
}

// The model computes 5 ms of a step; for 4 ms update (train.py:12) calls NumPy, which spends them in `function`.
static void numpy_beside_the_model(const char *function, const char *operator)
{
  own_code(5, 0);
  uint32_t update = fixture.context_id;
  fixture.context_id = fixture_frame(&fixture, 0, XSP_FRAME_FRAMEWORK, operator, NULL, 0);
  fixture_span(&fixture, XSP_LEVEL_LAYER, operator, 19 * STEP + 5 * MS, MS);
  fixture.context_id = native(update, "ufunc_generic_fastcall", NUMPY);
  fixture.context_id = native(fixture.context_id, function, NUMPY);
  fixture.context_id = native(fixture.context_id, "FLOAT_divide_AVX2", NUMPY);
  samples_of_steps(4);
}

static void test_whole_arrays_of_requests_are_none(void **unused)
{
  (void)unused;
  numpy_beside_the_model("execute_ufunc_loop", "aten::relu");
  assert_int_equal(ask_rule("F29"), 0);
}

static void test_whole_arrays_of_training(void **unused)
{
  static const char *const gradients[] = {"AddmmBackward0", "StatefulPartitionedCall/gradient_tape/dense_1/MatMul"};
  for (size_t i = 0; i < sizeof gradients / sizeof gradients[0]; i++) {
    findings_test_done(unused);
    findings_test_start(unused);
    numpy_beside_the_model("execute_ufunc_loop", gradients[i]);
    assert_int_equal(ask_rule("F29"), 1);
  }
}

static void test_single_elements_of_arrays(void **unused)
{
  (void)unused;
  numpy_beside_the_model("array_subscript", "aten::relu");
  assert_int_equal(ask_rule("F29"), 1);
  ASSERT_NEAR(found_number(0, "line"), 12);
}

static void in_tokenizer(const char *name, int64_t ms)
{
  start_with(9 - ms);
  fixture.context_id = python(fixture.context_id, "answer", FILE_OF, 13);
  fixture.context_id = python(fixture.context_id, name, SITE "transformers/tokenization_utils_base.py", 2900);
  samples_of_steps(ms);
}

static void tokenizing(int64_t ms)
{
  in_tokenizer("PreTrainedTokenizerBase.__call__", ms);
}

static void test_a_tokenizer(void **unused)
{
  (void)unused;
  tokenizing(3);
  assert_int_equal(ask_rule("F29"), 1);
  assert_non_null(strstr(found_text(0, "title"), "tokenized"));
}

static void test_text_of_tokens(void **unused)
{
  (void)unused;
  in_tokenizer("PreTrainedTokenizerBase.decode", 3);
  assert_int_equal(ask_rule("F29"), 1);
  assert_non_null(strstr(found_text(0, "title"), "into text"));
}

static void test_the_text_of_each_request_is_none(void **unused)
{
  (void)unused;
  tokenizing(1);
  assert_int_equal(ask_rule("F29"), 0);
}

static void loads(const char *name, const char *file)
{
  start();
  fixture.context_id = python(fixture.context_id, "answer", FILE_OF, 13);
  fixture.context_id = python(fixture.context_id, name, file, 911);
  fixture.context_id =
      python(fixture.context_id, "AddedToken.__init__", SITE "transformers/tokenization_utils_base.py", 100);
  samples_of_steps(2);
  assert_int_equal(ask_rule("F29"), 1);
  ASSERT_NEAR(found_number(0, "line"), 13);
  assert_non_null(strstr(found_text(0, "title"), "loads"));
}

static void test_loading_is_no_tokenizing(void **unused)
{
  (void)unused;
  loads("PreTrainedTokenizerBase.from_pretrained", SITE "transformers/tokenization_utils_base.py");
}

static void test_loading_by_its_class(void **unused)
{
  (void)unused;
  loads("AutoTokenizer.from_pretrained", SITE "transformers/models/auto/tokenization_auto.py");
}

static void test_loading_by_joblib(void **unused)
{
  (void)unused;
  loads("load", SITE "joblib/numpy_pickle.py");
}

static void test_loading_of_a_pickle(void **unused)
{
  (void)unused;
  loads("_Unpickler.load", "/usr/lib/python3.11/pickle.py");
}

// It walks over what is "saveable".
static void test_loading_by_keras(void **unused)
{
  (void)unused;
  start();
  fixture.context_id = python(fixture.context_id, "answer", FILE_OF, 13);
  fixture.context_id = python(fixture.context_id, "load_model", SITE "keras/src/saving/saving_api.py", 126);
  fixture.context_id = python(fixture.context_id, "_walk_saveable", SITE "keras/src/saving/saving_lib.py", 738);
  samples_of_steps(2);
  assert_int_equal(ask_rule("F29"), 1);
  assert_non_null(strstr(found_text(0, "title"), "loads a model"));
}

// What takes long before the first step is no part of the loop: the step's own time is in all parts of it.
static void test_a_long_start(void **unused)
{
  (void)unused;
  fixture.now_ns = 500 * MS;
  start_with(0);
  uint32_t main = fixture.context_id;
  fixture.context_id = python(main, "Linear.__init__", SITE "torch/nn/modules/linear.py", 100);
  for (int i = 0; i < 40; i++)
    fixture_sample(&fixture, SAMPLE_CPU, (10 + i * 10) * MS, 10 * MS);
  for (int i = 0; i < 20; i++) {
    fixture.context_id = python(main, "Linear.forward", SITE "torch/nn/modules/linear.py", 134);
    fixture_sample(&fixture, SAMPLE_CPU, 500 * MS + i * STEP + 4 * MS, 4 * MS);
    fixture.context_id = save_in(main);
    fixture_sample(&fixture, SAMPLE_CPU, 500 * MS + i * STEP + 9 * MS, 6 * MS);
  }
  assert_int_equal(ask_rule("F29"), 1);
  ASSERT_NEAR(found_number(0, "saving_ms"), 6);
}

// What no sample has, since the thread waited for a processor, is spread over those that there are.
static void test_waits_for_a_processor(void **unused)
{
  (void)unused;
  own_code(2, 2);
  assert_int_equal(ask_rule("F29"), 1);
  ASSERT_NEAR(found_number(0, "saving_ms"), 5);
}

// The loop of a program without steps is what its own functions take, also for a rule that is asked alone.
static void test_imports_are_in_no_loop(void **unused)
{
  (void)unused;
  fixture_experiment(&fixture, "train");
  fixture_run(&fixture, "M/L", 1);
  uint32_t steps = fixture.thread;
  fixture.thread = thread(7);
  fixture.context_id = python(0, "main", FILE_OF, 30);
  fixture_sample(&fixture, SAMPLE_CPU, 8 * MS, MS);
  fixture_sample(&fixture, SAMPLE_CPU, 12 * MS, MS);
  fixture.context_id =
      python(python(0, "<module>", FILE_OF, 1), "_find_and_load", "<frozen importlib._bootstrap>", 1007);
  fixture_sample(&fixture, SAMPLE_CPU, 4 * MS, 4 * MS);
  fixture.thread = steps;
  fixture.context_id = 0;
  fixture_model(&fixture, 20 * MS, false);
  fixture_span(&fixture, XSP_LEVEL_LAYER, "conv", 8 * MS, 3 * MS);
  assert_int_equal(ask_rule("F1"), 1);
  ASSERT_NEAR(found_number(0, "saving_pct"), 75);
}

// ---- the first sentence without a finding ----------------------------------------------------------------------------
static const char *first_sentence(void)
{
  ask_rule("F7");
  return fixture_summary_text(&fixture, "cause");
}

static void test_the_line_of_a_program_without_layers(void **unused)
{
  (void)unused;
  start_with(2);
  fixture.context_id = python(fixture.context_id, "score.<locals>.<listcomp>", FILE_OF, 11);
  for (int i = 0; i < 20; i++)
    fixture_sample(&fixture, SAMPLE_IO, i * STEP + 9 * MS, 6 * MS);
  assert_non_null(
      strstr(first_sentence(),
             "75 % of the main thread's time, without imports, is in score, which mostly waits, train.py:11"));
}

static void test_the_line_outside_of_layers(void **unused)
{
  (void)unused;
  own_code(1, 4);
  assert_non_null(strstr(first_sentence(), "the program's line with most time is in update, train.py:12"));
}

// As those of ONNX Runtime: the line is that of the samples.
static void test_the_line_of_layers_without_call_paths(void **unused)
{
  (void)unused;
  start_with(0);
  uint32_t predict = python(fixture.context_id, "predict", FILE_OF, 12);
  fixture.context_id = 0;
  for (int i = 0; i < 20; i++)
    fixture_span(&fixture, XSP_LEVEL_LAYER, "MatMul_1", i * STEP, 8 * MS);
  fixture.context_id = predict;
  samples_of_steps(8);
  assert_non_null(strstr(first_sentence(), "most in MatMul_1, train.py:12"));
}

// As those of PyTorch: the sentence and its fields name the operators' line.
static void test_the_line_of_layers_with_call_paths(void **unused)
{
  (void)unused;
  start_with(0);
  fixture.context_id = python(fixture.context_id, "predict", FILE_OF, 12);
  for (int i = 0; i < 20; i++)
    fixture_span(&fixture, XSP_LEVEL_LAYER, "aten::addmm", i * STEP, 8 * MS);
  const char *cause = first_sentence();
  assert_non_null(strstr(cause, ", train.py:12"));
  assert_non_null(strstr(cause, "\"file\":\"" FILE_OF "\",\"line\":12"));
}

// main calls a model at line 30 for one row each, in 100 observations, of which line 5 of forward() takes most.
static const char *single_rows(int64_t operator_us)
{
  fixture_experiment(&fixture, "train");
  fixture_run(&fixture, "A/M/L", 1);
  uint32_t call = python(python(0, "main", FILE_OF, 30), "Module._call_impl", SITE "torch/nn/modules/module.py", 1798);
  uint32_t forward = python(call, "Net.forward", FILE_OF, 5);
  for (int i = 0; i < 100; i++) {
    int64_t at = fixture.now_ns;
    fixture.context_id = 0;
    fixture_model(&fixture, 2 * operator_us * US, false);
    fixture_int(&fixture, fixture.span_id, "batch_size", 1);
    fixture.context_id = fixture_frame(&fixture, forward, XSP_FRAME_FRAMEWORK, "aten::addmm", NULL, 0);
    fixture_span(&fixture, XSP_LEVEL_LAYER, "aten::addmm", at, operator_us * US);
    fixture_span(&fixture, XSP_LEVEL_LAYER, "aten::addmm", at + operator_us * US, operator_us * US - US);
  }
  return first_sentence();
}

static void test_the_line_that_calls_a_model_for_single_rows(void **unused)
{
  (void)unused;
  assert_non_null(strstr(single_rows(50), "100 calls of one row each, no batches, train.py:30"));
}

static void test_the_line_of_large_layers_in_single_rows(void **unused)
{
  (void)unused;
  assert_non_null(strstr(single_rows(150), "100 calls of one row each, no batches, train.py:5"));
}

static void test_no_sentence_about_observations_without_time(void **unused)
{
  (void)unused;
  fixture_experiment(&fixture, "train");
  fixture_run(&fixture, "M/L", 1);
  fixture_model(&fixture, 0, false);
  fixture_span(&fixture, XSP_LEVEL_LAYER, "MatMul_1", 0, 0);
  assert_null(first_sentence());
}

// ---- F57 -------------------------------------------------------------------------------------------------------------
static size_t samples_in(const char *function)
{
  start_with(8);
  fixture.context_id = fixture_frame(&fixture, fixture.context_id, XSP_FRAME_NATIVE, function, NULL, 0);
  samples_of_steps(1);
  return ask_rule("F57");
}

static size_t products_in(const char *type)
{
  char name[128];
  snprintf(name, sizeof name, "void at::native::cpublas::(anonymous namespace)::gemm_transb_impl<%s, float>(long)",
           type);
  return samples_in(name);
}

static void test_products_in_float16(void **unused)
{
  (void)unused;
  assert_int_equal(products_in("c10::Half"), 1);
  assert_string_equal(found_text(0, "context"), "float16");
  ASSERT_NEAR(found_number(0, "line"), 30);
  ASSERT_NEAR(found_number(0, "saving_pct"), 100. / 9);
}

static void test_products_in_bfloat16(void **unused)
{
  (void)unused;
  assert_int_equal(products_in("c10::BFloat16"), 1);
  assert_string_equal(found_text(0, "context"), "bfloat16");
}

// PyTorch has vector code for them.
static void test_products_with_vectors_in_float16_are_none(void **unused)
{
  (void)unused;
  assert_int_equal(samples_in("at::native::fp16_gemv_trans(int, c10::Half const*)"), 0);
}

static void test_products_in_float32_are_none(void **unused)
{
  (void)unused;
  assert_int_equal(products_in("float"), 0);
}

// ---- what libraries of models do beside them --------------------------------------------------------------------------
static size_t work_of(const char *function, const char *file, int64_t ms)
{
  start_with(8 - ms);
  fixture.context_id = python(python(fixture.context_id, "update", FILE_OF, 16), function, file, 2200);
  samples_of_steps(ms);
  return ask_rule("F29");
}

static void test_states_collected_in_each_step(void **unused)
{
  assert_int_equal(work_of("Module.state_dict", SITE "torch/nn/modules/module.py", 2), 1);
  assert_non_null(strstr(found_text(0, "title"), "state_dict()"));
  findings_test_done(unused);
  findings_test_start(unused);
  assert_int_equal(work_of("Layer.get_weights", SITE "keras/src/layers/layer.py", 2), 1);
  ASSERT_NEAR(found_number(0, "line"), 16);
}

static void test_a_few_states_are_none(void **unused)
{
  (void)unused;
  assert_int_equal(work_of("Module.state_dict", SITE "torch/nn/modules/module.py", 1), 0);
}

static void test_tensors_as_text(void **unused)
{
  (void)unused;
  assert_int_equal(work_of("_tensor_str", SITE "torch/_tensor_str.py", 2), 1);
  assert_non_null(strstr(found_text(0, "title"), "text"));
  assert_non_null(strstr(found_text(0, "advice"), ".item()")); // print(loss) formats what is printed
}

static void test_tracing_by_pytorch(void **unused)
{
  (void)unused;
  assert_int_equal(work_of("trace", SITE "torch/jit/_trace.py", 2), 1);
  assert_non_null(strstr(found_text(0, "title"), "traced and compiled"));
}

// Its layers are made anew.
static void test_models_quantized_in_each_step(void **unused)
{
  (void)unused;
  start();
  uint32_t answer = python(fixture.context_id, "answer", FILE_OF, 12);
  uint32_t convert = python(answer, "quantize_dynamic", SITE "torch/ao/quantization/quantize.py", 500);
  fixture.context_id = python(convert, "Linear.__init__", SITE "torch/nn/modules/linear.py", 105);
  samples_of_steps(2);
  assert_int_equal(ask_rule("F29"), 1);
  assert_non_null(strstr(found_text(0, "title"), "quantizes"));
  ASSERT_NEAR(found_number(0, "line"), 12);
}

// Layers that learn to be quantized round in each step.
static void test_rounding_in_each_step_is_no_conversion(void **unused)
{
  static const struct {
    const char *function, *file;
  } rounding[] = {{"FakeQuantize.forward", SITE "torch/ao/quantization/fake_quantize.py"},
                  {"quantize_per_tensor", SITE "torch/ao/quantization/fx/_decomposed.py"}};
  for (size_t i = 0; i < sizeof rounding / sizeof rounding[0]; i++) {
    findings_test_done(unused);
    findings_test_start(unused);
    assert_int_equal(work_of(rounding[i].function, rounding[i].file, 2), 0);
  }
}

static void test_models_moved_in_each_step(void **unused)
{
  (void)unused;
  assert_int_equal(work_of("Module._apply", SITE "torch/nn/modules/module.py", 2), 1);
  assert_non_null(strstr(found_text(0, "title"), "moves a model"));
}

static void test_a_profiler_in_each_step(void **unused)
{
  (void)unused;
  assert_int_equal(work_of("profile._parse_kineto_results", SITE "torch/autograd/profiler.py", 2), 1);
  assert_non_null(strstr(found_text(0, "title"), "profiler"));
}

// A profiler with a schedule: a few steps are profiled, and exported once.
static void test_steps_of_a_profiler_are_none(void **unused)
{
  (void)unused;
  static const char profiler[] = SITE "torch/profiler/profiler.py";
  start_with(6);
  uint32_t step = python(python(fixture.context_id, "update", FILE_OF, 16), "profile.step", profiler, 700);
  fixture.context_id = step;
  samples_of_steps(2);
  fixture.context_id = python(step, "_KinetoProfile.export_chrome_trace", profiler, 200);
  fixture_sample(&fixture, SAMPLE_CPU, 5 * STEP + 9 * MS, 5 * MS);
  assert_int_equal(ask_rule("F29"), 0);
}

static void test_a_range_is_no_profiler(void **unused)
{
  (void)unused;
  assert_int_equal(work_of("record_function.__enter__", SITE "torch/autograd/profiler.py", 2), 0);
}

static void test_applying_a_function_moves_nothing(void **unused)
{
  (void)unused;
  assert_int_equal(work_of("Module.apply", SITE "torch/nn/modules/module.py", 2), 0);
}

// ---- F22, by samples -------------------------------------------------------------------------------------------------
#define LIBTORCH SITE "torch/lib/libtorch_cpu.so"

static size_t softmax_beside(const char *operator_name, const char *function, const char *module)
{
  uint32_t steps = start_on("elsewhere", 8), main_thread = fixture.thread, main = fixture.context_id;
  fixture.thread = steps;
  fixture.context_id = fixture_frame(&fixture, main, XSP_FRAME_FRAMEWORK, operator_name, NULL, 0);
  fixture_span(&fixture, XSP_LEVEL_LAYER, operator_name, 5 * MS, US);
  fixture.thread = main_thread;
  uint32_t converts = python(main, "forward", FILE_OF, 17);
  fixture.context_id = native(python(main, "forward", FILE_OF, 18), function, module);
  samples_of_steps(1);
  if (strstr(function, "softmax") != NULL) {
    fixture.context_id =
        native(converts, "torch::autograd::THPVariable_double(_object*)", SITE "torch/lib/libtorch_python.so");
    fixture_sample(&fixture, SAMPLE_CPU, 9 * MS, MS);
  }
  return ask_rule("F22");
}

static size_t softmax_in(const char *function, const char *module)
{
  return softmax_beside("aten::mul", function, module);
}

static void test_softmax_in_float64(void **unused)
{
  (void)unused;
  assert_int_equal(
      softmax_in("void serial_vec_log_softmax_lastdim_range<double>(double const*, double*, long)", LIBTORCH), 1);
  ASSERT_NEAR(found_number(0, "line"), 17); // which makes float64 of it
  ASSERT_NEAR(found_number(0, "share_pct"), 100. * 21 / 181);
  ASSERT_NEAR(found_number(0, "saving_pct"), 50. * 21 / 181);
}

static void test_softmax_in_float64_beside_other_operators(void **unused)
{
  static const char softmax[] = "void serial_vec_log_softmax_lastdim_range<double>(double const*, double*, long)";
  static const char *const names[] = {"aten::linalg_vector_norm", "aten::sqrt", "aten::resolve_conj", "aten::detach"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    findings_test_done(unused);
    findings_test_start(unused);
    assert_int_equal(softmax_beside(names[i], softmax, LIBTORCH), 1);
  }
}

static void test_floats_added_up_in_float64_are_none(void **unused)
{
  (void)unused;
  assert_int_equal(softmax_in("void batch_norm_collect<float, double>(float const*, double*, long)", LIBTORCH), 0);
}

// Statistics of features, added up precisely.
static void test_products_in_float64_are_none(void **unused)
{
  (void)unused;
  static const char gemm[] = "at::native::cpublas::gemm(long, double, double const*, long, double*, long)";
  assert_int_equal(softmax_in(gemm, LIBTORCH), 0);
}

static void test_sums_in_float64_are_none(void **unused)
{
  (void)unused;
  assert_int_equal(softmax_in("void at::native::vectorized_outer_sum<double>(char* const*, double*)", LIBTORCH), 0);
}

// Gaussian processes and least squares need the precision.
static void test_float64_beside_a_factorization_is_none(void **unused)
{
  (void)unused;
  static const char softmax[] = "void serial_vec_log_softmax_lastdim_range<double>(double const*, double*, long)";
  assert_int_equal(softmax_beside("aten::linalg_solve_ex", softmax, LIBTORCH), 0);
}

struct input {
  const char *loop, *cast;
  const char *casts;   // the function
  const char *algebra; // a function of NumPy's that runs once
  bool has_model;      // operators run
};

// In each step NumPy computes at line 18 of prepare(), which main() calls, and in one of them makes other numbers of it.
static size_t input_of(const struct input *how)
{
  uint32_t steps = start_on("elsewhere", 8), main_thread = fixture.thread, main = fixture.context_id;
  fixture.thread = steps;
  fixture.context_id = fixture_frame(&fixture, main, XSP_FRAME_FRAMEWORK, "aten::mul", NULL, 0);
  for (int i = 0; i < 20 && how->has_model; i++)
    fixture_span(&fixture, XSP_LEVEL_LAYER, "aten::mul", i * STEP + 5 * MS, US);
  fixture.thread = main_thread;
  uint32_t prepare = python(main, "prepare", FILE_OF, 18);
  fixture.context_id = native(prepare, how->loop, NUMPY);
  samples_of_steps(1);
  fixture.context_id = native(python(main, how->casts, FILE_OF, 19), how->cast, NUMPY);
  fixture_sample(&fixture, SAMPLE_CPU, 9 * MS, MS / 2);
  if (how->algebra != NULL) {
    fixture.context_id =
        native(python(python(main, "whiten", FILE_OF, 30), how->algebra, SITE "numpy/linalg/_linalg.py", 7),
               "dgemm_kernel", SITE "numpy.libs/libscipy_openblas64_.so");
    fixture_sample(&fixture, SAMPLE_CPU, 10 * MS, MS / 100);
  }
  return ask_rule("F22");
}

static size_t input_in(const char *loop, const char *cast, bool has_model)
{
  return input_of(&(struct input){loop, cast, "prepare", NULL, has_model});
}

static void test_input_in_float64(void **unused)
{
  (void)unused;
  assert_int_equal(input_in("DOUBLE_subtract_X86_V3", "_aligned_contig_cast_double_to_float", true), 1);
  ASSERT_NEAR(found_number(0, "line"), 18);
  ASSERT_NEAR(found_number(0, "saving_pct"), 50. * 20 / 180.5);
}

static const char subtracts[] = "DOUBLE_subtract_X86_V3", narrows[] = "_aligned_contig_cast_double_to_float";

static void test_input_that_its_caller_narrows(void **unused)
{
  (void)unused;
  assert_int_equal(input_of(&(struct input){subtracts, narrows, "main", "norm", true}), 1);
}

// Random weights, or a plot.
static void test_input_that_another_function_narrows_is_none(void **unused)
{
  (void)unused;
  assert_int_equal(input_of(&(struct input){subtracts, narrows, "draw", NULL, true}), 0);
}

static void test_input_beside_algebra_is_none(void **unused)
{
  (void)unused;
  assert_int_equal(input_of(&(struct input){subtracts, narrows, "prepare", "eigh", true}), 0);
}

// Random numbers, which are made in float64.
static void test_float64_that_only_becomes_float32_is_none(void **unused)
{
  (void)unused;
  static const char cast[] = "_aligned_contig_cast_double_to_float";
  assert_int_equal(input_in(cast, cast, true), 0);
}

static void test_input_in_float64_that_stays_is_none(void **unused)
{
  (void)unused;
  assert_int_equal(input_in("DOUBLE_subtract_X86_V3", "_aligned_contig_cast_double_to_long", true), 0);
}

static void test_sums_of_numpy_in_float64_are_none(void **unused)
{
  (void)unused;
  assert_int_equal(input_in("DOUBLE_pairwise_sum", "_aligned_contig_cast_double_to_float", true), 0);
}

static void test_float64_without_a_model_is_none(void **unused)
{
  (void)unused;
  assert_int_equal(input_in("DOUBLE_subtract_X86_V3", "_aligned_contig_cast_double_to_float", false), 0);
}

static void test_float64_of_numpy_is_none(void **unused)
{
  (void)unused;
  assert_int_equal(softmax_in("void pocketfft::rfftp<double>::exec(double*)", NUMPY), 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(test_states_collected_in_each_step),
      TEST(test_a_few_states_are_none),
      TEST(test_tensors_as_text),
      TEST(test_tracing_by_pytorch),
      TEST(test_models_quantized_in_each_step),
      TEST(test_rounding_in_each_step_is_no_conversion),
      TEST(test_models_moved_in_each_step),
      TEST(test_applying_a_function_moves_nothing),
      TEST(test_a_profiler_in_each_step),
      TEST(test_steps_of_a_profiler_are_none),
      TEST(test_a_range_is_no_profiler),
      TEST(test_softmax_in_float64),
      TEST(test_softmax_in_float64_beside_other_operators),
      TEST(test_floats_added_up_in_float64_are_none),
      TEST(test_products_in_float64_are_none),
      TEST(test_sums_in_float64_are_none),
      TEST(test_float64_beside_a_factorization_is_none),
      TEST(test_float64_of_numpy_is_none),
      TEST(test_input_in_float64),
      TEST(test_input_that_its_caller_narrows),
      TEST(test_input_that_another_function_narrows_is_none),
      TEST(test_input_beside_algebra_is_none),
      TEST(test_input_in_float64_that_stays_is_none),
      TEST(test_float64_that_only_becomes_float32_is_none),
      TEST(test_sums_of_numpy_in_float64_are_none),
      TEST(test_float64_without_a_model_is_none),
      TEST(test_products_in_float16),
      TEST(test_products_in_bfloat16),
      TEST(test_products_with_vectors_in_float16_are_none),
      TEST(test_products_in_float32_are_none),
      TEST(test_checkpoints_in_each_step),
      TEST(test_one_checkpoint_is_none),
      TEST(test_running_compiled_code_is_no_compilation),
      TEST(test_programs_in_each_step),
      TEST(test_waits_for_processes_in_each_step),
      TEST(test_models_made_in_each_step),
      TEST(test_models_of_several_steps),
      TEST(test_tracing_in_each_step),
      TEST(test_running_a_traced_function_is_no_tracing),
      TEST(test_the_title_has_why_it_is_traced_again),
      TEST(test_eager_steps_of_keras),
      TEST(test_eager_steps_that_take_all_time),
      TEST(test_one_eager_operator_is_no_loop),
      TEST(test_little_eager_input_is_none),
      TEST(test_eager_input_of_few_samples),
      TEST(test_much_eager_input),
      TEST(test_little_decoding_is_none),
      TEST(test_much_decoding),
      TEST(test_tracing_a_step_of_keras_is_not_eager),
      TEST(test_what_takes_nearly_all_again),
      TEST(test_what_takes_nearly_all_once),
      TEST(test_checks_of_single_rows),
      TEST(test_trees_of_single_rows),
      TEST(test_trees_of_many_rows),
      TEST(test_a_few_checks_are_none),
      TEST(test_what_one_step_has_is_none),
      TEST(test_a_saving_thread_is_none),
      TEST(test_work_at_several_lines),
      TEST(test_work_that_a_line_calls),
      TEST(test_a_blocked_event_loop),
      TEST(test_a_sleep),
      TEST(test_predict_again_and_again),
      TEST(test_own_code_beside_the_model),
      TEST(test_products_of_rows),
      TEST(test_products_of_a_comprehension),
      TEST(test_products_of_a_recurrence_are_none),
      TEST(test_products_of_elements),
      TEST(test_products_of_different_shapes_are_none),
      TEST(test_products_of_requests_are_none),
      TEST(test_products_of_few_items_are_none),
      TEST(test_writing_an_answer_is_none),
      TEST(test_an_idle_event_loop_is_none),
      TEST(test_own_code_has_its_source),
      TEST(test_own_code_of_another_machine_has_none),
      TEST(test_own_code_of_a_changed_file_has_none),
      TEST(test_own_code_of_a_server_has_none),
      TEST(test_a_little_own_code_is_none),
      TEST(test_whole_arrays_of_requests_are_none),
      TEST(test_whole_arrays_of_training),
      TEST(test_single_elements_of_arrays),
      TEST(test_a_tokenizer),
      TEST(test_text_of_tokens),
      TEST(test_the_text_of_each_request_is_none),
      TEST(test_loading_is_no_tokenizing),
      TEST(test_loading_by_its_class),
      TEST(test_loading_by_joblib),
      TEST(test_loading_of_a_pickle),
      TEST(test_loading_by_keras),
      TEST(test_waits_for_a_processor),
      TEST(test_imports_are_in_no_loop),
      TEST(test_a_long_start),
      TEST(test_the_line_of_a_program_without_layers),
      TEST(test_the_line_outside_of_layers),
      TEST(test_the_line_of_layers_without_call_paths),
      TEST(test_the_line_of_layers_with_call_paths),
      TEST(test_the_line_that_calls_a_model_for_single_rows),
      TEST(test_the_line_of_large_layers_in_single_rows),
      TEST(test_no_sentence_about_observations_without_time),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
