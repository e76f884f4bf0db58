// SPDX-License-Identifier: Apache-2.0
// Padding of batches with known answers.
#include "frameworks/common/padding.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define COLUMNS 10

static struct padding count(const void *elements, uint32_t size, uint64_t rows, bool is_mask)
{
  return padding_count(&(struct padding_input){elements, size, rows, COLUMNS, is_mask});
}

static void check(struct padding padding, int64_t padded, int64_t spare)
{
  assert_int_equal(padding.padded, padded);
  assert_int_equal(padding.spare, spare);
}

static void test_last_positions(void **unused)
{
  (void)unused;
  const int64_t ids[2][COLUMNS] = {{5, 6, 7, 0, 0, 0, 0, 0, 0, 0}, {5, 6, 7, 8, 9, 4, 0, 0, 0, 0}};
  struct padding padding = count(ids, 8, 2, false);
  assert_int_equal(padding.positions, 20);
  check(padding, 11, 8);
}

static void test_first_positions(void **unused)
{
  (void)unused;
  const int32_t ids[2][COLUMNS] = {{1, 1, 1, 1, 1, 6, 7, 8, 9, 3}, {1, 1, 2, 2, 3, 4, 5, 6, 7, 8}};
  check(count(ids, 4, 2, false), 7, 4);
}

static void test_a_mask(void **unused)
{
  (void)unused;
  const unsigned char masks[2][COLUMNS] = {{1, 1, 1, 1, 1, 1, 1, 1, 0, 0}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1}};
  check(count(masks, 1, 2, true), 2, 0); // what is not masked is no padding
}

static void test_no_padding(void **unused)
{
  (void)unused;
  const int64_t ids[2][COLUMNS] = {{5, 6, 7, 1, 2, 3, 4, 5, 6, 0}, {5, 6, 7, 8, 9, 4, 3, 2, 1, 9}};
  const int64_t same[2][COLUMNS] = {{0}};
  check(count(ids, 8, 2, false), 0, 0); // a row may end with the value that pads others
  check(count(same, 8, 2, false), 0, 0);
}

static void test_what_is_not_looked_at(void **unused)
{
  (void)unused;
  const int64_t ids[COLUMNS] = {0};
  assert_int_equal(padding_count(&(struct padding_input){ids, 8, 1, 7, false}).positions, 0);
  assert_int_equal(padding_count(&(struct padding_input){ids, 8, 0, 10, false}).positions, 0);
  assert_int_equal(padding_count(&(struct padding_input){ids, 8, 1, 65537, false}).positions, 0);
}

static void test_a_mask_replaces_what_token_ids_have_shown(void **unused)
{
  (void)unused;
  const int64_t ids[2][COLUMNS] = {{5, 6, 7, 0, 0, 0, 0, 0, 0, 0}, {5, 6, 7, 8, 9, 4, 0, 0, 0, 0}};
  const unsigned char mask[2][COLUMNS] = {{1, 1, 1, 1, 1, 1, 1, 1, 0, 0}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1}};
  struct padding_of_call call = {.is_of_mask = false};
  padding_look(&call, &(struct padding_input){ids, 8, 2, COLUMNS, false});
  padding_look(&call, &(struct padding_input){mask, 1, 2, 7, true}); // too narrow
  padding_look(&call, &(struct padding_input){mask, 1, 2, PADDING_ELEMENTS_MOST + 1, true});
  check(call.padding, 11, 8);
  assert_true(padding_may_change(&call, true));
  assert_false(padding_may_change(&call, false));
  padding_look(&call, &(struct padding_input){mask, 1, 2, COLUMNS, true});
  padding_look(&call, &(struct padding_input){ids, 8, 2, COLUMNS, false});
  check(call.padding, 2, 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_last_positions),
      cmocka_unit_test(test_first_positions),
      cmocka_unit_test(test_a_mask),
      cmocka_unit_test(test_no_padding),
      cmocka_unit_test(test_what_is_not_looked_at),
      cmocka_unit_test(test_a_mask_replaces_what_token_ids_have_shown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
