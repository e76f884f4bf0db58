// SPDX-License-Identifier: Apache-2.0
// The pool of buffers: nobody gets one that somebody has, filled ones are found, and there is an end.
#include "tracers/device/buffers.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
// cmocka wants the four above first
#include <cmocka.h>

static void test_one_after_the_other(void **state)
{
  static struct buffers buffers = {.size = 4096};
  uint8_t *first = device_buffers_take(&buffers), *second = device_buffers_take(&buffers);
  assert_non_null(first);
  assert_non_null(second);
  assert_ptr_not_equal(first, second);
  assert_null(device_buffers_next(&buffers));
  device_buffers_fill(&buffers, second, 80);
  device_buffers_fill(&buffers, first, 0); // nothing was recorded in it: it is free
  struct buffer *filled = device_buffers_next(&buffers);
  assert_ptr_equal(filled->bytes, second);
  assert_int_equal(filled->valid, 80);
  assert_null(device_buffers_next(&buffers));
  assert_ptr_equal(device_buffers_take(&buffers), first);
  device_buffers_release(filled);
  assert_ptr_equal(device_buffers_take(&buffers), second);
}

static void test_wrong_arguments(void **state)
{
  static struct buffers buffers = {.size = 4096};
  uint8_t *bytes = device_buffers_take(&buffers), strange[8];
  device_buffers_fill(&buffers, strange, 8); // not ours
  device_buffers_fill(&buffers, NULL, 8);
  assert_null(device_buffers_next(&buffers));
  device_buffers_fill(&buffers, bytes, 1 << 20); // more than it has
  assert_int_equal(device_buffers_next(&buffers)->valid, 4096);
}

static void test_there_is_an_end(void **state)
{
  static struct buffers buffers = {.size = 4096};
  for (uint32_t i = 0; i < BUFFERS_MOST; i++)
    assert_non_null(device_buffers_take(&buffers));
  assert_null(device_buffers_take(&buffers));
  assert_int_equal(buffers.refused, 1);
}

enum { ROUNDS = 2000 };
static struct buffers shared = {.size = 4096};

static void *take_write_fill(void *number)
{
  for (int round = 0; round < ROUNDS; round++) {
    uint8_t *bytes = device_buffers_take(&shared);
    if (bytes == NULL) {
      round--;
      continue;
    }
    for (int i = 0; i < 64; i++)
      bytes[i] = (uint8_t)(uintptr_t)number;
    device_buffers_fill(&shared, bytes, 64);
  }
  return NULL;
}

static void test_threads(void **state)
{
  pthread_t threads[3];
  uint32_t seen[4] = {0}, total = 0;
  for (uintptr_t i = 0; i < 3; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, take_write_fill, (void *)(i + 1)), 0);
  while (total < 3 * ROUNDS) {
    struct buffer *filled = device_buffers_next(&shared);
    if (filled == NULL)
      continue;
    for (int i = 1; i < 64; i++)
      assert_int_equal(filled->bytes[i], filled->bytes[0]); // one thread's alone
    seen[filled->bytes[0]]++;
    total++;
    device_buffers_release(filled);
  }
  for (int i = 0; i < 3; i++) {
    pthread_join(threads[i], NULL);
    assert_int_equal(seen[i + 1], ROUNDS);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_one_after_the_other),
      cmocka_unit_test(test_wrong_arguments),
      cmocka_unit_test(test_there_is_an_end),
      cmocka_unit_test(test_threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
