// SPDX-License-Identifier: Apache-2.0
// The pool of commands in flight: nobody gets a record that somebody has, and what is given back is used again.
#include "tracers/opencl/pending.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
// cmocka wants the four above first
#include <cmocka.h>

enum { MANY = 5000, ROUNDS = 300, AT_A_TIME = 100 };

static void test_records_are_distinct_and_used_again(void **state)
{
  static struct opencl_pending *first[MANY], *second[MANY];
  for (int i = 0; i < MANY; i++) {
    first[i] = opencl_pending_take();
    assert_non_null(first[i]);
    assert_int_equal(first[i]->state, PENDING_RUNNING);
    first[i]->state = PENDING_DONE; // seen again below if anyone gets it twice
  }
  uint32_t highest = 0;
  for (int i = 0; i < MANY; i++) {
    highest = first[i]->index > highest ? first[i]->index : highest;
    first[i]->state = PENDING_RUNNING;
    opencl_pending_give(first[i]);
  }
  for (int i = 0; i < MANY; i++) {
    second[i] = opencl_pending_take();
    assert_true(second[i]->index <= highest);
  }
  for (int i = 0; i < MANY; i++)
    opencl_pending_give(second[i]);
}

static void *take_and_give(void *argument)
{
  for (int round = 0; round < ROUNDS; round++) {
    struct opencl_pending *mine[AT_A_TIME];
    for (int i = 0; i < AT_A_TIME; i++) {
      mine[i] = opencl_pending_take();
      if (mine[i] == NULL || __atomic_fetch_add(&mine[i]->enqueued.bytes, 1, __ATOMIC_RELAXED) != 0)
        return (void *)1; // somebody else has it
    }
    for (int i = 0; i < AT_A_TIME; i++) {
      __atomic_fetch_sub(&mine[i]->enqueued.bytes, 1, __ATOMIC_RELAXED);
      opencl_pending_give(mine[i]);
    }
  }
  return NULL;
}

static void test_threads(void **state)
{
  pthread_t threads[4];
  for (int i = 0; i < 4; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, take_and_give, NULL), 0);
  for (int i = 0; i < 4; i++) {
    void *wrong = NULL;
    pthread_join(threads[i], &wrong);
    assert_null(wrong);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_records_are_distinct_and_used_again),
      cmocka_unit_test(test_threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
