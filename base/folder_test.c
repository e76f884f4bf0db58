// SPDX-License-Identifier: Apache-2.0
#include "base/folder.h"

#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define DEEP 3000 // paths of it are longer than PATH_MAX

static char outer[] = "/tmp/xsp-folder-XXXXXX";

static void put(int folder, const char *name)
{
  int file = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL, 0600);
  assert_true(file >= 0);
  close(file);
}

static int make(int folder, const char *name)
{
  assert_int_equal(mkdirat(folder, name, 0700), 0);
  int inner = openat(folder, name, O_RDONLY | O_DIRECTORY);
  assert_true(inner >= 0);
  return inner;
}

static bool is_there(int folder, const char *name)
{
  return faccessat(folder, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

// Deep, with a folder that forbids to change it, names that removal uses, and links that lead out.
static void test_tree(void **state)
{
  (void)state;
  char path[PATH_MAX];
  int base = open(outer, O_RDONLY | O_DIRECTORY);
  int tree = make(base, "tree"), kept = make(base, "kept");
  put(kept, "file");
  assert_int_equal(symlinkat("../kept", tree, "link"), 0);
  assert_int_equal(symlinkat("/", tree, "root"), 0);
  put(tree, "xsp-removed-1");
  close(make(tree, "xsp-removed-2"));
  int locked = make(tree, "locked");
  close(make(locked, "inside"));
  put(locked, "file");
  assert_int_equal(fchmod(locked, 0500), 0);
  int at = dup(tree);
  for (int i = 0; i < DEEP; i++) {
    int inner = make(at, "a");
    put(inner, "file");
    assert_int_equal(symlinkat("../../kept", inner, "link"), 0);
    close(at);
    at = inner;
  }
  snprintf(path, sizeof path, "%s/tree", outer);
  folder_remove_tree(path);
  assert_false(is_there(base, "tree"));
  assert_true(is_there(kept, "file"));
  close(at);
  close(locked);
  close(kept);
  close(tree);
  close(base);
}

static void test_what_is_no_folder(void **state)
{
  (void)state;
  char path[PATH_MAX];
  int base = open(outer, O_RDONLY | O_DIRECTORY);
  put(base, "file");
  assert_int_equal(symlinkat("kept", base, "link"), 0);
  const char *const names[] = {"file", "link", "missing"};
  for (size_t i = 0; i < 3; i++) {
    snprintf(path, sizeof path, "%s/%s", outer, names[i]);
    folder_remove_tree(path);
    assert_false(is_there(base, names[i]));
  }
  assert_true(is_there(base, "kept/file"));
  snprintf(path, sizeof path, "%s/kept/.", outer); // its content only
  folder_remove_tree(path);
  assert_true(is_there(base, "kept"));
  assert_false(is_there(base, "kept/file"));
  close(base);
  folder_remove_tree(outer);
  assert_int_not_equal(access(outer, F_OK), 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_tree), cmocka_unit_test(test_what_is_no_folder)};
  return mkdtemp(outer) == NULL || cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
