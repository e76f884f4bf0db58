// SPDX-License-Identifier: Apache-2.0
// Growable arrays: items stay, new ones are zeroed, reserved room does not move.
#include "base/vector.h"

#include "base/sorted.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct item {
  uint64_t number;
  char name[24];
};

static void grows(void **state)
{
  (void)state;
  VECTOR(struct item) items = {0};
  for (uint64_t i = 0; i < 10000; i++) {
    struct item *item = vector_add(&items);
    assert_int_equal(item->number, 0);
    assert_int_equal(item->name[23], 0);
    memset(item, 0xff, sizeof *item);
    item->number = i;
  }
  assert_int_equal(items.count, 10000);
  assert_in_range(items.capacity, 10000, 20000);
  for (uint64_t i = 0; i < 10000; i++)
    assert_int_equal(items.items[i].number, i);
  vector_done(&items);
  assert_null(items.items);
  assert_int_equal(items.count + items.capacity, 0);
}

SORTED_BY(falling, uint32_t, ORDER(*b, *a))

static void items_are_sorted(void **state)
{
  (void)state;
  VECTOR(uint32_t) numbers SCOPED(vector_end) = {0};
  vector_sort(&numbers, falling); // of none
  for (uint32_t i = 0; i < 3; i++)
    *vector_add(&numbers) = i;
  vector_sort(&numbers, falling);
  for (uint32_t i = 0; i < 3; i++)
    assert_int_equal(numbers.items[i], 2 - i);
}

static void an_item_given_back_is_zeroed_again(void **state)
{
  (void)state;
  VECTOR(uint32_t) numbers = {0};
  *vector_add(&numbers) = 7;
  numbers.count = 0;
  assert_int_equal(*vector_add(&numbers), 0);
  vector_done(&numbers);
}

static void reserved_room_does_not_move(void **state)
{
  (void)state;
  VECTOR(uint32_t) numbers = {0};
  *vector_add(&numbers) = 1;
  vector_reserve(&numbers, 1000);
  const uint32_t *first = numbers.items;
  for (uint32_t i = 0; i < 1000; i++)
    *vector_add(&numbers) = i;
  assert_ptr_equal(numbers.items, first);
  assert_int_equal(numbers.count, 1001);
  vector_done(&numbers);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(grows),
      cmocka_unit_test(items_are_sorted),
      cmocka_unit_test(an_item_given_back_is_zeroed_again),
      cmocka_unit_test(reserved_room_does_not_move),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
