// SPDX-License-Identifier: Apache-2.0
// Samples of steps with several backward passes.
#include "frameworks/pytorch/passes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct passes samples;
static const char model, other; // only their addresses count

static int empty(void **state)
{
  (void)state;
  samples = (struct passes){0};
  return 0;
}

static void pass(const void *module, int64_t batch_size)
{
  passes_forward(&samples, module, batch_size);
  passes_backward_ended(&samples);
}

static void test_micro_batches(void **state)
{
  (void)state;
  for (int i = 0; i < 3; i++) {
    passes_forward(&samples, &model, 8);
    passes_forward(&samples, NULL, 8); // the loss
    passes_forward(&samples, &model, 8);
    passes_backward_ended(&samples);
  }
  pass(&model, 5); // the last one of an epoch
  assert_int_equal(samples.sum, 29);
  pass(&model, INT64_MAX);
  assert_int_equal(samples.sum, INT64_MAX);
}

static void test_sizes_that_only_the_loss_has(void **state)
{
  (void)state;
  for (int i = 0; i < 2; i++) {
    passes_forward(&samples, &model, -1);
    passes_forward(&samples, NULL, 8);
    passes_backward_ended(&samples);
  }
  assert_int_equal(samples.sum, 16);
}

static void test_functions_alone(void **state)
{
  (void)state;
  pass(NULL, 4);
  pass(NULL, 4);
  assert_int_equal(samples.sum, 8);
}

static void test_the_same_batch_again(void **state)
{
  (void)state;
  pass(&model, 8);
  passes_backward_ended(&samples); // of a second loss
  assert_int_equal(samples.sum, 8);
}

static void test_two_models(void **state)
{
  (void)state;
  pass(&model, 8);
  passes_forward(&samples, &other, 8); // makes what the model gets
  pass(&model, 8);
  assert_int_equal(samples.sum, 8);
}

static void test_predictions(void **state)
{
  (void)state;
  pass(&model, 8);
  passes_prediction(&samples);
  pass(&model, 8); // of what was predicted
  assert_int_equal(samples.sum, 8);
  samples = (struct passes){0};
  passes_prediction(&samples); // a validation
  pass(&model, 8);
  pass(&model, 8);
  passes_prediction(&samples);
  pass(&model, 8);
  assert_int_equal(samples.sum, 24);
}

static void test_closures(void **state)
{
  (void)state;
  pass(&model, 8);
  passes_optimizer_begins(&samples);
  for (int i = 0; i < 20; i++)
    pass(&model, 8);
  assert_int_equal(samples.sum, 16);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(test_micro_batches, empty),
      cmocka_unit_test_setup(test_sizes_that_only_the_loss_has, empty),
      cmocka_unit_test_setup(test_functions_alone, empty),
      cmocka_unit_test_setup(test_the_same_batch_again, empty),
      cmocka_unit_test_setup(test_two_models, empty),
      cmocka_unit_test_setup(test_predictions, empty),
      cmocka_unit_test_setup(test_closures, empty),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
