// SPDX-License-Identifier: Apache-2.0
// Growing id maps: dense ids, ids that turn out sparse, and zero.
#include "correlate/id_map.h"

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

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(grows_direct),
      cmocka_unit_test(grows_hashed_from_the_start),
      cmocka_unit_test(turns_from_direct_to_hashed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
