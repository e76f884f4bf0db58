// SPDX-License-Identifier: Apache-2.0
// Texts interned one by one, texts that are known to be new, and both mixed: ids count up, all are found again, in any
// number of commits.
#include "store/store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/expect.h"
#include "tests/support/folder.h"

static int make_text(char *text, size_t size, uint32_t id)
{
  return snprintf(text, size, "text %u", id);
}

static void add(struct store *store, uint32_t from, uint32_t to, bool are_new)
{
  char text[32];
  for (uint32_t id = from; id < to; id++) {
    size_t length = (size_t)make_text(text, sizeof text, id);
    assert_int_equal(are_new ? store_new_string(store, text, length) : store_string(store, text, length), id);
  }
}

static void check(struct store *store, uint32_t count)
{
  char text[32];
  for (uint32_t id = 1; id <= count; id++) {
    size_t length, expected = (size_t)make_text(text, sizeof text, id);
    uint32_t found = 0;
    assert_string_equal(store_text(store, id, &length), text);
    assert_int_equal(length, expected);
    assert_true(store_find_string(store, text, expected, &found));
    assert_int_equal(found, id);
  }
  uint32_t none;
  assert_false(store_find_string(store, "nowhere", 7, &none));
  assert_string_equal(store_text(store, count + 1, NULL), "");
}

static void test_new_and_known_texts(void **state)
{
  (void)state;
  struct store *store;
  OK(store_create(path, false, &store, err));
  assert_false(store_has_strings(store));
  assert_int_equal(store_new_string(store, "", 0), 0);
  assert_false(store_has_strings(store));
  add(store, 1, 1000, true); // beyond the first capacity
  assert_true(store_has_strings(store));
  add(store, 990, 1005, false); // the first ten are known
  OK(store_commit(store, err));
  add(store, 1005, 1006, true);
  OK(store_commit(store, err));
  add(store, 1000, 1038, false);
  OK(store_commit(store, err)); // 32 and none
  add(store, 1038, 1101, true);
  OK(store_finish(store, err)); // 32 and 31
  check(store, 1100);
  store_close(store);
  OK(store_open(path, &store, err));
  check(store, 1100);
  store_close(store);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(test_new_and_known_texts, clear_folder),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
