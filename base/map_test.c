// SPDX-License-Identifier: Apache-2.0
// Maps: what was put in is found, keys of all shapes spread, and {0, 0} is a key like any other.
#include "base/map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void finds_what_was_added(void **state)
{
  (void)state;
  struct map map = {0};
  bool is_new;
  assert_null(map_find(&map, map_number(1)));
  for (uint64_t i = 0; i < 100000; i++) {
    struct map_key key = {i / 7, i % 7};
    uint64_t *value = map_at(&map, key, &is_new);
    assert_true(is_new);
    assert_int_equal(*value, 0);
    *value = i;
  }
  assert_int_equal(map.count, 100000);
  for (uint64_t i = 0; i < 100000; i++) {
    struct map_key key = {i / 7, i % 7};
    assert_int_equal(*map_find(&map, key), i);
    assert_int_equal(*map_at(&map, key, &is_new), i);
    assert_false(is_new);
  }
  assert_null(map_find(&map, (struct map_key){0, 7}));
  assert_null(map_find(&map, map_number(UINT64_MAX)));
  map_done(&map);
  assert_null(map.slots);
}

static void zero_is_a_key(void **state)
{
  (void)state;
  struct map map = {0};
  assert_null(map_find(&map, map_number(0)));
  *map_at(&map, map_number(0), NULL) = 5;
  assert_int_equal(map.count, 1);
  assert_int_equal(*map_find(&map, map_number(0)), 5);
  assert_null(map_find(&map, (struct map_key){0, 1}));
  map_done(&map);
}

static void reserved_room_does_not_move(void **state)
{
  (void)state;
  struct map map = {0};
  map_reserve(&map, 1000);
  uint64_t *first = map_at(&map, map_number(1), NULL);
  for (uint64_t i = 2; i <= 1000; i++)
    map_at(&map, map_number(i), NULL);
  assert_ptr_equal(map_find(&map, map_number(1)), first);
  map_done(&map);
}

// The longest run of used slots, which bounds a look-up, stays short for keys that count up in either half.
static void keys_spread(void **state)
{
  (void)state;
  for (unsigned shift = 0; shift < 48; shift += 4) {
    struct map map = {.seed = UINT64_C(0x123456789abcdef1) + shift};
    for (uint64_t i = 1; i <= 4096; i++)
      map_at(&map, (struct map_key){i % 64 << shift, i / 64}, NULL);
    size_t longest = 0, length = 0;
    for (size_t i = 0; i < map.slot_count; i++) {
      length = map.slots[i].key.a != 0 || map.slots[i].key.b != 0 ? length + 1 : 0;
      longest = length > longest ? length : longest;
    }
    assert_in_range(longest, 1, 64);
    map_done(&map);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(finds_what_was_added),
      cmocka_unit_test(zero_is_a_key),
      cmocka_unit_test(reserved_room_does_not_move),
      cmocka_unit_test(keys_spread),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
