// SPDX-License-Identifier: Apache-2.0
// F65 where optimizers update fewer parameters than have gradients, and F66, over training programs with known answers.
#include "analyze/findings/test_operators.h"

#include <string.h>

// ---- F65 -------------------------------------------------------------------------------------------------------------
static uint32_t main_at(int64_t line)
{
  return python(0, "main", FILE_OF, line);
}

static void part(uint32_t caller, const char *name, int64_t at, int64_t us)
{
  fixture.context_id = caller;
  fixture_span_in(&fixture, XSP_LEVEL_LAYER, "wrapper", name, at, us * US);
}

static void gradient(bool adds, int64_t at)
{
  part(main_at(29), "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", at, 10);
  backward_at(main_at(29), "torch::autograd::AccumulateGrad", at, 10 * US);
  if (adds)
    operator_at(fixture.context_id, "aten::add_", at + US, 8 * US);
}

static void pass(int64_t at)
{
  fixture.context_id = 0;
  fixture_span_in(&fixture, XSP_LEVEL_APPLICATION, "backward", "backward", at, 300 * US);
}

// Of one parameter, by a step of `name`.
static void update(const char *name, const char *operator_name, int64_t at)
{
  fixture.context_id = 0;
  fixture_span_in(&fixture, XSP_LEVEL_APPLICATION, "optimizer", name, at, 50 * US);
  operator_at(main_at(31), operator_name, at + US, 10 * US);
}

#define ADAM "Optimizer.step#Adam.step", "aten::addcdiv_"
#define CONVOLUTION "autograd::engine::evaluate_function: ConvolutionBackward0"

static uint32_t generator(int64_t line)
{
  return python(main_at(line), "Generator.forward", FILE_OF, 8);
}

static uint32_t discriminator(int64_t line)
{
  return python(main_at(line), "Discriminator.forward", FILE_OF, 15);
}

struct gan {
  bool detaches, passes_twice; // the discriminator's step, which has a pass over real pictures first
  const char *optimizer;
};

// Five turns of a discriminator's and a generator's step, of 1 ms each.
static size_t gan(const struct gan *how)
{
  fixture_run(&fixture, "A/M/L", 1);
  for (int i = 0; i < 5; i++) {
    int64_t at = step(MS);
    if (how->passes_twice) {
      pass(at);
      part(discriminator(23), CONVOLUTION, at + 10 * US, 50);
      gradient(false, at + 60 * US);
    }
    pass(at + 400 * US);
    part(discriminator(25), CONVOLUTION, at + 410 * US, 50);
    gradient(how->passes_twice, at + 460 * US);
    if (!how->detaches) {
      part(generator(24), CONVOLUTION, at + 480 * US, 190);
      gradient(i > 0, at + 670 * US);
    }
    update(how->optimizer, "aten::addcdiv_", at + 800 * US);
    at = step(MS);
    pass(at);
    part(discriminator(27), CONVOLUTION, at + 10 * US, 50);
    gradient(true, at + 60 * US);
    part(generator(26), CONVOLUTION, at + 80 * US, 100);
    gradient(false, at + 180 * US);
    update(how->optimizer, "aten::addcdiv_", at + 800 * US);
  }
  return ask_rule("F65");
}

static void test_f65_of_a_generator_in_a_discriminators_step(void **unused)
{
  (void)unused;
  assert_int_equal(gan(&(struct gan){.optimizer = "Optimizer.step#Adam.step"}), 1);
  ASSERT_NEAR(found_number(0, "line"), 25);
  assert_non_null(strstr(found_text(0, "title"), "train.py:24"));
  ASSERT_NEAR(found_number(0, "saving_ms"), 4 * 0.2 / 9);
  assert_non_null(strstr(found_text(0, "title"), "detach()"));
}

static void test_f65_of_a_generator_in_a_second_pass(void **unused)
{
  (void)unused;
  assert_int_equal(gan(&(struct gan){.optimizer = "Optimizer.step#Adam.step", .passes_twice = true}), 1);
  ASSERT_NEAR(found_number(0, "line"), 25);
  assert_non_null(strstr(found_text(0, "title"), "train.py:24"));
}

static void test_f65_is_silent_about_what_is_detached(void **unused)
{
  (void)unused;
  assert_int_equal(gan(&(struct gan){.optimizer = "Optimizer.step#Adam.step", .detaches = true}), 0);
}

static void test_f65_is_silent_about_two_passes_of_what_is_detached(void **unused)
{
  (void)unused;
  const struct gan how = {.optimizer = "Optimizer.step#Adam.step", .detaches = true, .passes_twice = true};
  assert_int_equal(gan(&how), 0);
}

static void test_f65_is_silent_about_unknown_optimizers(void **unused)
{
  (void)unused;
  assert_int_equal(gan(&(struct gan){.optimizer = "Optimizer.step#Mine.step"}), 0);
}

// Two tasks on one encoder: the second pass adds to its gradients, which its own step uses then.
static void test_f65_is_silent_about_gradients_that_a_later_step_uses(void **unused)
{
  (void)unused;
  fixture_run(&fixture, "A/M/L", 1);
  for (int i = 0; i < 5; i++) {
    for (int task = 0; task < 2; task++) {
      int64_t at = step(MS);
      pass(at);
      part(discriminator(25 + task), CONVOLUTION, at + 10 * US, 50);
      gradient(false, at + 60 * US);
      part(generator(24), CONVOLUTION, at + 80 * US, 190);
      gradient(task > 0, at + 270 * US);
      update(ADAM, at + 800 * US);
    }
    update(ADAM, step(MS) + 100 * US);
  }
  assert_int_equal(ask_rule("F65"), 0);
}

// All gradients are cleared in each step; the optimizer has the head's parameter alone, or also two of the `body`.
static size_t head(int body)
{
  fixture_run(&fixture, "A/M/L", 1);
  for (int i = 0; i < 5; i++) {
    int64_t at = step(MS);
    pass(at);
    part(discriminator(25), CONVOLUTION, at + 10 * US, 50);
    gradient(false, at + 60 * US);
    part(generator(24), CONVOLUTION, at + 80 * US, 100);
    gradient(false, at + 180 * US);
    gradient(false, at + 200 * US);
    for (int k = 0; k <= body; k++)
      update("Optimizer.step#SGD.step", "aten::add_", at + (400 + 60 * k) * US);
  }
  return ask_rule("F65");
}

static void test_f65_where_all_gradients_are_cleared(void **unused)
{
  (void)unused;
  assert_int_equal(head(0), 1);
  ASSERT_NEAR(found_number(0, "line"), 24);
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.12);
  assert_non_null(strstr(found_text(0, "title"), "of 2 parameters"));
}

static void test_f65_is_silent_where_all_are_updated(void **unused)
{
  (void)unused;
  assert_int_equal(head(2), 0);
}

// A loss by a network that learns nothing, and passes on gradients to one that does: half of its time.
static void test_f65_of_layers_above(void **unused)
{
  (void)unused;
  fixture_run(&fixture, "A/M/L", 1);
  for (int i = 0; i < 5; i++) {
    int64_t at = step(MS);
    pass(at);
    part(discriminator(25), CONVOLUTION, at + 10 * US, 100);
    gradient(i > 0, at + 110 * US);
    part(generator(24), CONVOLUTION, at + 130 * US, 50);
    gradient(false, at + 180 * US);
  }
  assert_int_equal(ask_rule("F65"), 1);
  ASSERT_NEAR(found_number(0, "line"), 25);
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.055);
}

// ---- F66 -------------------------------------------------------------------------------------------------------------
// Steps of 1 ms and more. In the first one 10 µs of a line, in each further one `us` more; the backward pass takes `rest_us` more.
static size_t grown(int steps, int64_t us, int64_t rest_us, int64_t backward_us)
{
  fixture_run(&fixture, "M/L", 1);
  uint32_t line = main_at(33);
  for (int i = 0; i < steps; i++) {
    int64_t at = step(MS + i * (us + rest_us) * US);
    operator_at(line, "aten::cat", at, (10 + i * us) * US);
    part(main_at(29), "autograd::engine::evaluate_function: MmBackward0", at + 600 * US, 100 + i * rest_us);
    backward_at(main_at(29), "MmBackward0", at + 600 * US, 10 * US);
    if (backward_us > 0)
      part(line, CONVOLUTION, at + 500 * US, backward_us);
  }
  return ask_rule("F66");
}

static void test_f66(void **unused)
{
  (void)unused;
  assert_int_equal(grown(26, 10, 0, 0), 1);
  ASSERT_NEAR(found_number(0, "line"), 33);
  assert_non_null(strstr(found_text(0, "title"), "40 µs a step in the first fifth")); // but the first step
  assert_non_null(strstr(found_text(0, "title"), "0.24 ms in the last"));
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.1);
}

static void test_f66_is_silent_about_equal_work(void **unused)
{
  (void)unused;
  assert_int_equal(grown(26, 0, 0, 0), 0);
}

static void test_f66_is_silent_about_few_steps(void **unused)
{
  (void)unused;
  assert_int_equal(grown(20, 10, 0, 0), 0);
}

static void test_f66_is_silent_where_all_grows(void **unused)
{
  (void)unused;
  assert_int_equal(grown(26, 10, 10, 0), 0);
}

static void test_f66_is_silent_about_layers(void **unused)
{
  (void)unused;
  assert_int_equal(grown(26, 10, 0, 50), 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(test_f65_of_a_generator_in_a_discriminators_step),
      TEST(test_f65_of_a_generator_in_a_second_pass),
      TEST(test_f65_is_silent_about_what_is_detached),
      TEST(test_f65_is_silent_about_two_passes_of_what_is_detached),
      TEST(test_f65_is_silent_about_unknown_optimizers),
      TEST(test_f65_is_silent_about_gradients_that_a_later_step_uses),
      TEST(test_f65_where_all_gradients_are_cleared),
      TEST(test_f65_is_silent_where_all_are_updated),
      TEST(test_f65_of_layers_above),
      TEST(test_f66),
      TEST(test_f66_is_silent_about_equal_work),
      TEST(test_f66_is_silent_about_few_steps),
      TEST(test_f66_is_silent_where_all_grows),
      TEST(test_f66_is_silent_about_layers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
