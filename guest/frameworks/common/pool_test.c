// SPDX-License-Identifier: Apache-2.0
// Pools: limits, alignment, growth. What fails leaves the pool usable.
#include "frameworks/common/pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void memory_is_zeroed_and_aligned(void **state)
{
  struct pool pool = {.maximum_bytes = 1 << 20};
  for (size_t size = 0; size < 100; size += 7) {
    char *bytes = framework_pool_alloc(&pool, 1, size);
    assert_non_null(bytes);
    assert_int_equal((uintptr_t)bytes % 16, 0);
    for (size_t i = 0; i < size; i++)
      assert_int_equal(bytes[i], 0);
    memset(bytes, 0xff, size);
  }
  assert_string_equal(framework_pool_text(&pool, "texts", 4), "text");
  assert_string_equal(framework_pool_text(&pool, NULL, 0), "");
  framework_pool_done(&pool);
  assert_int_equal(pool.used_bytes, 0);
}

static void limits_hold(void **state)
{
  struct pool pool = {.maximum_bytes = 1 << 16};
  assert_null(framework_pool_alloc(&pool, SIZE_MAX, 2));
  assert_null(framework_pool_alloc(&pool, SIZE_MAX / 2, 2));
  assert_null(framework_pool_alloc(&pool, (1 << 16) + 1, 1));
  assert_non_null(framework_pool_alloc(&pool, 60000, 1)); // a block of its own
  assert_null(framework_pool_alloc(&pool, 6000, 1));
  assert_non_null(framework_pool_alloc(&pool, 10, 1));
  framework_pool_done(&pool);
  assert_non_null(framework_pool_alloc(&pool, 1 << 16, 1));
  assert_null(framework_pool_text(&pool, "", 0));
  framework_pool_done(&pool);
  struct pool none = {0};
  assert_null(framework_pool_alloc(&none, 1, 1));
  framework_pool_done(&none);
}

static void arrays_grow(void **state)
{
  struct pool pool = {.maximum_bytes = 1 << 16};
  uint32_t *numbers = NULL;
  size_t capacity = 0, count = 0;
  for (;; count++) {
    uint32_t *grown = framework_pool_grow(&pool, numbers, count, &capacity, 1, sizeof *numbers);
    if (grown == NULL)
      break;
    numbers = grown;
    numbers[count] = (uint32_t)count;
  }
  assert_true(count >= 4096);
  for (size_t i = 0; i < count; i++)
    assert_int_equal(numbers[i], i);
  assert_null(framework_pool_grow(&pool, numbers, count, &capacity, SIZE_MAX, sizeof *numbers));
  framework_pool_done(&pool);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(memory_is_zeroed_and_aligned),
      cmocka_unit_test(limits_hold),
      cmocka_unit_test(arrays_grow),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
