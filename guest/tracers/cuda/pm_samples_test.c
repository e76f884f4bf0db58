// SPDX-License-Identifier: Apache-2.0
// Samples of 10 ns from time 100 on, the first with the values 1 and 100, the second 2 and 200 …
#include "tracers/cuda/pm_samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
// cmocka wants the four above first
#include <cmocka.h>

static struct pm_samples samples;

static void fill(size_t capacity, int count)
{
  assert_true(pm_samples_open(&samples, 2, capacity));
  for (int i = 0; i < count; i++)
    pm_samples_add(&samples, 100 + 10 * (uint64_t)i, 110 + 10 * (uint64_t)i, (double[]){1 + i, 100 + 100 * i});
}

static int empty(void **state)
{
  (void)state;
  pm_samples_close(&samples);
  return 0;
}

static void expect(uint64_t start, uint64_t end, size_t count, double sum)
{
  double sums[2];
  struct pm_share share = pm_samples_of(&samples, start, end, sums);
  assert_int_equal(share.count, count);
  assert_int_equal(share.covered_ns, 10 * count);
  assert_int_equal((int)sums[0], (int)sum);
  assert_int_equal((int)sums[1], 100 * (int)sum);
}

static void test_a_kernel_has_the_samples_in_its_time(void **state)
{
  (void)state;
  fill(16, 8);
  pm_samples_note(&samples, 105, 135);
  pm_samples_note(&samples, 135, 160);
  pm_samples_note(&samples, 161, 169);
  expect(105, 135, 2, 2 + 3); // 110 to 130
  expect(135, 160, 2, 5 + 6); // 140 to 160; 130 to 140 is of both
  expect(161, 169, 0, 0);
}

static void test_samples_of_two_are_of_none(void **state)
{
  (void)state;
  fill(16, 8);
  pm_samples_note(&samples, 100, 180);
  pm_samples_note(&samples, 125, 145);
  expect(100, 180, 5, 1 + 2 + 6 + 7 + 8); // without 120 to 150
  expect(125, 145, 0, 0);
  assert_int_equal(samples.late, 0);
  pm_samples_note(&samples, 101, 102); // too late: the first sample has been given
  assert_int_equal(samples.late, 1);
  expect(100, 180, 4, 2 + 6 + 7 + 8);
}

// Executions in two streams may have the same times.
static void test_twins_share(void **state)
{
  (void)state;
  fill(16, 8);
  pm_samples_note(&samples, 100, 180);
  pm_samples_note(&samples, 100, 180);
  expect(100, 180, 0, 0);
}

static void test_the_oldest_make_room(void **state)
{
  (void)state;
  fill(4, 7); // 140 to 170 are left
  pm_samples_note(&samples, 100, 170);
  expect(100, 170, 4, 4 + 5 + 6 + 7);
}

static void test_without_samples(void **state)
{
  (void)state;
  fill(4, 0);
  pm_samples_note(&samples, 0, 1000);
  expect(0, 1000, 0, 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(test_a_kernel_has_the_samples_in_its_time, empty),
      cmocka_unit_test_teardown(test_samples_of_two_are_of_none, empty),
      cmocka_unit_test_teardown(test_twins_share, empty),
      cmocka_unit_test_teardown(test_the_oldest_make_room, empty),
      cmocka_unit_test_teardown(test_without_samples, empty),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
