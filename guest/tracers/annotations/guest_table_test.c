// SPDX-License-Identifier: Apache-2.0
// The map of handles: what was put last is found, a full map refuses, threads see whole values.
#include "tracers/annotations/guest_table.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
// cmocka wants the four above first
#include <cmocka.h>

static void *handle(uintptr_t number)
{
  return (void *)(number * 16);
}

static void test_put_and_get(void **state)
{
  struct guest_map table = {.capacity = 64};
  int a = 0, b = 0;
  assert_null(guest_map_get(&table, handle(1)));
  assert_true(guest_map_put(&table, handle(1), &a));
  assert_ptr_equal(guest_map_get(&table, handle(1)), &a);
  assert_true(guest_map_put(&table, handle(1), &b)); // the address was given out again
  assert_ptr_equal(guest_map_get(&table, handle(1)), &b);
  assert_null(guest_map_get(&table, handle(2)));
  assert_null(guest_map_get(&table, NULL));
  assert_false(guest_map_put(&table, NULL, &a));
}

static void test_full(void **state)
{
  struct guest_map table = {.capacity = 64};
  uintptr_t number = 1;
  while (guest_map_put(&table, handle(number), handle(number)))
    number++;
  assert_int_equal(number - 1, 48);
  for (uintptr_t i = 1; i < number; i++)
    assert_ptr_equal(guest_map_get(&table, handle(i)), handle(i));
  assert_null(guest_map_get(&table, handle(number)));
  assert_true(guest_map_put(&table, handle(3), handle(4))); // one that is there can change
}

static struct guest_map shared = {.capacity = 1 << 12};

static void *put_many(void *argument)
{
  uintptr_t thread = (uintptr_t)argument;
  for (int round = 0; round < 20; round++)
    for (uintptr_t i = 1; i <= 2000; i++) {
      guest_map_put(&shared, handle(i), handle(i * 8 + thread));
      uintptr_t found = (uintptr_t)guest_map_get(&shared, handle(i)) / 16;
      if (found / 8 != i)
        return (void *)1;
    }
  return NULL;
}

static void test_threads(void **state)
{
  pthread_t threads[4];
  for (uintptr_t i = 0; i < 4; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, put_many, (void *)i), 0);
  for (int i = 0; i < 4; i++) {
    void *wrong = NULL;
    pthread_join(threads[i], &wrong);
    assert_null(wrong);
  }
  assert_int_equal(shared.used, 2000);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_put_and_get),
      cmocka_unit_test(test_full),
      cmocka_unit_test(test_threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
