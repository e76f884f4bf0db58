// SPDX-License-Identifier: Apache-2.0
// Growing id maps: dense ids, ids that turn out sparse, and zero; pages of clustered ids, and ids that are far apart.
#include "base/id_pages.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define IDS 5000u
#define DIRECT_MOST 20000u

// Falling, so that the table starts large; every third id is far beyond it once `sparse_from` ids are in.
static uint64_t nth_id(uint32_t n, uint32_t sparse_from)
{
  uint64_t id = IDS - 1 - n;
  return n >= sparse_from && n % 3 == 0 ? UINT64_MAX - id : id;
}

static void check(uint32_t sparse_from, bool is_direct)
{
  struct arena arena = {0};
  struct id_map map = {0};
  assert_int_equal(id_map_find(&map, 1), ROW_NONE);
  for (uint32_t n = 0; n < IDS; n++) {
    uint32_t *slot = id_map_grow(&map, &arena, nth_id(n, sparse_from), DIRECT_MOST);
    assert_non_null(slot);
    assert_int_equal(*slot, ROW_NONE);
    *slot = n;
  }
  assert_int_equal(map.key == NULL, is_direct);
  for (uint32_t n = 0; n < IDS; n++) {
    assert_int_equal(id_map_find(&map, nth_id(n, sparse_from)), n);
    assert_int_equal(*id_map_grow(&map, &arena, nth_id(n, sparse_from), DIRECT_MOST), n);
  }
  assert_int_equal(id_map_find(&map, DIRECT_MOST), ROW_NONE);
  arena_done(&arena);
}

static void grows_direct(void **context)
{
  (void)context;
  check(IDS, true);
}

static void grows_hashed_from_the_start(void **context)
{
  (void)context;
  check(0, false);
}

static void turns_from_direct_to_hashed(void **context)
{
  (void)context;
  check(IDS / 2, false);
}

// ---- pages -----------------------------------------------------------------------------------------------------------
#define CLUSTERED 200000u

static uint64_t of_four_processes(uint32_t n)
{
  return ((uint64_t)(n % 4) << 32) + 1000000 - n / 4;
}

static uint64_t far_apart(uint32_t n)
{
  return (n + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

static uint64_t near_then_far(uint32_t n)
{
  return n < CLUSTERED / 2 || n % 3 == 0 ? n + 1 : far_apart(n);
}

static void check_pages(uint64_t (*id_of)(uint32_t n), bool is_closed)
{
  struct arena arena = {0};
  struct id_pages pages = {0};
  assert_int_equal(id_pages_find(&pages, 1), ROW_NONE);
  for (uint32_t n = 0; n < CLUSTERED; n++) {
    uint32_t *slot = id_pages_slot(&pages, &arena, id_of(n));
    assert_non_null(slot);
    assert_int_equal(*slot, ROW_NONE);
    *slot = n;
  }
  assert_int_equal(pages.is_closed, is_closed);
  assert_true(arena.used_bytes < 80 * CLUSTERED); // whatever the ids are
  for (uint32_t n = 0; n < CLUSTERED; n++) {
    assert_int_equal(id_pages_find(&pages, id_of(n)), n);
    assert_int_equal(*id_pages_slot(&pages, &arena, id_of(n)), n);
  }
  assert_int_equal(id_pages_find(&pages, 1000001), ROW_NONE);
  assert_int_equal(id_pages_find(&pages, UINT64_MAX), ROW_NONE);
  arena_done(&arena);
}

static void pages_hold_clusters(void **context)
{
  (void)context;
  check_pages(of_four_processes, false);
}

static void pages_hash_what_is_far_apart(void **context)
{
  (void)context;
  check_pages(far_apart, true);
}

static void pages_do_both(void **context)
{
  (void)context;
  check_pages(near_then_far, true);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(grows_direct),
      cmocka_unit_test(grows_hashed_from_the_start),
      cmocka_unit_test(turns_from_direct_to_hashed),
      cmocka_unit_test(pages_hold_clusters),
      cmocka_unit_test(pages_hash_what_is_far_apart),
      cmocka_unit_test(pages_do_both),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
