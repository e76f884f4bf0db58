// SPDX-License-Identifier: Apache-2.0
#include "base/available_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static void test_is_a_part_of_the_machine(void **unused)
{
  (void)unused;
  uint64_t all = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
  assert_in_range(available_memory_bytes(), 0, all);
}

static void put(const char *folder, const char *name, const char *text)
{
  char path[64];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_true(fputs(text, file) >= 0);
  assert_int_equal(fclose(file), 0);
}

static void test_cached_files_of_a_container_are_not_taken(void **unused)
{
  static const char *const names[] = {"memory.max", "memory.current", "memory.stat"};
  char folder[] = "/tmp/xsp-memory-XXXXXX", path[64];
  (void)unused;
  assert_non_null(mkdtemp(folder));
  assert_true(available_memory_in_group(folder) == UINT64_MAX); // no control group
  put(folder, "memory.max", "max\n");
  put(folder, "memory.current", "1000\n");
  assert_true(available_memory_in_group(folder) == UINT64_MAX);
  put(folder, "memory.max", "1200\n");
  assert_int_equal(available_memory_in_group(folder), 200);
  put(folder, "memory.stat", "anon 100\nfile 900\ninactive_anon 7\nactive_file 100\ninactive_file 800\n");
  assert_int_equal(available_memory_in_group(folder), 1000);
  put(folder, "memory.stat", "inactive_file 2000\n"); // read later than memory.current
  assert_int_equal(available_memory_in_group(folder), 1200);
  put(folder, "memory.stat", "inactive_file 0\n");
  put(folder, "memory.current", "1300\n"); // the limit was lowered
  assert_int_equal(available_memory_in_group(folder), 0);
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    snprintf(path, sizeof path, "%s/%s", folder, names[i]);
    assert_int_equal(unlink(path), 0);
  }
  assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_is_a_part_of_the_machine),
                                     cmocka_unit_test(test_cached_files_of_a_container_are_not_taken)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
