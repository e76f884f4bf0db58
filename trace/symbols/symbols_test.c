// SPDX-License-Identifier: Apache-2.0
// Names of addresses in a library that was made for it (tests/symbols/symbols_example.cc): with its debug information, with
// that in a file next to it, with symbols only, with nothing; and of files that are not libraries.
#include "symbols/symbols.h"

#include <dlfcn.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char example[512], folder[] = "/tmp/xsp-symbols-XXXXXX";
static uint64_t plain, member, inlined; // addresses of calls, in the file

static uint64_t read_address(void *library, const char *name)
{
  const uintptr_t *address = dlsym(library, name);
  struct link_map *map = NULL;
  assert_non_null(address);
  assert_int_equal(dlinfo(library, RTLD_DI_LINKMAP, &map), 0);
  return *address - map->l_addr;
}

static int setup(void **state)
{
  void (*run)(void);
  snprintf(example, sizeof example, "%s/test-programs/symbols_example.so", getenv("XSP_BUILD"));
  void *library = dlopen(example, RTLD_NOW | RTLD_LOCAL), *symbol = dlsym(library, "example_run");
  if (library == NULL || symbol == NULL || mkdtemp(folder) == NULL)
    return -1;
  memcpy(&run, &symbol, sizeof run);
  run();
  plain = read_address(library, "example_plain_address");
  member = read_address(library, "example_member_address");
  inlined = read_address(library, "example_inlined_address");
  return 0;
}

static int teardown(void **state)
{
  char command[600];
  snprintf(command, sizeof command, "rm -r %s", folder);
  return system(command);
}

static void demand(const char *path, uint64_t address, const char *name, const char *file, uint32_t line)
{
  struct symbols *symbols = symbols_open();
  for (int i = 0; i < 2; i++) { // opened, and open
    struct symbol found = {0};
    assert_true(symbols_find(symbols, path, address, &found));
    assert_string_equal(found.name, name);
    assert_int_equal(found.line, line);
    if (file == NULL)
      assert_null(found.file);
    else
      assert_string_equal(strrchr(found.file, '/') + 1, file);
  }
  symbols_close(symbols);
}

static void demand_all(const char *path)
{
  demand(path, plain, "example_run", "symbols_example.cc", 300);
  demand(path, member, "shapes::Box<double>::measure(double)", "symbols_example.cc", 200);
  demand(path, inlined, "innermost(int) (inlined in between(int), example_with_inlined)", "symbols_example.cc", 100);
}

static void test_debug_information(void **state)
{
  demand_all(example);
}

static void run_commands(const char *format)
{
  char command[2048];
  snprintf(command, sizeof command, format, folder, example);
  assert_int_equal(system(command), 0);
}

static void test_debug_information_next_to_the_library(void **state)
{
  char path[600];
  run_commands("cd %s && cp %s whole.so && objcopy --only-keep-debug whole.so example.debug && "
               "objcopy --strip-all --add-gnu-debuglink=example.debug whole.so example.so");
  snprintf(path, sizeof path, "%s/example.so", folder);
  demand_all(path);
}

static void test_symbols_only(void **state)
{
  char path[600];
  run_commands("cd %s && objcopy --strip-debug %s plain.so");
  snprintf(path, sizeof path, "%s/plain.so", folder);
  demand(path, plain, "example_run", NULL, 0);
  demand(path, inlined, "example_with_inlined", NULL, 0);
}

static void test_exported_symbols_only(void **state)
{
  char path[600];
  struct symbols *symbols = symbols_open();
  struct symbol found;
  run_commands("cd %s && objcopy --strip-all %s exported.so");
  snprintf(path, sizeof path, "%s/exported.so", folder);
  assert_true(symbols_find(symbols, path, plain, &found));
  assert_string_equal(found.name, "example_run");
  assert_false(symbols_find(symbols, path, 1, &found)); // in no function
  symbols_close(symbols);
}

static void test_files_that_are_not_libraries(void **state)
{
  struct symbols *symbols = symbols_open();
  struct symbol found;
  char path[600];
  run_commands("cd %s && mkfifo pipe && echo text >text && : %s");
  static const char *const names[] = {"pipe", "text", "absent", "."};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    snprintf(path, sizeof path, "%s/%s", folder, names[i]);
    assert_false(symbols_find(symbols, path, 64, &found));
  }
  assert_false(symbols_find(symbols, "", 64, &found));
  assert_false(symbols_find(symbols, example, UINT64_MAX, &found));
  symbols_close(symbols);
  symbols_close(NULL);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_debug_information),
      cmocka_unit_test(test_debug_information_next_to_the_library),
      cmocka_unit_test(test_symbols_only),
      cmocka_unit_test(test_exported_symbols_only),
      cmocka_unit_test(test_files_that_are_not_libraries),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
