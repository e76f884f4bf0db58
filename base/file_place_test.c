// SPDX-License-Identifier: Apache-2.0
// A whole file appears complete, or not at all.
#include "base/file_place.h"

#include "base/folder.h"
#include "base/small_file.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static void a_whole_file_has_its_place(void **state)
{
  (void)state;
  char folder[] = "/tmp/file_place_test_XXXXXX", path[64], text[16];
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/file", folder);
  assert_int_equal(file_place_check(path, false, NULL), STATUS_OK);
  assert_int_equal(symlink("nothing", path), 0); // which leads nowhere
  assert_int_equal(file_place_check(path, false, NULL), STATUS_USE);
  assert_int_equal(file_place_check(path, true, NULL), STATUS_OK);
  assert_int_equal(unlink(path), 0);
  assert_true(file_place_whole(path, "one", 3, false));
  assert_false(file_place_whole(path, "two", 3, false));
  assert_int_equal(errno, EEXIST);
  assert_int_equal(small_file_read(path, text, sizeof text), 3);
  assert_string_equal(text, "one");
  assert_true(file_place_whole(path, "two", 3, true));
  assert_int_equal(small_file_read(path, text, sizeof text), 3);
  assert_string_equal(text, "two");
  snprintf(path, sizeof path, "%s/no/file", folder);
  assert_false(file_place_whole(path, "one", 3, false));
  assert_int_equal(errno, ENOENT);
  folder_remove_flat(folder); // which leaves no folder where nothing else is in it
  assert_int_not_equal(access(folder, F_OK), 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_whole_file_has_its_place)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
