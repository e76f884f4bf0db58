// SPDX-License-Identifier: Apache-2.0
// F6 over programs with samples: what the loader does, and in how many processes.
#include "analyze/findings/test_samples.h"

#include <string.h>

#define SINGLE "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"

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

// 20 predictions of 5 ms. Before `waits` of them the loader takes `loader_ms`: they have no part of it.
static void loader_between_predictions(enum xsp_level level, const char *loader, int64_t loader_ms, int waits)
{
  fixture_experiment(&fixture, "predict");
  fixture_run(&fixture, "A/M/L", 1);
  fixture_span_in(&fixture, XSP_LEVEL_APPLICATION, "program", "predict.py", 0, 300 * MS);
  for (int i = 0; i < 20; i++) {
    fixture_span(&fixture, level, loader, i * 10 * MS, i < waits ? loader_ms * MS : US);
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
  loader_between_predictions(XSP_LEVEL_APPLICATION, SINGLE, 4, 20);
  assert_int_equal(ask_rule("F6"), 1);
  ASSERT_NEAR(found_number(0, "saving_ms"), 4 * 19 / 20.0); // before the first one is before the loop
}

// A hundred predictions, each of which waits for its row.
static void test_f6_of_batches_of_one_row(void **unused)
{
  (void)unused;
  fixture_experiment(&fixture, "predict");
  fixture_run(&fixture, "A/M/L", 1);
  for (int i = 0; i < 100; i++) {
    fixture_span(&fixture, XSP_LEVEL_LAYER, "IteratorGetNext", i * 10 * MS, 4 * MS);
    fixture_span(&fixture, XSP_LEVEL_LAYER, "MatMul", i * 10 * MS + 5 * MS, 5 * MS);
    fixture.now_ns = i * 10 * MS + 5 * MS;
    fixture_model(&fixture, 5 * MS, false);
    fixture_int(&fixture, fixture.span_id, "batch_size", 1);
  }
  assert_int_equal(ask_rule("F6"), 1);
  assert_non_null(strstr(found_text(0, "title"), "batches of one row"));
  assert_non_null(strstr(found_text(0, "advice"), "larger batches"));
}

// TensorFlow is there beside, and the loader is PyTorch's.
static void test_f6_beside_an_iterator(void **unused)
{
  (void)unused;
  loader_with(SINGLE, 1, 1, 5, NULL);
  fixture.context_id = 0;
  fixture_span(&fixture, XSP_LEVEL_LAYER, "IteratorGetNext", 21 * STEP, US);
  assert_int_equal(ask_rule("F6"), 1);
  assert_non_null(strstr(found_text(0, "title"), "the data loader takes"));
}

// `for x, y in data:` of TensorFlow asks an operator for each batch.
static void test_f6_of_an_eager_iterator(void **unused)
{
  (void)unused;
  loader_between_predictions(XSP_LEVEL_LAYER, "IteratorGetNext", 4, 20);
  assert_int_equal(ask_rule("F6"), 1);
  ASSERT_NEAR(found_number(0, "saving_ms"), 4 * 19 / 20.0);
  assert_non_null(strstr(found_text(0, "title"), "tf.data"));
}

// Though the first ones wait for long, as for a cache that is filled, most do not.
static void test_f6_is_silent_about_a_first_epoch_of_an_eager_iterator(void **unused)
{
  (void)unused;
  loader_between_predictions(XSP_LEVEL_LAYER, "IteratorGetNext", 5, 9);
  assert_int_equal(ask_rule("F6"), 0);
}

// Steps of a graph of TensorFlow's, whose operator waits on a thread of the pipeline. With a function of the program, its line has the time.
enum input { NATIVE_INPUT, GENERATOR, NUMPY_FUNCTION };
static void iterator_of_a_graph(int waits, enum input input)
{
  uint32_t steps = start_with(5), pipeline = thread(9);
  for (int i = 0; i < 20; i++) {
    fixture.context_id = 0;
    fixture.thread = pipeline;
    fixture.parent_id = 1 + i; // the step, whose span is that
    fixture_span(&fixture, XSP_LEVEL_LAYER, "IteratorGetNext", i * STEP, i < waits ? 5 * MS : US);
    fixture.parent_id = 0;
    fixture.thread = steps;
    fixture_span(&fixture, XSP_LEVEL_LAYER, "MatMul", i * STEP + 5 * MS, 5 * MS);
  }
  if (input == NATIVE_INPUT)
    return;
  fixture.thread = pipeline;
  uint32_t call = python(0, "FuncRegistry.__call__", SITE "tensorflow/python/ops/script_ops.py", 214);
  uint32_t next = input == NUMPY_FUNCTION
                      ? call
                      : python(call, "generator_py_func", SITE "tensorflow/python/data/ops/from_generator_op.py", 198);
  fixture.context_id = python(next, "rows", "/home/me/data.py", 24);
  for (int i = 0; i < 20; i++) // while the step waits
    fixture_sample(&fixture, SAMPLE_CPU, i * STEP + 4 * MS, 5 * MS);
}

static void test_f6_of_an_iterator(void **unused)
{
  (void)unused;
  iterator_of_a_graph(20, NATIVE_INPUT);
  assert_int_equal(ask_rule("F6"), 1);
  ASSERT_NEAR(found_number(0, "saving_ms"), 5);
  ASSERT_NEAR(found_number(0, "line"), 30); // main, which calls the step
  assert_non_null(strstr(found_text(0, "advice"), "prefetch"));
}

static void test_f6_is_silent_about_a_first_epoch(void **unused)
{
  (void)unused;
  iterator_of_a_graph(9, NATIVE_INPUT);
  assert_int_equal(ask_rule("F6"), 0);
}

static void test_f6_of_a_generator(void **unused)
{
  (void)unused;
  iterator_of_a_graph(20, GENERATOR);
  assert_int_equal(ask_rule("F6"), 1);
  assert_string_equal(found_text(0, "file"), "/home/me/data.py");
  ASSERT_NEAR(found_number(0, "line"), 24);
}

static void test_f6_of_a_function_of_numpy(void **unused)
{
  (void)unused;
  iterator_of_a_graph(20, NUMPY_FUNCTION);
  assert_int_equal(ask_rule("F6"), 1);
  assert_string_equal(found_text(0, "file"), "/home/me/data.py");
  ASSERT_NEAR(found_number(0, "line"), 24);
}

// tf.numpy_function within a model's step.
static void test_f6_names_no_function_of_the_step(void **unused)
{
  (void)unused;
  iterator_of_a_graph(20, NATIVE_INPUT);
  fixture.thread = thread(9);
  uint32_t call = python(0, "FuncRegistry.__call__", SITE "tensorflow/python/ops/script_ops.py", 214);
  fixture.context_id = python(call, "metric", "/home/me/model.py", 7);
  samples_of_steps(5);
  assert_int_equal(ask_rule("F6"), 1);
  ASSERT_NEAR(found_number(0, "line"), 30);
}

static void test_f6_is_silent_about_a_fast_loader(void **unused)
{
  (void)unused;
  loader_between_predictions(XSP_LEVEL_APPLICATION, SINGLE, 1, 20);
  assert_int_equal(ask_rule("F6"), 0);
}

// 20 steps: in each `every`th before `until` two processes start to load, and the step waits for 10 ms more. They load until the
// next start, or, where `stay`, until the end.
static void run_of_steps(int every, int until, bool stay)
{
  fixture_run(&fixture, "A/M/L", 1);
  uint32_t main = fixture.thread;
  int64_t begin_ns = fixture.now_ns;
  for (int i = 0; i < 20; i++) {
    bool starts = i % every == 0 && i < until;
    int64_t wait_ms = starts ? 11 : 1, at = fixture.now_ns;
    fixture_span(&fixture, XSP_LEVEL_APPLICATION, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", at,
                 wait_ms * MS);
    fixture_span(&fixture, XSP_LEVEL_LAYER, "aten::mm", at + wait_ms * MS, 4 * MS);
    fixture.now_ns = at;
    fixture_model(&fixture, (wait_ms + 4) * MS, false);
    for (int k = 0; k < 2 && starts; k++) {
      fixture.thread = fixture_track(&fixture, &(const struct store_track){.process_id = 20 + 2 * i + k,
                                                                           .thread_id = 20,
                                                                           .device_id = STORE_NONE,
                                                                           .stream_id = STORE_NONE});
      fixture_span_in(&fixture, XSP_LEVEL_APPLICATION, "input", "Digits.__getitem__", at + 5 * MS, MS);
      if (stay)
        fixture_span_in(&fixture, XSP_LEVEL_APPLICATION, "input", "Digits.__getitem__", begin_ns + 300 * MS, MS);
    }
    fixture.thread = main;
  }
}

static void test_f59(void **unused)
{
  (void)unused;
  fixture_experiment(&fixture, "train");
  run_of_steps(5, 20, false);
  assert_int_equal(ask_rule("F59"), 1);
  ASSERT_NEAR(found_number(0, "time_ms"), 3 * 10 / 20.0); // the first start has to be
  assert_non_null(strstr(found_text(0, "title"), "3 times, 6 processes in all, in 20 observations"));
}

static void test_f59_is_silent_about_processes_that_stay(void **unused)
{
  (void)unused;
  fixture_experiment(&fixture, "train");
  run_of_steps(5, 1, false);
  assert_int_equal(ask_rule("F59"), 0);
}

static void test_f59_is_silent_about_processes_that_start_in_turn(void **unused)
{
  (void)unused;
  fixture_experiment(&fixture, "train");
  run_of_steps(1, 4, true);
  assert_int_equal(ask_rule("F59"), 0);
}

// As those for training, validation and test, or those of repeated executions.
static void test_f59_is_silent_about_loaders_that_start_once(void **unused)
{
  (void)unused;
  fixture_experiment(&fixture, "train");
  for (int run = 0; run < 3; run++)
    run_of_steps(5, 15, false);
  assert_int_equal(ask_rule("F59"), 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
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
      TEST(test_f6_beside_an_iterator),
      TEST(test_f6_of_an_eager_iterator),
      TEST(test_f6_is_silent_about_a_first_epoch_of_an_eager_iterator),
      TEST(test_f6_of_an_iterator),
      TEST(test_f6_is_silent_about_a_first_epoch),
      TEST(test_f6_of_a_function_of_numpy),
      TEST(test_f6_of_batches_of_one_row),
      TEST(test_f6_of_a_generator),
      TEST(test_f6_names_no_function_of_the_step),
      TEST(test_f6_is_silent_about_a_fast_loader),
      TEST(test_f59),
      TEST(test_f59_is_silent_about_processes_that_stay),
      TEST(test_f59_is_silent_about_processes_that_start_in_turn),
      TEST(test_f59_is_silent_about_loaders_that_start_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
