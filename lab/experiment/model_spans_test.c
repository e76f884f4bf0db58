// SPDX-License-Identifier: Apache-2.0
#include "experiment/model_experiment_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_unknown_is_the_widest(void **unused)
{
  (void)unused;
  assert_true(model_spans_wider(0, 2) == 2); // nothing yet
  assert_true(model_spans_wider(3, 2) == 3);
  assert_true(isnan(model_spans_wider(3, NAN)));
  assert_true(isnan(model_spans_wider(NAN, 3))); // and stays so
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_unknown_is_the_widest)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
