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

static void test_samples(void **state)
{
  struct cuda_choice choice;
  char why[200];
  assert_true(cuda_choice_parse("api=all", &choice, why, sizeof why));
  assert_int_equal(choice.samples, CUDA_SAMPLES_NONE);
  assert_true(cuda_choice_parse("samples=continuous,api=all", &choice, why, sizeof why));
  assert_int_equal(choice.samples, CUDA_SAMPLES_CONTINUOUS);
  assert_true(cuda_choice_parse("samples=serialized", &choice, why, sizeof why));
  assert_int_equal(choice.samples, CUDA_SAMPLES_SERIALIZED);
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
  check_refused("samples=", "continuous");
  check_refused("samples=continuousl", "continuous");
  check_refused("metric=dram__bytes_read.sum", "'metric=dram");
  check_refused("metrics=", "xsp");
  check_refused("metrics=xsp+", "'metrics=xsp+'");
  check_refused("metrics=a b", "'metrics=a b'");
  check_refused("collect=", "kernel, application or sampling");
  check_refused("interval_us=", "10 to 1000000");
  check_refused("interval_us=9", "10 to 1000000");
  check_refused("interval_us=1000001", "10 to 1000000");
  check_refused("interval_us=99999999999999999999", "10 to 1000000");
  check_refused("interval_us=1e3", "10 to 1000000");
  check_refused("collect=kernels", "'collect=kernels'");
  char many[3 * CUDA_METRICS_MOST + 16] = "metrics=m";
  for (uint32_t i = 1; i < CUDA_METRICS_MOST; i++)
    strcat(many, "+m");
  struct cuda_choice choice;
  char why[200] = "";
  assert_true(cuda_choice_parse(many, &choice, why, sizeof why));
  check_refused(strcat(many, "+m"), "at most 64");
}

static void test_metrics(void **state)
{
  struct cuda_choice choice;
  char why[200] = "";
  assert_true(cuda_choice_parse("api=all", &choice, why, sizeof why));
  assert_false(choice.wants_metrics);
  assert_null(choice.metrics);
  assert_true(cuda_choice_parse("metrics=xsp+dram__bytes_read.sum,collect=application", &choice, why, sizeof why));
  assert_true(choice.wants_metrics);
  assert_int_equal(choice.collect, CUDA_COLLECT_APPLICATION);
  assert_int_equal(choice.metrics_length, strlen("xsp+dram__bytes_read.sum"));
  assert_memory_equal(choice.metrics, "xsp+dram__bytes_read.sum", choice.metrics_length);
  assert_int_equal(choice.interval_us, 100);
  assert_true(cuda_choice_parse("collect=sampling,interval_us=1000000", &choice, why, sizeof why));
  assert_int_equal(choice.collect, CUDA_COLLECT_SAMPLING);
  assert_int_equal(choice.interval_us, 1000000);
  assert_true(cuda_choice_parse("collect=kernel", &choice, why, sizeof why));
  assert_true(choice.wants_metrics);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_taken), cmocka_unit_test(test_samples),
                                     cmocka_unit_test(test_refused), cmocka_unit_test(test_metrics)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
