// SPDX-License-Identifier: Apache-2.0
// Objects by their addresses: found again, bounded, and one for all threads that come with a new one at the same time.
#include "frameworks/onnxruntime/known.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#define THREADS 2u
#define OBJECTS 300u
#define SPINS 10000u
#define USER 256u // an inference, in the state of its options

static struct known_table table;
static char objects[OBJECTS][16]; // only their addresses count

static int empty(void **state)
{
  (void)state;
  memset(&table, 0, sizeof table);
  return 0;
}

static void test_one_object(void **state)
{
  (void)state;
  struct known *known = ort_known_get(&table, objects[1]);
  assert_non_null(known);
  assert_int_equal(known->batch, -1);
  known->state = USER;
  assert_ptr_equal(ort_known_find(&table, objects[1]), known);
  assert_ptr_equal(ort_known_get(&table, objects[1]), known);
  assert_int_equal(known->state, USER); // as it is
  assert_ptr_equal(ort_known_add(&table, objects[1]), known);
  assert_int_equal(known->state, 0); // as new
  ort_known_remove(&table, objects[1]);
  assert_null(ort_known_find(&table, objects[1]));
  assert_null(ort_known_find(&table, NULL));
  assert_null(ort_known_add(&table, NULL));
}

static void test_a_full_table(void **state)
{
  (void)state;
  uint32_t count = 0;
  for (uintptr_t address = 16; address <= 16 * 2 * KNOWN_ENTRIES; address += 16)
    count += ort_known_get(&table, (const void *)address) != NULL;
  assert_in_range(count, KNOWN_ENTRIES / 2, KNOWN_ENTRIES);
}

// A process that was forked while another thread of its parent was adding.
static void test_a_fork_in_between(void **state)
{
  (void)state;
  table.adding = 1;
  assert_non_null(ort_known_get(&table, objects[1]));
  assert_int_equal(table.adding, 0);
}

// ---- several threads
static bool another_is_adding;
static struct known *others; // what it added

// Instead of libc's: the thread for which known.c waits ends.
int sched_yield(void)
{
  if (another_is_adding) {
    another_is_adding = false;
    table.adding = 0;
    others = ort_known_get(&table, objects[1]);
    others->state = USER;
  }
  return (int)syscall(SYS_sched_yield);
}

static void test_another_adds_it_meanwhile(void **state)
{
  (void)state;
  another_is_adding = true;
  table.adding = (uint32_t)getpid();
  struct known *known = ort_known_get(&table, objects[1]);
  assert_non_null(known);
  assert_ptr_equal(known, others);
  assert_int_equal(known->state, USER);
  assert_int_equal(table.adding, 0);
}

static uint32_t arrived; // atomic: at all objects together

static void *use_all(void *unused)
{
  for (uint32_t i = 0; i < OBJECTS; i++) {
    __atomic_add_fetch(&arrived, 1, __ATOMIC_ACQ_REL);
    // They come together.
    for (uint32_t spins = 1; __atomic_load_n(&arrived, __ATOMIC_ACQUIRE) < (i + 1) * THREADS; spins++)
      if (spins % SPINS == 0)
        sched_yield();
    struct known *known;
    do { // NULL: the other was stopped for long while it was adding
      known = ort_known_get(&table, objects[i]);
    } while (known == NULL);
    __atomic_fetch_add(&known->state, USER, __ATOMIC_ACQ_REL);
  }
  return unused;
}

// Where the threads have a processor each, they meet.
static void test_threads_agree(void **state)
{
  (void)state;
  pthread_t threads[THREADS];
  for (uint32_t i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, use_all, NULL), 0);
  for (uint32_t i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  uint32_t count = 0;
  for (uint32_t i = 0; i < KNOWN_ENTRIES; i++)
    count += table.entries[i].key != 0;
  assert_int_equal(count, OBJECTS);
  for (uint32_t i = 0; i < OBJECTS; i++)
    assert_int_equal(ort_known_find(&table, objects[i])->state, THREADS * USER);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(test_one_object, empty),
      cmocka_unit_test_setup(test_a_full_table, empty),
      cmocka_unit_test_setup(test_a_fork_in_between, empty),
      cmocka_unit_test_setup(test_another_adds_it_meanwhile, empty),
      cmocka_unit_test_setup(test_threads_agree, empty),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
