// SPDX-License-Identifier: Apache-2.0
// The search order for a framework's library, on libraries that every machine has (libz is none of ours).
#include "base/library.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const struct library_names names = {
    .name = "example",
    .sonames = (const char *const[]){"libutil.so.1", NULL},
    .package_glob = "example/libexample.so*",
    .advice = "install it",
};

static int clean(void **state)
{
  unsetenv("XSP_LIBRARY_EXAMPLE");
  unsetenv("VIRTUAL_ENV");
  return setenv("PATH", "/nowhere", 1); // no python3
}

static void a_given_path_is_final(void **state)
{
  struct library library;
  struct error err = {0};
  assert_int_equal(library_open(&names, "/nowhere/lib.so", &library, &err), STATUS_SYSTEM);
  assert_string_equal(err.where, "/nowhere/lib.so");
  assert_non_null(strstr(err.advice, "--library example=PATH"));
  assert_non_null(strstr(err.advice, "XSP_LIBRARY_EXAMPLE=PATH"));
  setenv("XSP_LIBRARY_EXAMPLE", "/elsewhere/lib.so", 1);
  assert_int_equal(library_open(&names, NULL, &library, &err), STATUS_SYSTEM);
  assert_string_equal(err.where, "/elsewhere/lib.so");
  // The option wins over the environment.
  assert_int_equal(library_open(&names, "/nowhere/lib.so", &library, &err), STATUS_SYSTEM);
  assert_string_equal(err.where, "/nowhere/lib.so");
  // A name is a path, not something to search for.
  assert_int_equal(library_open(&names, "libutil.so.1", &library, &err), STATUS_SYSTEM);
}

static void the_system_comes_last(void **state)
{
  struct library library;
  assert_int_equal(library_open(&names, NULL, &library, NULL), STATUS_OK);
  assert_non_null(library.handle);
  assert_string_equal(library.route, "system");
  assert_non_null(strstr(library.path, "libutil.so.1"));
}

static void what_is_loaded_comes_first(void **state)
{
  struct library_names loaded = names;
  loaded.sonames = (const char *const[]){"libc.so.6", NULL};
  struct library library;
  assert_int_equal(library_open(&loaded, NULL, &library, NULL), STATUS_OK);
  assert_string_equal(library.route, "already loaded");
}

// Of several names, that which the process has: a second library next to it would have data of its own.
static void what_is_loaded_comes_before_other_names(void **state)
{
  struct library_names either = names;
  either.package_glob = NULL;
  either.sonames = (const char *const[]){"libutil.so.1", "libc.so.6", NULL};
  struct library library;
  assert_null(dlopen("libutil.so.1", RTLD_NOW | RTLD_NOLOAD));
  assert_int_equal(library_open(&either, NULL, &library, NULL), STATUS_OK);
  assert_string_equal(library.route, "already loaded");
}

// Copies a small library of the system to where a Python package would have it.
static void make_environment(char *folder)
{
  char command[1024];
  assert_non_null(mkdtemp(folder));
  void *handle = dlopen("libanl.so.1", RTLD_NOW);
  assert_non_null(handle);
  dlclose(handle);
  snprintf(command, sizeof command,
           "PATH=/usr/bin:/bin; d=%s/lib/python3.11/site-packages/example; mkdir -p $d && "
           "cp $(ls /lib/*/libanl.so.1 /usr/lib*/libanl.so.1 2>/dev/null | head -1) $d/libexample.so.1",
           folder);
  assert_int_equal(system(command), 0);
}

static void remove_environment(const char *folder)
{
  char command[1024];
  snprintf(command, sizeof command, "PATH=/usr/bin:/bin; rm -rf %s", folder);
  assert_int_equal(system(command), 0);
}

static void the_active_python_environment_is_looked_into(void **state)
{
  char folder[] = "/tmp/xsp-library-test-XXXXXX";
  make_environment(folder);
  setenv("VIRTUAL_ENV", folder, 1);
  struct library library;
  struct library_names unloaded = names;
  unloaded.sonames = (const char *const[]){"libnothing-of-this-name.so", NULL};
  assert_int_equal(library_open(&unloaded, NULL, &library, NULL), STATUS_OK);
  assert_string_equal(library.route, "python environment");
  assert_non_null(strstr(library.path, "example/libexample.so.1"));
  remove_environment(folder);
}

// An environment, its packages, and an installation that has the library itself (in lib/) stand for the library in them.
static void a_given_folder_is_looked_into(void **state)
{
  char folder[] = "/tmp/xsp-library-test-XXXXXX", packages[128], interpreter[128];
  make_environment(folder);
  snprintf(packages, sizeof packages, "%s/lib/python3.11/site-packages", folder);
  snprintf(interpreter, sizeof interpreter, "%s/bin/python3.11", folder);
  struct library library;
  struct error err = {0};
  const char *const given[] = {folder, packages, interpreter};
  for (size_t i = 0; i < sizeof given / sizeof given[0]; i++) {
    assert_int_equal(library_open(&names, given[i], &library, NULL), STATUS_OK);
    assert_string_equal(library.route, "given");
    assert_non_null(strstr(library.path, "example/libexample.so.1"));
  }
  struct library_names installed = names;
  installed.sonames = (const char *const[]){"python3.11/site-packages/example/libexample.so.1", NULL};
  installed.package_glob = NULL;
  assert_int_equal(library_open(&installed, folder, &library, NULL), STATUS_OK);
  // A folder without it is final, too, though the system has the library.
  snprintf(packages, sizeof packages, "%s/lib/python3.11/site-packages/example", folder);
  assert_int_equal(library_open(&names, packages, &library, &err), STATUS_SYSTEM);
  assert_string_equal(err.where, packages);
  assert_non_null(strstr(err.why, "no example that opens"));
  remove_environment(folder);
}

static void the_error_names_all_places(void **state)
{
  struct library_names nowhere = names;
  nowhere.sonames = (const char *const[]){"libnothing-of-this-name.so", NULL};
  setenv("VIRTUAL_ENV", "/nowhere/environment", 1);
  struct library library;
  struct error err = {0};
  assert_int_equal(library_open(&nowhere, NULL, &library, &err), STATUS_SYSTEM);
  assert_string_equal(err.where, "example");
  assert_non_null(strstr(err.why, "/nowhere/environment"));
  assert_non_null(strstr(err.why, "python3"));
  assert_non_null(strstr(err.why, "loader"));
  assert_string_equal(err.advice, "install it; or XSP_LIBRARY_EXAMPLE=PATH");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(a_given_path_is_final, clean),
      cmocka_unit_test_setup(the_active_python_environment_is_looked_into, clean),
      cmocka_unit_test_setup(a_given_folder_is_looked_into, clean),
      cmocka_unit_test_setup(the_error_names_all_places, clean),
      cmocka_unit_test_setup(what_is_loaded_comes_before_other_names, clean), // before libutil is
      cmocka_unit_test_setup(the_system_comes_last, clean),
      cmocka_unit_test_setup(what_is_loaded_comes_first, clean),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
