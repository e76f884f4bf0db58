// SPDX-License-Identifier: Apache-2.0
// The predicting thread keeps off CPUs to which other threads are pinned, and off nothing else.
#include "programs/runner/process.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

static pthread_barrier_t pinned, done;

static void *worker(void *mask)
{
  sched_setaffinity(0, sizeof(cpu_set_t), mask);
  pthread_barrier_wait(&pinned);
  pthread_barrier_wait(&done);
  return NULL;
}

// The calling thread's CPUs after placement_keep_clear beside one thread that is bound to `theirs`.
static int place_beside(cpu_set_t *theirs, cpu_set_t *ret_own)
{
  pthread_t thread;
  pthread_barrier_init(&pinned, NULL, 2);
  pthread_barrier_init(&done, NULL, 2);
  assert_int_equal(pthread_create(&thread, NULL, worker, theirs), 0);
  pthread_barrier_wait(&pinned);
  int cleared = placement_keep_clear();
  assert_int_equal(sched_getaffinity(0, sizeof *ret_own, ret_own), 0);
  pthread_barrier_wait(&done);
  pthread_join(thread, NULL);
  pthread_barrier_destroy(&pinned);
  pthread_barrier_destroy(&done);
  return cleared;
}

static void keeps_off_pinned_workers(void **state)
{
  cpu_set_t all, one, own;
  assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
  if (CPU_COUNT(&all) < 2)
    skip(); // one CPU: nothing can be kept clear
  CPU_ZERO(&one);
  size_t last = CPU_SETSIZE - 1;
  while (!CPU_ISSET(last, &all))
    last--;
  CPU_SET(last, &one);
  assert_int_equal(place_beside(&one, &own), 1);
  assert_false(CPU_ISSET(last, &own));
  assert_int_equal(CPU_COUNT(&own), CPU_COUNT(&all) - 1);
  sched_setaffinity(0, sizeof all, &all);
}

static void stays_where_nothing_is_pinned(void **state)
{
  cpu_set_t all, own;
  assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
  assert_int_equal(place_beside(&all, &own), 0);
  assert_true(CPU_EQUAL(&own, &all));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(keeps_off_pinned_workers),
      cmocka_unit_test(stays_where_nothing_is_pinned),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
