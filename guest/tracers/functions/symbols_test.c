// SPDX-License-Identifier: Apache-2.0
// Symbols found in memory against the loader's own answers, in every library of this process and in ones with either kind of
// hash table; and the little system underneath.
#include "tracers/functions/symbols.h"

#include "tracers/functions/system.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static struct link_map *map_of(void *library)
{
  struct link_map *map = NULL;
  assert_int_equal(dlinfo(library, RTLD_DI_LINKMAP, &map), 0);
  return map;
}

// Every defined function of the library is found by its name, with its own index among the answers.
static unsigned find_all(const struct symbols *symbols)
{
  unsigned functions = 0;
  uint32_t count = functions_symbols_count(symbols);
  for (uint32_t i = 1; i < count; i++) {
    if (!functions_symbols_is_function(&symbols->table[i]))
      continue;
    functions++;
    uint32_t found = 0;
    do
      found = functions_symbols_next(symbols, symbols->strings + symbols->table[i].st_name, found);
    while (found != 0 && found != i);
    if (symbols->gnu_hash == NULL || i >= symbols->gnu_hash[1])
      assert_int_equal(found, i);
  }
  return functions;
}

static void test_all_libraries(void **state)
{
  unsigned libraries = 0, functions = 0;
  for (struct link_map *map = map_of(dlopen(NULL, RTLD_NOW)); map != NULL; map = map->l_next) {
    struct symbols symbols;
    if (strstr(map->l_name, "vdso") != NULL || !functions_symbols_open(map, &symbols))
      continue;
    libraries++;
    functions += find_all(&symbols);
    assert_int_equal(functions_symbols_next(&symbols, "no_such_function_anywhere", 0), 0);
    assert_int_equal(functions_symbols_next(&symbols, "", 0), 0);
  }
  assert_true(libraries >= 2 && functions > 1000); // libc alone has more
}

static void test_against_dlsym(void **state)
{
  void *library = dlopen("libc.so.6", RTLD_NOW);
  struct symbols symbols;
  assert_true(functions_symbols_open(map_of(library), &symbols));
  assert_string_equal(symbols.soname, "libc.so.6");
  static const char *const names[] = {"snprintf", "qsort", "getenv", "pthread_create", "dlopen"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    bool is_there = false;
    for (uint32_t at = 0; (at = functions_symbols_next(&symbols, names[i], at)) != 0;)
      is_there = is_there || (char *)symbols.base + symbols.table[at].st_value == dlsym(library, names[i]);
    assert_true(is_there);
  }
}

static void test_both_hashes(void **state)
{
  for (int sysv = 0; sysv < 2; sysv++) {
    char path[4096];
    snprintf(path, sizeof path, "%s/test-programs/%s", getenv("XSP_BUILD"), sysv ? "zoo_sysv.so" : "libzoo.so");
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    struct symbols symbols;
    assert_true(functions_symbols_open(map_of(library), &symbols));
    if (sysv)
      assert_null(symbols.gnu_hash);
    assert_true(find_all(&symbols) >= 20);
    uint32_t at = functions_symbols_next(&symbols, "zoo_deep", 0);
    assert_true(at != 0);
    assert_ptr_equal((char *)symbols.base + symbols.table[at].st_value, dlsym(library, "zoo_deep"));
    assert_int_equal(functions_symbols_next(&symbols, "zoo_deep", at), 0);
    assert_int_equal(functions_symbols_next(&symbols, "printf", 0), 0); // not its own
    dlclose(library);
  }
}

static void test_memory(void **state)
{
  char *page = functions_system_map(8192);
  assert_non_null(page);
  assert_true(system_is_readable(page) && functions_system_is_writable(page));
  assert_int_equal(mprotect(page, 4096, PROT_READ), 0);
  assert_true(system_is_readable(page) && !functions_system_is_writable(page));
  assert_true(functions_system_is_writable(page + 4096));
  assert_int_equal(mprotect(page, 4096, PROT_NONE), 0);
  assert_false(system_is_readable(page) || functions_system_is_writable(page));
  functions_system_unmap(page, 8192);
  assert_false(system_is_readable(page));
}

static void test_environment(void **state)
{
  assert_string_equal(functions_system_environment("XSP_BUILD"), getenv("XSP_BUILD"));
  assert_null(functions_system_environment("XSP_BUIL"));
  assert_null(functions_system_environment("XSP_BUILD_"));
  assert_non_null(strstr(functions_system_program_path(), "symbols_test"));
}

static void test_files(void **state)
{
  char path[] = "/tmp/xsp-symbols-test-XXXXXX", text[16];
  int file = mkstemp(path);
  assert_int_equal(write(file, "0123456789", 10), 10);
  close(file);
  assert_int_equal(functions_system_read_file(path, text, sizeof text), 10);
  assert_memory_equal(text, "0123456789", 10);
  assert_int_equal(functions_system_read_file(path, text, 4), 4);
  unlink(path);
  assert_true(functions_system_read_file(path, text, sizeof text) < 0);
  assert_true(functions_system_read_file("/", text, sizeof text) < 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_all_libraries), cmocka_unit_test(test_against_dlsym), cmocka_unit_test(test_both_hashes),
      cmocka_unit_test(test_memory),        cmocka_unit_test(test_environment),   cmocka_unit_test(test_files),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
