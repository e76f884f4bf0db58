// SPDX-License-Identifier: Apache-2.0
// F25 and F29 of JAX, over programs with samples.
#include "analyze/findings/test_samples.h"

#include <stdio.h>
#include <string.h>

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

// So JAX runs functions that call back to the program.
static void test_execution_by_python_is_no_compilation(void **unused)
{
  (void)unused;
  start();
  fixture.context_id =
      python(fixture.context_id, "ExecuteReplicated.__call__", SITE "jax/_src/interpreters/pxla.py", 388);
  samples_of_steps(2);
  assert_int_equal(ask_rule("F29"), 0);
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
      TEST(test_execution_by_python_is_no_compilation),
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
