// SPDX-License-Identifier: Apache-2.0
// F30, F32 and F33 over programs with samples: threads that compute, that could, and that wait for one another.
#include "analyze/findings/test_samples.h"

#include <stdio.h>
#include <string.h>

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

static void compute_as(const char *name, int64_t thread_id)
{
  fixture.thread = fixture_track(&fixture, &(const struct store_track){.name = name,
                                                                       .host = "h",
                                                                       .process_id = 7,
                                                                       .thread_id = thread_id,
                                                                       .device_id = STORE_NONE,
                                                                       .stream_id = STORE_NONE});
  fixture_sample(&fixture, SAMPLE_CPU, MS, 50 * MS);
}

// As long as each other: TensorFlow names the threads of its pools.
static void test_f30_is_silent_about_pools_with_names(void **unused)
{
  (void)unused;
  computing_threads(3);
  for (int i = 0; i < 2; i++) {
    compute_as("tf_Compute", 20 + i);
  }
  assert_int_equal(ask_rule("F30"), 0);
}

// Numbered threads are one pool.
static void test_f30_of_threads_with_numbers(void **unused)
{
  (void)unused;
  computing_threads(0);
  for (int i = 0; i < 5; i++) {
    char name[16];
    snprintf(name, sizeof name, "worker-%d", 8 + i);
    compute_as(name, 20 + i);
  }
  assert_int_equal(ask_rule("F30"), 1);
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

static void main_thread_of(int64_t process)
{
  fixture.thread = fixture_track(&fixture, &(const struct store_track){.name = "python3",
                                                                       .host = "h",
                                                                       .process_id = process,
                                                                       .thread_id = process,
                                                                       .device_id = STORE_NONE,
                                                                       .stream_id = STORE_NONE});
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

// One waits for the others all the time, which compute, such as processes that prepare batches: theirs is another time.
static void test_f33_of_one_of_several_processes(void **unused)
{
  (void)unused;
  producer_with(5);
  for (int64_t process = 20; process < 26; process++) {
    main_thread_of(process);
    fixture.context_id = python(0, "main", FILE_OF, 30);
    for (int i = 0; i < 20; i++)
      fixture_sample(&fixture, process == 20 ? SAMPLE_LOCK : SAMPLE_CPU, i * STEP + 9 * MS, 9 * MS);
  }
  assert_int_equal(ask_rule("F33"), 1);
  assert_true(found_number(0, "share_pct") < 45); // of the one that runs the model
}

// Each waits for 0.8 ms of 10, such as the ranks of a job.
static void test_f33_is_silent_about_short_waits_of_many(void **unused)
{
  (void)unused;
  start_with(0);
  uint32_t producer = thread(8);
  for (int64_t process = 20; process < 26; process++) {
    main_thread_of(process);
    fixture.context_id = python(0, "main", FILE_OF, 30);
    for (int i = 0; i < 20; i++)
      fixture_sample(&fixture, SAMPLE_LOCK, i * STEP + 4 * MS, 800 * US);
    fixture.context_id = python(fixture.context_id, "Linear.forward", SITE "torch/nn/modules/linear.py", 134);
    samples_of_steps(5);
  }
  fixture.thread = producer;
  fixture.context_id = python(0, "produce", FILE_OF, 22);
  samples_of_steps(4);
  assert_int_equal(ask_rule("F33"), 0);
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

int main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(test_f30),
      TEST(test_f30_has_the_line_of_the_samples),
      TEST(test_f30_is_silent_at_its_threshold),
      TEST(test_f30_is_silent_about_two_pools),
      TEST(test_f30_is_silent_about_pools_with_names),
      TEST(test_f30_of_threads_with_numbers),
      TEST(test_f32),
      TEST(test_f32_is_silent_about_few_processors),
      TEST(test_f32_is_silent_about_two_threads),
      TEST(test_f33),
      TEST(test_f33_of_one_of_several_processes),
      TEST(test_f33_is_silent_about_short_waits_of_many),
      TEST(test_f33_is_silent_about_a_thread_that_only_waits),
      TEST(test_f30_is_silent_about_pools_of_xla),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
