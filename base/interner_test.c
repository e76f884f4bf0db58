// SPDX-License-Identifier: Apache-2.0
// Interned texts: equal texts share an id, ids are dense, bytes of any value count.
#include "base/interner.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define TEXTS 5000u

static void ids_are_dense(void **state)
{
  (void)state;
  struct interner interner = {0};
  char text[32];
  uint32_t id;
  assert_false(interner_find(&interner, "kernel 1", 8, &id));
  for (unsigned round = 0; round < 2; round++)
    for (uint32_t i = 0; i < TEXTS; i++) {
      size_t length = (size_t)snprintf(text, sizeof text, "kernel %u", i);
      assert_int_equal(interner_at(&interner, text, length), i);
    }
  assert_int_equal(interner_count(&interner), TEXTS);
  assert_true(interner_find(&interner, "kernel 4999", 11, &id));
  assert_int_equal(id, 4999);
  assert_false(interner_find(&interner, "kernel 5000", 11, &id));
  assert_string_equal(interner_text(&interner, 42).data, "kernel 42");
  assert_int_equal(interner_text(&interner, 42).length, 9);
  interner_done(&interner);
  assert_int_equal(interner_count(&interner), 0);
}

static void bytes_of_any_value_count(void **state)
{
  (void)state;
  struct interner interner = {0};
  assert_int_equal(interner_at(&interner, "", 0), 0);
  assert_int_equal(interner_at(&interner, "a\0b", 3), 1);
  assert_int_equal(interner_at(&interner, "a\0c", 3), 2);
  assert_int_equal(interner_at(&interner, "a", 1), 3);
  assert_int_equal(interner_at(&interner, "a\0b-", 3), 1);
  assert_int_equal(interner_at(&interner, NULL, 0), 0);
  interner_done(&interner);
}

static void appended_texts_are_found(void **state)
{
  (void)state;
  struct interner interner = {0};
  uint32_t id;
  interner_at(&interner, "first", 5);
  assert_int_equal(interner_append(&interner, "second", 6), 1);
  assert_int_equal(interner_append(&interner, "first", 5), 2);
  assert_true(interner_find(&interner, "second", 6, &id));
  assert_int_equal(id, 1);
  assert_true(interner_find(&interner, "first", 5, &id));
  assert_int_equal(id, 0);
  assert_int_equal(interner_at(&interner, "third", 5), 3);
  interner_done(&interner);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ids_are_dense),
      cmocka_unit_test(bytes_of_any_value_count),
      cmocka_unit_test(appended_texts_are_found),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
