// SPDX-License-Identifier: Apache-2.0
// Sites by key: found again, bounded, and one for all threads.
#include "frameworks/common/sites.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define SLOTS 64
#define KEYS (SLOTS / 2)

static struct xsp_site sites[KEYS + 1];

static void a_table_is_bounded(void **state)
{
  static struct site_slot slots[SLOTS];
  struct site_table table = {slots, SLOTS, 0};
  for (uint64_t key = 1; key <= KEYS; key++) {
    assert_true(framework_sites_have_room(&table));
    assert_null(framework_sites_find(&table, key * SLOTS)); // all begin at one slot
    assert_ptr_equal(framework_sites_add(&table, key * SLOTS, &sites[key]), &sites[key]);
  }
  assert_false(framework_sites_have_room(&table));
  for (uint64_t key = 1; key <= KEYS; key++)
    assert_ptr_equal(framework_sites_find(&table, key * SLOTS), &sites[key]);
  assert_ptr_equal(framework_sites_add(&table, SLOTS, &sites[2]), &sites[1]); // the first one stays
  assert_int_equal(table.count, KEYS);
}

static struct site_slot shared_slots[SLOTS];
static struct site_table shared = {shared_slots, SLOTS, 0};

static void *add_all(void *own)
{
  for (uint64_t key = 1; key <= KEYS; key++)
    if (framework_sites_find(&shared, key) == NULL)
      framework_sites_add(&shared, key, own);
  return NULL;
}

static void threads_agree(void **state)
{
  pthread_t threads[4];
  for (int i = 0; i < 4; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, add_all, &sites[i]), 0);
  for (int i = 0; i < 4; i++)
    pthread_join(threads[i], NULL);
  assert_int_equal(shared.count, KEYS);
  for (uint64_t key = 1; key <= KEYS; key++)
    assert_non_null(framework_sites_find(&shared, key));
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_table_is_bounded), cmocka_unit_test(threads_agree)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
