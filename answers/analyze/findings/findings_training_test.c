// SPDX-License-Identifier: Apache-2.0
// F65 where optimizers update fewer parameters than have gradients, F66 and F67, over training programs with known answers.
#include "analyze/findings/test_operators.h"

#include <string.h>
#include <sys/utsname.h>

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

// The parts of 22 steps have five and four.
static void test_f66_of_parts_of_several_lengths(void **unused)
{
  (void)unused;
  assert_int_equal(grown(22, 10, 0, 0), 1);
  assert_non_null(strstr(found_text(0, "title"), "40 µs a step in the first fifth"));
  ASSERT_NEAR(found_number(0, "time_ms"), 0.12);
  ASSERT_NEAR(found_number(0, "saving_ms"), 0.08);
}

// Such as an evaluation that begins later.
static void test_f66_is_silent_about_a_line_that_begins_later(void **unused)
{
  (void)unused;
  fixture_run(&fixture, "M/L", 1);
  for (int i = 0; i < 26; i++) {
    int64_t at = step(MS);
    part(main_at(29), "autograd::engine::evaluate_function: MmBackward0", at + 600 * US, 100);
    backward_at(main_at(29), "MmBackward0", at + 600 * US, 10 * US);
    if (i > 5)
      operator_at(main_at(33), "aten::cat", at, (200 + i) * US);
  }
  assert_int_equal(ask_rule("F66"), 0);
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

// ---- F67 -------------------------------------------------------------------------------------------------------------
struct rows {
  int calls, passes, batch;
  int64_t call_us;
  const char *each;              // an operator after each call
  const char *source;            // of the program; NULL: there is none
  const char *const *signatures; // two, of the steps in turn; NULL: none
};

static size_t rows(const struct rows *how)
{
  const char *path = how->source != NULL ? source_of(how->source) : FILE_OF;
  struct utsname host;
  uname(&host);
  const struct store_system_value system[] = {{.key = "host", .text = host.nodename}};
  if (how->source != NULL)
    fixture_experiment_on(&fixture, "train", system, 1);
  fixture_run(&fixture, "A/M/L", how->batch);
  uint32_t calls = python(0, "main", path, 2), after = python(0, "main", path, 3);
  for (int i = 0; i < 3; i++) {
    int64_t at = step(400 * MS);
    if (how->signatures != NULL)
      fixture_words(&fixture, fixture.span_id, "signature", how->signatures[i % 2]);
    fixture.context_id = 0;
    for (int k = 0; k < how->passes; k++)
      fixture_span_in(&fixture, XSP_LEVEL_APPLICATION, "backward", "backward", at + (k * 24 + 23) * MS, MS);
    for (int k = 0; k < how->calls; k++) {
      int64_t call = at + k * 24 * MS;
      fixture.context_id = 0;
      fixture_span_in(&fixture, XSP_LEVEL_APPLICATION, "forward", "Net", call, how->call_us * US);
      uint32_t module = python(calls, "Module._call_impl", TORCH "nn/modules/module.py", 1798);
      operator_at(python(module, "Net.forward", FILE_OF, 9), "aten::addmm", call, 100 * US);
      operator_at(after, how->each != NULL ? how->each : "aten::mse_loss", call + 22 * MS, US);
    }
  }
  return ask_rule("F67");
}

static void test_f67(void **unused)
{
  (void)unused;
  assert_int_equal(rows(&(struct rows){8, 1, 1, 2000, "aten::mse_loss", NULL, NULL}), 1);
  assert_non_null(strstr(found_text(0, "title"), "8 times"));
  ASSERT_NEAR(found_number(0, "time_ms"), 17);
  ASSERT_NEAR(found_number(0, "saving_ms"), 17 * 7. / 8);
}

static void test_f67_with_a_backward_pass_for_each(void **unused)
{
  (void)unused;
  assert_int_equal(rows(&(struct rows){8, 8, 1, 2000, "aten::item", NULL, NULL}), 1); // the loss
  assert_non_null(strstr(found_text(0, "title"), "a backward pass for each"));
}

static void test_f67_of_a_source(void **unused)
{
  (void)unused;
  static const char source[] = "for i, x in enumerate(rows):\n  y = net(x)\n";
  assert_int_equal(rows(&(struct rows){8, 1, 1, 2000, "aten::mse_loss", source, NULL}), 1);
  ASSERT_NEAR(found_number(0, "line"), 2);
}

static void test_f67_is_silent_about_a_recurrence(void **unused)
{
  (void)unused;
  static const char source[] = "for i in range(n):\n  y, h = rnn(line[i], h)\n";
  assert_int_equal(rows(&(struct rows){8, 1, 1, 2000, "aten::mse_loss", source, NULL}), 0);
}

// As of a detector that adds up the gradients of some pictures.
static void test_f67_is_silent_about_calls_for_several_sizes(void **unused)
{
  (void)unused;
  static const char *const signatures[] = {"float32[1,3,24,24]", "float32[1,3,112,32]"};
  assert_int_equal(rows(&(struct rows){8, 8, 1, 2000, "aten::mse_loss", NULL, signatures}), 0);
}

static void test_f67_is_silent_about_few_calls(void **unused)
{
  (void)unused;
  assert_int_equal(rows(&(struct rows){7, 1, 1, 2000, "aten::mse_loss", NULL, NULL}), 0);
}

static void test_f67_is_silent_about_batches(void **unused)
{
  (void)unused;
  assert_int_equal(rows(&(struct rows){8, 8, 2, 2000, "aten::mse_loss", NULL, NULL}), 0);
}

// Gradients of a large model are accumulated over rows for want of memory.
static void test_f67_is_silent_about_long_calls(void **unused)
{
  (void)unused;
  assert_int_equal(rows(&(struct rows){8, 8, 1, 20000, "aten::mse_loss", NULL, NULL}), 0);
}

static void test_f67_is_silent_about_a_policy(void **unused)
{
  (void)unused;
  assert_int_equal(rows(&(struct rows){8, 1, 1, 2000, "aten::multinomial", NULL, NULL}), 0);
}

static void test_f67_is_silent_about_actions_that_are_read(void **unused)
{
  (void)unused;
  assert_int_equal(rows(&(struct rows){8, 1, 1, 2000, "aten::item", NULL, NULL}), 0);
}

static void test_f67_of_a_pass_for_each_output(void **unused)
{
  (void)unused;
  assert_int_equal(rows(&(struct rows){.calls = 2, .passes = 16, .batch = 32, .call_us = 2000}), 1);
  ASSERT_NEAR(found_number(0, "time_ms"), 16);
  ASSERT_NEAR(found_number(0, "saving_ms"), 15);
}

// The line is that of the samples, and F2 finds a function of the same file.
static void test_f67_of_passes_at_a_sampled_line(void **unused)
{
  (void)unused;
  static const char *const only[] = {"F2", "F67"};
  fixture_run(&fixture, "A/M/L", 32);
  uint32_t loss = python(main_at(40), "loss_fn", FILE_OF, 12);
  for (int i = 0; i < 3; i++) {
    int64_t at = step(40 * MS);
    fixture.context_id = 0;
    for (int k = 0; k < 16; k++)
      fixture_span_in(&fixture, XSP_LEVEL_APPLICATION, "backward", "backward", at + k * 2 * MS + MS, MS);
    for (int k = 0; k < 12; k++)
      operator_at(loss, k % 3 == 0 ? "aten::mul" : k % 3 == 1 ? "aten::add" : "aten::pow", at + k * 20 * US, 15 * US);
    fixture.context_id = python(0, "jacobian", FILE_OF, 44);
    fixture_sample(&fixture, SAMPLE_CPU, at + 20 * MS, 10 * MS);
  }
  fixture_ready(&fixture);
  fixture.request.only = only;
  fixture.request.only_count = 2;
  fixture.request.least_gain_pct = 0;
  assert_int_equal(fixture_ask(&fixture, "findings"), STATUS_OK);
  assert_int_equal(fixture.tables[0].row_count, 2);
  assert_string_equal(found_text(0, "id"), "F67");
  ASSERT_NEAR(found_number(0, "line"), 44);
  assert_string_equal(found_text(0, "context"), "jacobian");
  assert_string_equal(found_text(1, "context"), "loss_fn");
}

static void test_f67_is_silent_about_few_passes(void **unused)
{
  (void)unused;
  assert_int_equal(rows(&(struct rows){.calls = 2, .passes = 15, .batch = 32, .call_us = 2000}), 0);
}

// Steps of 5 ms, after each of which `each` runs, in turn with inputs of two signatures.
static size_t steps_with(const char *const *signatures, int count, int batch, const char *each, const char *loader)
{
  fixture_run(&fixture, "A/M/L", batch);
  for (int i = 0; i < count; i++) {
    int64_t at = step(5 * MS);
    fixture_words(&fixture, fixture.span_id, "signature", signatures[i % 2]);
    fixture.context_id = 0;
    fixture_span_in(&fixture, XSP_LEVEL_APPLICATION, loader, loader, at, 10 * US);
    fixture_span_in(&fixture, XSP_LEVEL_APPLICATION, "forward", "Net", at + 10 * US, MS);
    fixture_span_in(&fixture, XSP_LEVEL_APPLICATION, "backward", "backward", at + 2 * MS, MS);
    operator_at(python(main_at(24), "Net.forward", FILE_OF, 9), "aten::addmm", at + 20 * US, 100 * US);
    operator_at(main_at(25), each, at + 4 * MS, US);
  }
  return ask_rule("F67");
}

static size_t steps_of_one(int count, int batch, const char *each, const char *loader)
{
  static const char *const signatures[] = {"int64[1,24]", "int64[1,112]"};
  return steps_with(signatures, count, batch, each, loader);
}

// As of a detector.
static void test_f67_is_silent_about_pictures_of_several_sizes(void **unused)
{
  (void)unused;
  static const char *const signatures[] = {"float32[1,3,24,24]", "float32[1,3,112,32]"};
  assert_int_equal(steps_with(signatures, 200, 1, "aten::mse_loss", "data"), 0);
}

static void test_f67_of_steps_that_learn_from_one_row(void **unused)
{
  (void)unused;
  assert_int_equal(steps_of_one(200, 1, "aten::mse_loss", "data"), 1);
  ASSERT_NEAR(found_number(0, "saving_ms"), 5 * 7. / 8);
}

static void test_f67_is_silent_about_few_steps(void **unused)
{
  (void)unused;
  assert_int_equal(steps_of_one(199, 1, "aten::mse_loss", "data"), 0);
}

static void test_f67_is_silent_about_steps_of_batches(void **unused)
{
  (void)unused;
  assert_int_equal(steps_of_one(200, 2, "aten::mse_loss", "data"), 0);
}

static void test_f67_is_silent_about_a_policy_that_learns_from_each_action(void **unused)
{
  (void)unused;
  assert_int_equal(steps_of_one(200, 1, "aten::multinomial", "data"), 0);
}

// Of one picture, or one series.
static void test_f67_is_silent_about_one_row_in_all(void **unused)
{
  (void)unused;
  assert_int_equal(steps_of_one(200, 1, "aten::mse_loss", "other"), 0);
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
      TEST(test_f66_of_parts_of_several_lengths),
      TEST(test_f66_is_silent_about_a_line_that_begins_later),
      TEST(test_f66_is_silent_about_equal_work),
      TEST(test_f66_is_silent_about_few_steps),
      TEST(test_f66_is_silent_where_all_grows),
      TEST(test_f66_is_silent_about_layers),
      TEST(test_f67),
      TEST(test_f67_with_a_backward_pass_for_each),
      TEST(test_f67_of_a_source),
      TEST(test_f67_is_silent_about_a_recurrence),
      TEST(test_f67_is_silent_about_calls_for_several_sizes),
      TEST(test_f67_is_silent_about_few_calls),
      TEST(test_f67_is_silent_about_batches),
      TEST(test_f67_is_silent_about_long_calls),
      TEST(test_f67_is_silent_about_a_policy),
      TEST(test_f67_is_silent_about_actions_that_are_read),
      TEST(test_f67_of_a_pass_for_each_output),
      TEST(test_f67_of_passes_at_a_sampled_line),
      TEST(test_f67_is_silent_about_few_passes),
      TEST(test_f67_of_steps_that_learn_from_one_row),
      TEST(test_f67_is_silent_about_pictures_of_several_sizes),
      TEST(test_f67_is_silent_about_few_steps),
      TEST(test_f67_is_silent_about_steps_of_batches),
      TEST(test_f67_is_silent_about_a_policy_that_learns_from_each_action),
      TEST(test_f67_is_silent_about_one_row_in_all),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
