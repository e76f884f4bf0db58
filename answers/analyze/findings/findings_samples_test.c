// SPDX-License-Identifier: Apache-2.0
// F6, F29, F30, F32 and F33 over programs with samples: what happens again and again is found at its line, what happens once is not.
#include "analyze/findings/test_findings.h"

#include <stdio.h>
#include <string.h>
#include <xsp/call_path.h>

#define FILE_OF "/home/me/train.py"
#define STEP (10 * MS + US) // from one step to the next
#define SITE "/venv/lib/python3.11/site-packages/"
#define NUMPY SITE "numpy/_core/_multiarray_umath.cpython-311-x86_64-linux-gnu.so"

static uint32_t python(uint32_t caller, const char *name, const char *file, int64_t line)
{
  return fixture_frame(&fixture, caller, XSP_FRAME_PYTHON, name, file, line);
}

static uint32_t thread(int64_t id)
{
  return fixture_track(&fixture, &(const struct store_track){.name = "python3",
                                                             .host = "h",
                                                             .process_id = 7,
                                                             .thread_id = id,
                                                             .device_id = STORE_NONE,
                                                             .stream_id = STORE_NONE});
}

// 20 steps of 10 ms, in each of which main (train.py:30) computes some. Returns the steps' thread.
static int processors = 2;

static uint32_t start_with(int64_t main_ms)
{
  const struct store_system_value system[] = {{.key = "cpus_allowed", .number = processors, .is_number = true}};
  fixture_experiment_on(&fixture, "train", system, 1);
  fixture_run(&fixture, "A/M/L", 1);
  uint32_t main_thread = thread(7), steps = fixture.thread;
  for (int i = 0; i < 20; i++)
    fixture_model(&fixture, 10 * MS, false);
  fixture.thread = main_thread;
  fixture.context_id = python(0, "main", FILE_OF, 30);
  for (int i = 0; i < 20 && main_ms > 0; i++)
    fixture_sample(&fixture, SAMPLE_CPU, (i * 10 + 5) * MS, main_ms * MS);
  return steps;
}

static void start(void)
{
  start_with(8);
}

static void samples_of_steps(int64_t ms)
{
  for (int i = 0; i < 20; i++)
    fixture_sample(&fixture, SAMPLE_CPU, (i * 10 + 9) * MS, ms * MS);
}

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

static void test_much_eager_input(void **unused)
{
  (void)unused;
  assert_int_equal(little_work(SITE "tensorflow/python/ops/random_ops.py", "random_normal", 3), 1);
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
    fixture_sample(&fixture, SAMPLE_CPU, (i * 10 + 9) * MS, (2 + i % 2) * MS);
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

// A model computes 4 ms of a step in operators; update (train.py:12) takes some ms in Python.
static void own_code(int64_t model_ms, int64_t update_ms)
{
  start_with(0);
  uint32_t main = fixture.context_id;
  fixture.context_id = fixture_frame(&fixture, main, XSP_FRAME_FRAMEWORK, "aten::addmm", NULL, 0);
  for (int i = 0; i < 20; i++)
    fixture_span(&fixture, XSP_LEVEL_LAYER, "aten::addmm", i * STEP, 4 * MS);
  fixture.context_id = python(main, "Linear.forward", SITE "torch/nn/modules/linear.py", 134);
  samples_of_steps(model_ms);
  fixture.context_id = python(main, "update", FILE_OF, 12);
  samples_of_steps(update_ms);
}

static void test_own_code_beside_the_model(void **unused)
{
  (void)unused;
  own_code(5, 5);
  assert_int_equal(ask_rule("F29"), 1);
  ASSERT_NEAR(found_number(0, "line"), 12);
  ASSERT_NEAR(found_number(0, "saving_ms"), 5);
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
  (void)unused;
  numpy_beside_the_model("execute_ufunc_loop", "AddmmBackward0");
  assert_int_equal(ask_rule("F29"), 1);
}

static void test_single_elements_of_arrays(void **unused)
{
  (void)unused;
  numpy_beside_the_model("array_subscript", "aten::relu");
  assert_int_equal(ask_rule("F29"), 1);
  ASSERT_NEAR(found_number(0, "line"), 12);
}

static void tokenizing(int64_t ms)
{
  start_with(9 - ms);
  fixture.context_id = python(fixture.context_id, "answer", FILE_OF, 13);
  fixture.context_id = python(fixture.context_id, "PreTrainedTokenizerBase.__call__",
                              SITE "transformers/tokenization_utils_base.py", 2900);
  samples_of_steps(ms);
}

static void test_a_tokenizer(void **unused)
{
  (void)unused;
  tokenizing(3);
  assert_int_equal(ask_rule("F29"), 1);
  assert_non_null(strstr(found_text(0, "title"), "tokenized"));
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

// ---- F6 --------------------------------------------------------------------------------------------------------------
// Steps wait for the loader, which calls the data set (data.py:24): that sleeps, or calls a function of PIL. Each
// epoch has processes of its own.
static void loader_with(const char *loader, int epochs, int processes, int64_t loader_ms, const char *function)
{
  uint32_t steps = start_with(1);
  uint32_t main = fixture.context_id;
  fixture.thread = steps;
  fixture.context_id = 0;
  for (int i = 0; i < 20; i++) {
    fixture_span(&fixture, XSP_LEVEL_APPLICATION, loader, i * STEP, loader_ms * MS);
    fixture_span(&fixture, XSP_LEVEL_LAYER, "aten::mm", i * STEP + loader_ms * MS, (10 - loader_ms) * MS);
  }
  uint32_t fetch = python(main, "fetch", SITE "torch/utils/data/_utils/fetch.py", 54);
  uint32_t item = python(fetch, "Pictures.__getitem__", "/home/me/data.py", 24);
  fixture.context_id = function != NULL ? python(item, function, SITE "PIL/Image.py", 1067) : item;
  for (int i = 0; i < epochs * processes; i++) {
    fixture.thread = fixture_track(
        &fixture, &(const struct store_track){
                      .process_id = 20 + i, .thread_id = 20 + i, .device_id = STORE_NONE, .stream_id = STORE_NONE});
    fixture_sample(&fixture, function != NULL ? SAMPLE_CPU : SAMPLE_SLEEP, (190 - i / processes * 50) * MS, 40 * MS);
  }
}

static void test_f6_names_the_line_of_the_data_set(void **unused)
{
  (void)unused;
  loader_with("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 1, 1, 5, NULL);
  assert_int_equal(ask_rule("F6"), 1);
  assert_string_equal(found_text(0, "file"), "/home/me/data.py");
  ASSERT_NEAR(found_number(0, "line"), 24);
  ASSERT_NEAR(found_number(0, "saving_ms"), 5);
}

static void test_f6_of_processes_that_decode(void **unused)
{
  (void)unused;
  loader_with("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 1, 2, 5, "Image.resize");
  assert_int_equal(ask_rule("F6"), 1);
  assert_non_null(strstr(found_text(0, "title"), "decoded"));
  ASSERT_NEAR(found_number(0, "line"), 24);
}

static void test_f6_is_silent_about_enough_processes(void **unused)
{
  (void)unused;
  loader_with("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 1, 2, 5, NULL);
  assert_int_equal(ask_rule("F6"), 0);
}

// Predictions of 5 ms, between which the loader takes `loader_ms`: they have no part of it.
static void loader_between_predictions(int64_t loader_ms)
{
  fixture_experiment(&fixture, "predict");
  fixture_run(&fixture, "A/M/L", 1);
  fixture_span_in(&fixture, XSP_LEVEL_APPLICATION, "program", "predict.py", 0, 300 * MS);
  for (int i = 0; i < 20; i++) {
    fixture_span(&fixture, XSP_LEVEL_APPLICATION, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                 i * 10 * MS, loader_ms * MS);
    fixture_span(&fixture, XSP_LEVEL_LAYER, "aten::mm", i * 10 * MS + 5 * MS, 5 * MS);
    fixture.now_ns = i * 10 * MS + 5 * MS;
    fixture_model(&fixture, 5 * MS, false);
  }
}

static void test_f6_is_silent_about_pictures_of_the_right_size(void **unused)
{
  (void)unused;
  loader_with("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 1, 2, 5, "Image.convert");
  assert_int_equal(ask_rule("F6"), 0);
}

static void test_f6_of_work_that_processors_share(void **unused)
{
  (void)unused;
  loader_with("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 1, 1, 8, "Image.convert");
  assert_int_equal(ask_rule("F6"), 1);
  ASSERT_NEAR(found_number(0, "saving_ms"), 10 - 8 / 2.0);
}

static void test_f6_of_work_that_could_be_less(void **unused)
{
  (void)unused;
  loader_with("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 1, 1, 8, "Image.resize");
  assert_int_equal(ask_rule("F6"), 1);
  ASSERT_NEAR(found_number(0, "saving_ms"), 8);
}

static void test_f6_counts_the_processes_of_one_epoch(void **unused)
{
  (void)unused;
  loader_with("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 3, 2, 5, NULL);
  assert_int_equal(ask_rule("F6"), 0);
}

static void test_f6_of_too_many_processes(void **unused)
{
  (void)unused;
  loader_with("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 1, 6, 5, NULL);
  assert_int_equal(ask_rule("F6"), 1);
}

// Of a step, the loader takes some ms, in which PyTorch's own code fetches rows of tensors and stacks them.
static void loader_of_tensors(int64_t loader_ms)
{
  uint32_t steps = start_with(0);
  uint32_t fetch = python(fixture.context_id, "fetch", SITE "torch/utils/data/_utils/fetch.py", 54);
  uint32_t rows = python(fetch, "TensorDataset.__getitem__", SITE "torch/utils/data/dataset.py", 206);
  uint32_t importing = python(0, "_find_and_load", "<frozen importlib._bootstrap>", 1178);
  importing = python(importing, "<module>", SITE "torch/utils/data/dataset.py", 9);
  uint32_t sampled = fixture.thread;
  for (int i = 0; i < 20; i++) {
    fixture.thread = steps;
    fixture.context_id = 0;
    fixture_span(&fixture, XSP_LEVEL_APPLICATION, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                 i * STEP, loader_ms * MS);
    fixture_span(&fixture, XSP_LEVEL_LAYER, "aten::mm", i * STEP + loader_ms * MS, (10 - loader_ms) * MS);
    fixture.thread = sampled;
    fixture.context_id = rows;
    fixture_sample(&fixture, SAMPLE_CPU, i * STEP + loader_ms * MS, loader_ms * MS);
  }
  fixture.context_id = python(importing, "_parse", "/usr/lib/python3.11/re/_parser.py", 9);
  fixture_sample(&fixture, SAMPLE_CPU, 20 * STEP, 200 * MS);
}

static void test_f6_is_silent_about_stacked_tensors(void **unused)
{
  (void)unused;
  loader_of_tensors(2);
  assert_int_equal(ask_rule("F6"), 0);
}

static void test_f6_of_stacked_tensors(void **unused)
{
  (void)unused;
  loader_of_tensors(5);
  assert_int_equal(ask_rule("F6"), 1);
  assert_non_null(strstr(found_text(0, "advice"), "by index"));
}

static void test_f6_between_predictions(void **unused)
{
  (void)unused;
  loader_between_predictions(4);
  assert_int_equal(ask_rule("F6"), 1);
  ASSERT_NEAR(found_number(0, "saving_ms"), 4 * 19 / 20.0); // before the first one is before the loop
}

static void test_f6_is_silent_about_a_fast_loader(void **unused)
{
  (void)unused;
  loader_between_predictions(1);
  assert_int_equal(ask_rule("F6"), 0);
}

// ---- F30 -------------------------------------------------------------------------------------------------------------
static void computing_threads(int count)
{
  start();
  fixture.context_id = fixture_frame(&fixture, fixture.context_id, XSP_FRAME_FRAMEWORK, "aten::addmm", NULL, 0);
  for (int i = 0; i < 20; i++)
    fixture_span(&fixture, XSP_LEVEL_LAYER, "aten::addmm", i * STEP, 8 * MS);
  for (int i = 0; i < count; i++) {
    fixture.thread = thread(8 + i);
    fixture_sample(&fixture, SAMPLE_CPU, (i + 1) * MS, 50 * MS);
  }
}

static void test_f30(void **unused)
{
  (void)unused;
  computing_threads(5); // on two processors
  assert_int_equal(ask_rule("F30"), 1);
  ASSERT_NEAR(found_number(0, "line"), 30);
}

// Operators of a graph have no call paths.
static void test_f30_has_the_line_of_the_samples(void **unused)
{
  (void)unused;
  start();
  fixture.context_id = 0;
  for (int i = 0; i < 20; i++)
    fixture_span(&fixture, XSP_LEVEL_LAYER, "MatMul", i * STEP, 8 * MS);
  for (int i = 0; i < 5; i++) {
    fixture.thread = thread(8 + i);
    fixture_sample(&fixture, SAMPLE_CPU, (i + 1) * MS, 50 * MS);
  }
  assert_int_equal(ask_rule("F30"), 1);
  ASSERT_NEAR(found_number(0, "line"), 30);
}

static void test_f30_is_silent_at_its_threshold(void **unused)
{
  (void)unused;
  computing_threads(4);
  assert_int_equal(ask_rule("F30"), 0);
}

// Of TensorFlow, for operators and for what they wait for.
static void test_f30_is_silent_about_two_pools(void **unused)
{
  (void)unused;
  computing_threads(4);
  for (int i = 0; i < 2; i++) {
    fixture.thread = thread(20 + i);
    fixture_sample(&fixture, SAMPLE_CPU, MS, 10 * MS);
  }
  assert_int_equal(ask_rule("F30"), 0);
}

// ---- F32 -------------------------------------------------------------------------------------------------------------
static size_t idle_processors(int count, int threads)
{
  processors = count;
  computing_threads(threads);
  processors = 2;
  return ask_rule("F32");
}

static void test_f32(void **unused)
{
  (void)unused;
  assert_int_equal(idle_processors(4, 0), 1);
  ASSERT_NEAR(found_number(0, "line"), 30);
  ASSERT_NEAR(found_number(0, "saving_ms"), 6); // of 8 ms of operators
}

static void test_f32_is_silent_about_few_processors(void **unused)
{
  (void)unused;
  assert_int_equal(idle_processors(3, 0), 0);
}

static void test_f32_is_silent_about_two_threads(void **unused)
{
  (void)unused;
  assert_int_equal(idle_processors(4, 1), 0);
}

// ---- F33 -------------------------------------------------------------------------------------------------------------
// The main thread takes a batch from a queue for 4 ms of 10, and runs a model for some; a library has a
// thread make batches (train.py:22).
static void producer_with(int64_t model_ms)
{
  start_with(0);
  uint32_t main = fixture.context_id;
  fixture.context_id = python(main, "Queue.get", "/usr/lib/python3.11/queue.py", 171);
  for (int i = 0; i < 20; i++)
    fixture_sample(&fixture, SAMPLE_LOCK, i * STEP + 4 * MS, 4 * MS);
  fixture.context_id = python(main, "Linear.forward", SITE "torch/nn/modules/linear.py", 134);
  for (int i = 0; i < 20; i++)
    fixture_sample(&fixture, SAMPLE_CPU, i * STEP + 9 * MS, model_ms * MS + 1);
  fixture.thread = thread(8);
  uint32_t library = python(0, "FuncRegistry.__call__", SITE "tensorflow/python/ops/script_ops.py", 200);
  fixture.context_id = python(library, "produce.<locals>.<listcomp>", FILE_OF, 22);
  samples_of_steps(4);
}

static void test_f33(void **unused)
{
  (void)unused;
  producer_with(5);
  assert_int_equal(ask_rule("F33"), 1);
  assert_string_equal(found_text(0, "context"), "produce");
  assert_non_null(strstr(found_text(0, "title"), "GIL"));
  ASSERT_NEAR(found_number(0, "line"), 22);
}

// The threads of a server work; the main one only waits for them.
static void test_f33_is_silent_about_a_thread_that_only_waits(void **unused)
{
  (void)unused;
  producer_with(0);
  fixture.thread = thread(7);
  fixture.context_id = python(0, "serve", FILE_OF, 40);
  samples_of_steps(1);
  assert_int_equal(ask_rule("F33"), 0);
}

static void test_f30_is_silent_about_pools_of_xla(void **unused)
{
  (void)unused;
  computing_threads(5);
  fixture_span_in(&fixture, XSP_LEVEL_LAYER, "jax", "dot.1", 0, US); // the text is what counts
  assert_int_equal(ask_rule("F30"), 0);
}

// ---- F25 -------------------------------------------------------------------------------------------------------------
static void compilations_of_jax(int steps)
{
  start(); // main computes at 5 to 13 ms of each step, at line 30
  fixture.context_id = python(0, "main", FILE_OF, 20);
  for (int i = 0; i < 20; i++)
    fixture_sample(&fixture, SAMPLE_CPU, (i * 10 + 3) * MS, MS);
  fixture.context_id = 0;
  fixture_span_in(&fixture, XSP_LEVEL_LAYER, "jax", "dot.1", 0, US); // the text is what counts
  for (int i = 0; i < steps; i++)
    fixture_span_in(&fixture, XSP_LEVEL_APPLICATION, "compile", "jax.jit compilation", (i * 10 + 2) * MS, 2 * MS);
}

// Arrays of several shapes that are set up before a loop.
static void test_f25_is_silent_about_a_few_of_jax(void **unused)
{
  (void)unused;
  compilations_of_jax(10);
  assert_int_equal(ask_rule("F25"), 0);
}

static void test_f25_without_a_place_has_the_line_of_the_samples(void **unused)
{
  (void)unused;
  compilations_of_jax(20);
  assert_int_equal(ask_rule("F25"), 1);
  assert_string_equal(found_text(0, "file"), FILE_OF);
  ASSERT_NEAR(found_number(0, "line"), 20);
}

// ---- F29 of JAX: steps of 10 ms, of which the main thread is in JAX for 4, and XLA computes `module_ms` in a module ----
static void start_jax(int64_t module_ms)
{
  fixture_experiment(&fixture, "train");
  fixture_run(&fixture, "A/M/L", 1);
  uint32_t main_thread = thread(7);
  for (int i = 0; i < 20; i++) {
    int64_t module_ns = i * STEP + (10 - module_ms) * MS;
    fixture_span_in(&fixture, XSP_LEVEL_MODEL, "step", "jit_step", i * STEP, 10 * MS);
    fixture_span_in(&fixture, XSP_LEVEL_MODEL, NULL, "jit_step", module_ns, module_ms * MS);
    fixture_span_in(&fixture, XSP_LEVEL_LAYER, "jax", "dot.1", module_ns, MS); // the text is what counts
  }
  fixture.thread = main_thread;
  uint32_t line = python(0, "main", FILE_OF, 30);
  fixture.context_id = python(line, "bind", SITE "jax/_src/core.py", 705);
  for (int i = 0; i < 20; i++)
    fixture_sample(&fixture, SAMPLE_CPU, i * STEP + 4 * MS, 4 * MS);
  fixture.context_id = line;
}

static void waits_every(int steps, int64_t ms)
{
  for (int i = 0; i < 20; i += steps)
    fixture_sample(&fixture, SAMPLE_LOCK, i * STEP + 10 * MS, ms * MS);
}

// The innermost function of the call path of a wait for a number.
static uint32_t reads_a_number(void)
{
  uint32_t reads = python(fixture.context_id, "ArrayImpl.__float__", SITE "jax/_src/array.py", 300);
  return python(reads, "ArrayImpl._value", SITE "jax/_src/array.py", 623);
}

static void test_reads_while_xla_has_nothing_to_do(void **unused)
{
  (void)unused;
  start_jax(6);
  fixture.context_id = reads_a_number();
  waits_every(1, 6);
  assert_int_equal(ask_rule("F29"), 1);
  assert_non_null(strstr(found_text(0, "title"), "waits for JAX's results"));
  ASSERT_NEAR(found_number(0, "line"), 30);
  ASSERT_NEAR(found_number(0, "time_ms"), 6);
  ASSERT_NEAR(found_number(0, "saving_ms"), 4); // XLA runs no module then
}

static void test_reads_of_what_xla_still_computes(void **unused)
{
  (void)unused;
  start_jax(10);
  fixture.context_id = reads_a_number();
  waits_every(1, 6);
  assert_int_equal(ask_rule("F29"), 0);
}

static void test_reads_every_so_many_steps(void **unused)
{
  (void)unused;
  start_jax(6);
  fixture.context_id = reads_a_number();
  waits_every(2, 12);
  assert_int_equal(ask_rule("F29"), 0);
}

static void waits_for_outputs(const char *function)
{
  start_jax(6);
  fixture.context_id = python(fixture.context_id, function, SITE "jax/_src/array.py", 623);
  waits_every(1, 6);
}

static void test_outputs_that_the_program_must_have(void **unused)
{
  (void)unused;
  waits_for_outputs("ArrayImpl._value");
  assert_int_equal(ask_rule("F29"), 0);
}

static void test_waits_that_measure_a_call(void **unused)
{
  (void)unused;
  waits_for_outputs("ArrayImpl.block_until_ready");
  assert_int_equal(ask_rule("F29"), 0);
}

static void test_eager_jax(void **unused)
{
  (void)unused;
  start_jax(2);
  fixture.context_id = python(fixture.context_id, "_operator_add", SITE "jax/_src/numpy/array_methods.py", 732);
  samples_of_steps(6);
  assert_int_equal(ask_rule("F29"), 1);
  assert_non_null(strstr(found_text(0, "title"), "eagerly"));
  ASSERT_NEAR(found_number(0, "saving_ms"), 6);
}

// Calls wait for their turn where XLA computes what was called before.
static void test_waits_in_eager_jax(void **unused)
{
  (void)unused;
  start_jax(2);
  fixture.context_id = python(fixture.context_id, "_operator_add", SITE "jax/_src/numpy/array_methods.py", 732);
  for (int i = 0; i < 20; i++)
    fixture_sample(&fixture, SAMPLE_LOCK, (i * 10 + 9) * MS, 6 * MS);
  assert_int_equal(ask_rule("F29"), 0);
}

static void test_random_numbers_of_jax_are_none(void **unused)
{
  (void)unused;
  start_jax(2);
  fixture.context_id = python(fixture.context_id, "normal", SITE "jax/_src/random.py", 700);
  fixture.context_id = python(fixture.context_id, "_operator_add", SITE "jax/_src/numpy/array_methods.py", 732);
  samples_of_steps(6);
  assert_int_equal(ask_rule("F29"), 0);
}

// Its file is one of compilation's, too.
static void test_copies_to_jax_are_no_compilation(void **unused)
{
  (void)unused;
  start_jax(2);
  fixture.context_id = python(fixture.context_id, "_device_put_impl", SITE "jax/_src/dispatch.py", 626);
  fixture.context_id = python(fixture.context_id, "_shard_np_array", SITE "jax/_src/interpreters/pxla.py", 192);
  samples_of_steps(6);
  assert_int_equal(ask_rule("F29"), 1);
  assert_non_null(strstr(found_text(0, "title"), "copies arrays"));
}

static void calls_of_jitted_functions(int64_t module_ms, int64_t ms, unsigned kind)
{
  start_jax(module_ms);
  fixture.context_id = fixture_frame(&fixture, fixture.context_id, XSP_FRAME_PYTHON, "_cpp_pjit.<locals>.cache_miss",
                                     SITE "jax/_src/pjit.py", 259);
  for (int i = 0; i < 20; i++)
    fixture_sample(&fixture, kind, i * STEP + 10 * MS, ms * MS);
}

static void test_calls_of_small_jitted_functions(void **unused)
{
  (void)unused;
  calls_of_jitted_functions(2, 6, SAMPLE_CPU);
  assert_int_equal(ask_rule("F29"), 1);
  assert_non_null(strstr(found_text(0, "title"), "compute little"));
  ASSERT_NEAR(found_number(0, "saving_ms"), 6);
}

static void test_calls_of_jitted_functions_that_compute(void **unused)
{
  (void)unused;
  calls_of_jitted_functions(10, 6, SAMPLE_CPU);
  assert_int_equal(ask_rule("F29"), 0);
}

static void test_calls_that_are_less_than_what_they_compute(void **unused)
{
  (void)unused;
  calls_of_jitted_functions(6, 3, SAMPLE_CPU); // 4 ms without a module
  assert_int_equal(ask_rule("F29"), 0);
}

static void test_calls_that_wait_for_earlier_ones(void **unused)
{
  (void)unused;
  calls_of_jitted_functions(2, 6, SAMPLE_LOCK);
  assert_int_equal(ask_rule("F29"), 0);
}

// In the first ones.
static void compilations_of_steps(int steps, const char *id_format)
{
  start_jax(2);
  fixture.context_id = python(fixture.context_id, "backend_compile", SITE "jax/_src/compiler.py", 5);
  for (int i = 0; i < steps; i++) {
    char id[16];
    snprintf(id, sizeof id, id_format, i);
    fixture_sample(&fixture, SAMPLE_CPU, i * STEP + 9 * MS, 6 * MS);
    uint32_t context_id = fixture.context_id;
    fixture.context_id = 0;
    int64_t span =
        fixture_span_in(&fixture, XSP_LEVEL_APPLICATION, "compile", "jax.jit compilation", i * STEP + 2 * MS, 8 * MS);
    fixture.context_id = context_id;
    fixture_words(&fixture, span, "compile_id", id);
  }
}

static void test_compilations_of_one_function(void **unused)
{
  (void)unused;
  compilations_of_steps(20, "0/%d");
  assert_int_equal(ask_rule("F29"), 1);
  assert_non_null(strstr(found_text(0, "title"), "compiled again"));
}

// Layers of several shapes are set up, and two operations of each are compiled.
static void test_compilations_while_setting_up(void **unused)
{
  (void)unused;
  compilations_of_steps(6, "0/%d");
  for (int i = 0; i < 6; i++)
    for (int k = 1; k < 9; k++)
      fixture_sample(&fixture, SAMPLE_CPU, i * STEP + k * MS, 6 * MS);
  assert_int_equal(ask_rule("F29"), 0);
}

static void test_first_compilations_of_many_functions(void **unused)
{
  (void)unused;
  compilations_of_steps(20, "%d/0");
  assert_int_equal(ask_rule("F29"), 0);
}

// What takes most of the first step only hides in how many parts of the time the rest happens.
static void test_eager_jax_after_a_long_compilation(void **unused)
{
  (void)unused;
  start_jax(2);
  uint32_t main = fixture.context_id;
  fixture.context_id = python(main, "compile", SITE "jax/_src/compiler.py", 5);
  fixture_sample(&fixture, SAMPLE_CPU, 2 * MS, 400 * MS);
  fixture.context_id = python(main, "_operator_add", SITE "jax/_src/numpy/array_methods.py", 732);
  samples_of_steps(9);
  assert_int_equal(ask_rule("F29"), 1);
  assert_non_null(strstr(found_text(0, "title"), "eagerly"));
}

// The profile pauses after the steps that it has; the loop goes on.
static void test_eager_jax_in_a_pause(void **unused)
{
  (void)unused;
  start_jax(2);
  uint32_t main = fixture.context_id;
  fixture.context_id = python(main, "_operator_add", SITE "jax/_src/numpy/array_methods.py", 732);
  samples_of_steps(1);
  for (int i = 0; i < 80; i++)
    fixture_sample(&fixture, SAMPLE_CPU, 20 * STEP + (i * 10 + 9) * MS, 9 * MS);
  fixture.context_id = python(0, "report", FILE_OF, 90);
  fixture_sample(&fixture, SAMPLE_CPU, 120 * STEP, 900 * MS);
  assert_int_equal(ask_rule("F29"), 1);
  ASSERT_NEAR(found_number(0, "line"), 30);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(test_checkpoints_in_each_step),
      TEST(test_one_checkpoint_is_none),
      TEST(test_running_compiled_code_is_no_compilation),
      TEST(test_tracing_in_each_step),
      TEST(test_running_a_traced_function_is_no_tracing),
      TEST(test_eager_steps_of_keras),
      TEST(test_eager_steps_that_take_all_time),
      TEST(test_one_eager_operator_is_no_loop),
      TEST(test_little_eager_input_is_none),
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
      TEST(test_a_little_own_code_is_none),
      TEST(test_whole_arrays_of_requests_are_none),
      TEST(test_whole_arrays_of_training),
      TEST(test_single_elements_of_arrays),
      TEST(test_a_tokenizer),
      TEST(test_the_text_of_each_request_is_none),
      TEST(test_loading_is_no_tokenizing),
      TEST(test_loading_by_its_class),
      TEST(test_loading_by_joblib),
      TEST(test_loading_of_a_pickle),
      TEST(test_loading_by_keras),
      TEST(test_waits_for_a_processor),
      TEST(test_a_long_start),
      TEST(test_the_line_of_a_program_without_layers),
      TEST(test_the_line_outside_of_layers),
      TEST(test_the_line_of_layers_without_call_paths),
      TEST(test_the_line_of_layers_with_call_paths),
      TEST(test_f6_names_the_line_of_the_data_set),
      TEST(test_f6_of_processes_that_decode),
      TEST(test_f6_is_silent_about_enough_processes),
      TEST(test_f6_is_silent_about_pictures_of_the_right_size),
      TEST(test_f6_of_work_that_processors_share),
      TEST(test_f6_of_work_that_could_be_less),
      TEST(test_f6_counts_the_processes_of_one_epoch),
      TEST(test_f6_of_too_many_processes),
      TEST(test_f6_is_silent_about_stacked_tensors),
      TEST(test_f6_of_stacked_tensors),
      TEST(test_f6_between_predictions),
      TEST(test_f6_is_silent_about_a_fast_loader),
      TEST(test_f30),
      TEST(test_f30_has_the_line_of_the_samples),
      TEST(test_f30_is_silent_at_its_threshold),
      TEST(test_f30_is_silent_about_two_pools),
      TEST(test_f32),
      TEST(test_f32_is_silent_about_few_processors),
      TEST(test_f32_is_silent_about_two_threads),
      TEST(test_f33),
      TEST(test_f33_is_silent_about_a_thread_that_only_waits),
      TEST(test_f30_is_silent_about_pools_of_xla),
      TEST(test_f25_is_silent_about_a_few_of_jax),
      TEST(test_f25_without_a_place_has_the_line_of_the_samples),
      TEST(test_reads_while_xla_has_nothing_to_do),
      TEST(test_reads_of_what_xla_still_computes),
      TEST(test_reads_every_so_many_steps),
      TEST(test_outputs_that_the_program_must_have),
      TEST(test_waits_that_measure_a_call),
      TEST(test_eager_jax),
      TEST(test_waits_in_eager_jax),
      TEST(test_random_numbers_of_jax_are_none),
      TEST(test_copies_to_jax_are_no_compilation),
      TEST(test_calls_of_small_jitted_functions),
      TEST(test_calls_of_jitted_functions_that_compute),
      TEST(test_calls_that_are_less_than_what_they_compute),
      TEST(test_calls_that_wait_for_earlier_ones),
      TEST(test_compilations_of_one_function),
      TEST(test_compilations_while_setting_up),
      TEST(test_first_compilations_of_many_functions),
      TEST(test_eager_jax_after_a_long_compilation),
      TEST(test_eager_jax_in_a_pause),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
