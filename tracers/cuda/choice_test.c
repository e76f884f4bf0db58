// SPDX-License-Identifier: Apache-2.0
// What --cuda takes and refuses.
#include "tracers/cuda/choice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
// cmocka wants the four above first
#include <cmocka.h>

#define ALL (CUDA_KERNEL | CUDA_MEMCPY | CUDA_MEMSET | CUDA_SYNC | CUDA_MEMORY)

static void check(const char *text, enum cuda_calls calls, uint32_t activities)
{
  struct cuda_choice choice;
  char why[200] = "";
  assert_true(cuda_choice_parse(text, &choice, why, sizeof why));
  assert_int_equal(choice.calls, calls);
  assert_int_equal(choice.activities, activities);
}

static void test_taken(void **state)
{
  check(NULL, CUDA_CALLS_SOME, ALL);
  check("api=all", CUDA_CALLS_ALL, ALL);
  check("api=none,activities=kernel", CUDA_CALLS_NONE, CUDA_KERNEL);
  check("activities=memcpy+sync,api=some", CUDA_CALLS_SOME, CUDA_MEMCPY | CUDA_SYNC);
  check("api=all,api=none", CUDA_CALLS_NONE, ALL); // the last wins
}

static void check_refused(const char *text, const char *word)
{
  struct cuda_choice choice;
  char why[200] = "";
  assert_false(cuda_choice_parse(text, &choice, why, sizeof why));
  assert_non_null(strstr(why, word));
}

static void test_refused(void **state)
{
  check_refused("", "''");
  check_refused("api", "'api'");
  check_refused("api=", "some, all or none");
  check_refused("api=al", "'api=al'");
  check_refused("api=allx", "'api=allx'");
  check_refused("api=all,", "''");
  check_refused("activities=", "kernel, memcpy");
  check_refused("activities=kernel+", "'activities=kernel+'");
  check_refused("activities=kernel+cernel,api=all", "cernel'");
  check_refused("metrics=dram__bytes_read.sum", "'metrics=dram");
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_taken), cmocka_unit_test(test_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
