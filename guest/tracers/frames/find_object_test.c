// SPDX-License-Identifier: Apache-2.0
// find_object() with glibc's _dl_find_object, and as before its setup: as where glibc has none.
#include "tracers/frames/find_object.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void check_maps(void)
{
  int local = 0;
  struct link_map *own = find_object_map((const void *)(uintptr_t)check_maps);
  struct link_map *other = find_object_map((const void *)(uintptr_t)dlsym(RTLD_DEFAULT, "_cmocka_run_group_tests"));
  assert_non_null(own);
  assert_string_equal(own->l_name, "");
  assert_non_null(other);
  assert_non_null(strstr(other->l_name, "cmocka"));
  assert_null(find_object_map(&local));
}

static void test_old_glibc(void **state)
{
  (void)state;
  struct dl_find_object object;
  assert_false(find_object((const void *)(uintptr_t)check_maps, &object));
  check_maps();
}

static void test_glibc(void **state)
{
  (void)state;
  struct dl_find_object object;
  int local = 0;
  find_object_setup();
  assert_true(find_object((const void *)(uintptr_t)check_maps, &object));
  assert_string_equal(object.dlfo_link_map->l_name, "");
  assert_false(find_object(&local, &object));
  check_maps();
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_old_glibc), cmocka_unit_test(test_glibc)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
