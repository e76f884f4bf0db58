// SPDX-License-Identifier: Apache-2.0
// Orders, and binary searches against a walk through the array.
#include "base/sorted.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct item {
  int64_t key;
  uint64_t number;
  char name[8];
};

static const struct item items[] = {
    {INT64_MIN, 0, "a"},         {-3, 2, "b"}, {0, 2, "d"}, {0, 2, "d"}, {7, UINT64_MAX - 1, "d"},
    {INT64_MAX, UINT64_MAX, "f"}};
#define ITEMS (sizeof items / sizeof *items)

static int compare_name(const void *key, const void *item)
{
  return strcmp(key, ((const struct item *)item)->name);
}

static void numbers_are_found(void **state)
{
  (void)state;
  const int64_t keys[] = {INT64_MIN, INT64_MIN + 1, -3, -1, 0, 1, 7, 8, INT64_MAX};
  const uint64_t numbers[] = {0, 1, 2, 3, UINT64_MAX - 1, UINT64_MAX};
  for (size_t count = 0; count <= ITEMS; count++) {
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
      size_t expected = 0;
      while (expected < count && items[expected].key < keys[i])
        expected++;
      assert_int_equal(sorted_lower_bound_i64(keys[i], &items->key, count, sizeof *items), expected);
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
      size_t expected = 0;
      while (expected < count && items[expected].number < numbers[i])
        expected++;
      assert_int_equal(PARTITION_POINT(place, 0, count, items[place].number < numbers[i]), expected);
    }
  }
}

static void a_partition_point_is_of_the_range(void **state)
{
  (void)state;
  assert_int_equal(PARTITION_POINT(i, 3, ITEMS, items[i].key < -3), 3);
  assert_int_equal(PARTITION_POINT(i, 1, 3, items[i].key < 7), 3);
  assert_int_equal(PARTITION_POINT(i, 2, 2, items[i].key < 7), 2);
}

ROWS_SORTED_BY(by_name, uint32_t, struct item, strcmp(of[b].name, of[a].name) ?: ORDER(a, b))

static void rows_are_sorted_by_what_they_are_of(void **state)
{
  (void)state;
  uint32_t rows[] = {3, 0, 5, 2};
  qsort_r(rows, 4, sizeof *rows, by_name, (void *)(uintptr_t)items);
  const uint32_t expected[] = {5, 2, 3, 0};
  assert_memory_equal(rows, expected, sizeof rows);
}

static void items_are_found_by_comparison(void **state)
{
  (void)state;
  assert_ptr_equal(sorted_find("d", items, ITEMS, sizeof *items, compare_name), &items[2]);
  assert_null(sorted_find("c", items, ITEMS, sizeof *items, compare_name));
  assert_null(sorted_find("z", items, ITEMS, sizeof *items, compare_name));
  assert_null(sorted_find("d", NULL, 0, sizeof *items, compare_name));
  assert_int_equal(sorted_lower_bound("c", items, ITEMS, sizeof *items, compare_name), 2);
  assert_int_equal(sorted_lower_bound("z", items, ITEMS, sizeof *items, compare_name), ITEMS);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_are_found),
      cmocka_unit_test(a_partition_point_is_of_the_range),
      cmocka_unit_test(rows_are_sorted_by_what_they_are_of),
      cmocka_unit_test(items_are_found_by_comparison),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
