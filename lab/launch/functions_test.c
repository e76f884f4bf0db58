// SPDX-License-Identifier: Apache-2.0
// xsp's side of --functions: errors with file and line, levels of a list, messages of several processes.
#include "launch/functions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xsp/span.h>

#include <cmocka.h>

static char path[] = "/tmp/xsp-functions-test-XXXXXX";

static void write_list(const char *text)
{
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
}

static void test_errors(void **state)
{
  struct error err = {0};
  char line[2048];
  write_list("cblas_sgemm\ncblas_sgemm level high\n");
  assert_int_equal(functions_file_check(path, &err), STATUS_INPUT);
  error_line(&err, line, sizeof line);
  assert_non_null(strstr(line, ":2: 'high' is no level"));
  write_list("a\nlib:a\nb\na\n");
  assert_int_equal(functions_file_check(path, &err), STATUS_INPUT);
  error_line(&err, line, sizeof line);
  assert_non_null(strstr(line, ":4: 'a' is in line 1 already"));
  write_list("# nothing\n");
  assert_int_equal(functions_file_check(path, &err), STATUS_INPUT);
  assert_int_equal(functions_file_check("/nowhere/list", &err), STATUS_INPUT);
  write_list("vfork\n");
  assert_int_equal(functions_file_check(path, &err), STATUS_INPUT);
  error_line(&err, line, sizeof line);
  assert_non_null(strstr(line, ":1: 'vfork' cannot be traced: it returns twice"));
}

static void test_levels(void **state)
{
  write_list("a\nb level kernel\nc level layer\n");
  assert_int_equal(functions_file_check(path, NULL), STATUS_OK);
  assert_int_equal(functions_file_levels(path), XSP_LEVEL_MASK(XSP_LEVEL_LIBRARY) | XSP_LEVEL_MASK(XSP_LEVEL_KERNEL) |
                                                    XSP_LEVEL_MASK(XSP_LEVEL_LAYER));
  assert_int_equal(functions_file_levels("/nowhere/list"), 0);
}

static const char *together(const char *messages)
{
  static char text[4096];
  struct arena arena = {0};
  char *exact = strdup(messages); // address sanitizer watches its end
  assert_non_null(exact);
  snprintf(text, sizeof text, "%s", functions_file_put_together(path, exact, &arena));
  arena_done(&arena);
  free(exact);
  return text;
}

static void test_together(void **state)
{
  write_list("a\nb\nc\n");
  const char *one = "nvtx: x\nfunctions: found 2 of 3, 2 functions, called 1; not found: b\nitt: y\n";
  assert_string_equal(together(one), one);
  assert_string_equal(together("functions: found 0 of 3, 0 functions, called 0; not found: a, b, c\n"
                               "nvtx: x\nfunctions: found 1 of 3, 1 functions, called 1; not found: b, c\nitt: y"),
                      "nvtx: x\nitt: y\nfunctions: 2 processes looked for 3; not found in any: b, c");
  assert_string_equal(together("functions: found 2 of 3, 2 functions, called 1; not found: a\n"
                               "functions: found 1 of 3, 1 functions, called 1; not found: b, c\n"),
                      "functions: 2 processes looked for 3");
  // A list that was cut lacks what it does not show, unless another process has it.
  assert_string_equal(together("functions: found 1 of 3, 2 functions, called 1; not found: a, …\n"
                               "functions: found 0 of 3, 0 functions, called 0; not found: a, b, c\n"),
                      "functions: 2 processes looked for 3; not found in any: a, b, c");
  assert_string_equal(together(""), "");
}

int main(void)
{
  int file = mkstemp(path);
  if (file < 0)
    return 1;
  close(file);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_errors),
      cmocka_unit_test(test_levels),
      cmocka_unit_test(test_together),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  unlink(path);
  return failed;
}
