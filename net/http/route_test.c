// SPDX-License-Identifier: Apache-2.0
#include "http/route.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static enum target_result result_of(const char *text)
{
  struct target target;
  enum target_result result = target_parse(text, &target);
  target_done(&target);
  return result;
}

static void test_targets(void **state)
{
  struct target target;
  (void)state;
  assert_int_equal(target_parse("/files/a%2Fb.xsp/page?top=3&q=a+b%26c&flag&=", &target), TARGET_DONE);
  assert_int_equal(target.segment_count, 3);
  assert_string_equal(target.segments[0], "files");
  assert_string_equal(target.segments[1], "a/b.xsp"); // one segment: an encoded slash separates nothing
  assert_string_equal(target_value(&target, "top"), "3");
  assert_string_equal(target_value(&target, "q"), "a b&c");
  assert_string_equal(target_value(&target, "flag"), "");
  assert_null(target_value(&target, "other"));
  target_done(&target);
  static const char *const broken[] = {"",     "files",  "http:///b", "*",     "/%",        "/%4",  "/%zz",
                                       "/%00", "/a%0ab", "/%ff",      "/?a=%", "/?a=1&a=2", "/?%01"};
  for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++)
    assert_int_equal(result_of(broken[i]), TARGET_BROKEN);
}

static void test_targets_with_an_authority(void **state)
{
  static const struct {
    const char *text, *authority, *first, *value;
  } cases[] = {{"http://localhost:4318/files?top=3", "localhost:4318", "files", "3"},
               {"HTTPS://a.example/", "a.example", "", NULL},
               {"http://[::1]", "[::1]", "", NULL},
               {"http://h?top=4", "h", "", "4"},
               {"http://user@h/x", "user@h", "x", NULL},
               {"/http://h/x", NULL, "http:", NULL}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct target target;
    assert_int_equal(target_parse(cases[i].text, &target), TARGET_DONE);
    assert_string_equal(target.authority != NULL ? target.authority : "none",
                        cases[i].authority != NULL ? cases[i].authority : "none");
    assert_string_equal(target.segments[0], cases[i].first);
    const char *value = target_value(&target, "top");
    assert_string_equal(value != NULL ? value : "none", cases[i].value != NULL ? cases[i].value : "none");
    target_done(&target);
  }
  assert_int_equal(result_of("ftp://h/x"), TARGET_BROKEN);
}

static void test_long_targets(void **state)
{
  char text[TARGET_BYTES_MOST + 2];
  (void)state;
  memset(text, 'a', sizeof text);
  text[0] = '/';
  text[TARGET_BYTES_MOST] = 0;
  assert_int_equal(result_of(text), TARGET_DONE);
  text[TARGET_BYTES_MOST] = 'a';
  text[TARGET_BYTES_MOST + 1] = 0;
  assert_int_equal(result_of(text), TARGET_TOO_LONG);
  assert_int_equal(result_of("/1/2/3/4/5/6/7/8/9/10/11/12"), TARGET_DONE);
  assert_int_equal(result_of("/1/2/3/4/5/6/7/8/9/10/11/12/13"), TARGET_TOO_LONG);
  char *to = stpcpy(text, "/?");
  for (unsigned i = 0; i <= TARGET_PARAMETERS_MOST; i++) {
    to[0] = (char)('A' + i / 26);
    to[1] = (char)('a' + i % 26);
    to[2] = '&';
    to[3] = 0;
    to += 3;
  }
  assert_int_equal(result_of(text), TARGET_TOO_LONG);
}

static bool matches(const char *pattern, const char *path, const char **ret_first)
{
  static struct target target; // what *ret_first is in
  const char *parts[ROUTE_PARTS_MOST] = {NULL};
  target_done(&target);
  assert_int_equal(target_parse(path, &target), TARGET_DONE);
  bool found = route_matches(pattern, &target, parts);
  *ret_first = parts[0];
  return found;
}

static void test_patterns(void **state)
{
  static const char *const wrong[] = {
      "/files/a",         "/files/.xsp",   "/files/.a.xsp", "/files/-a.xsp", "/files/a%2fb.xsp", "/files/..%2fa.xsp",
      "/files/a%20b.xsp", "/files/a.xsp/", "/files//a.xsp", "/files",        "/files/",          "/Files/a.xsp"};
  const char *first;
  (void)state;
  assert_true(matches("/files/{file}", "/files/a_B-1.2.xsp", &first));
  assert_string_equal(first, "a_B-1.2.xsp");
  assert_true(matches("/files/{file}", "/files/%61.xsp", &first));
  assert_string_equal(first, "a.xsp");
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
    assert_false(matches("/files/{file}", wrong[i], &first));
  assert_true(matches("/a/{name}/b", "/a/A2/b", &first));
  assert_false(matches("/a/{name}/b", "/a/A2/c", &first));
  assert_true(matches("/", "/", &first));
  assert_false(matches("/", "//", &first));
}

static void test_methods(void **state)
{
  struct target target;
  const char *parts[ROUTE_PARTS_MOST];
  struct buf methods = {0};
  static const struct route routes[] = {
      {.method = "POST", .path = "/v1/traces"}, {.method = "GET", .path = "/api/v1/files"}, {0}};
  (void)state;
  assert_int_equal(target_parse("/v1/traces", &target), TARGET_DONE);
  assert_non_null(route_find(routes, "POST", &target, parts, &methods));
  assert_null(route_find(routes, "GET", &target, parts, &methods));
  assert_string_equal(methods.data, "POST");
  target_done(&target);
  buf_clear(&methods);
  assert_int_equal(target_parse("/api/v1/files", &target), TARGET_DONE);
  assert_ptr_equal(route_find(routes, "HEAD", &target, parts, &methods),
                   route_find(routes, "GET", &target, parts, &methods));
  assert_null(route_find(routes, "DELETE", &target, parts, &methods));
  assert_string_equal(methods.data, "GET, HEAD");
  target_done(&target);
  buf_done(&methods);
}

static void test_parameters(void **state)
{
  static const struct route_parameter parameters[] = {{"top", ROUTE_INTEGER, ""}, {"part", ROUTE_NUMBER, ""},
                                                      {"most", ROUTE_COUNT, ""},  {"all", ROUTE_FLAG, ""},
                                                      {"q", ROUTE_TEXT, ""},      {0}};
  static const struct route route = {.parameters = parameters}, without = {0};
  static const char *const right[] = {"/",        "/?top=-3&part=0.5&all=true&q=%C3%A4", "/?all=false&part=1e3", "/?q=",
                                      "/?most=0", "/?most=9223372036854775807"};
  static const char *const wrong[] = {"/?other=1",
                                      "/?top=",
                                      "/?top=3x",
                                      "/?top=99999999999999999999",
                                      "/?part=nan",
                                      "/?part=+1",
                                      "/?part=",
                                      "/?part=inf",
                                      "/?all=1",
                                      "/?all",
                                      "/?most=-1",
                                      "/?most=9223372036854775808",
                                      "/?most=-9223372036854775809",
                                      "/?top=9223372036854775808"};
  struct target target;
  const char *name;
  (void)state;
  for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
    assert_int_equal(target_parse(right[i], &target), TARGET_DONE);
    assert_null(route_check_parameters(&route, &target, &name));
    target_done(&target);
  }
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    assert_int_equal(target_parse(wrong[i], &target), TARGET_DONE);
    assert_non_null(route_check_parameters(&route, &target, &name));
    assert_non_null(route_check_parameters(&without, &target, &name));
    target_done(&target);
  }
}

static void test_required_parameters(void **state)
{
  static const struct route_parameter parameters[] = {
      {"q", ROUTE_INTEGER | ROUTE_REQUIRED, ""}, {"top", ROUTE_INTEGER, ""}, {0}};
  static const struct route route = {.parameters = parameters};
  static const struct {
    const char *text, *name; // NULL: nothing is wrong
  } cases[] = {{"/?q=1", NULL},  {"/?top=1&q=1", NULL}, {"/", "q"},
               {"/?top=1", "q"}, {"/?q=x", "q"},        {"/?top=x", "top"}};
  struct target target;
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const char *name = NULL;
    assert_int_equal(target_parse(cases[i].text, &target), TARGET_DONE);
    const char *problem = route_check_parameters(&route, &target, &name);
    assert_int_equal(problem == NULL, cases[i].name == NULL);
    if (problem != NULL)
      assert_string_equal(name, cases[i].name);
    target_done(&target);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_targets),
      cmocka_unit_test(test_long_targets),
      cmocka_unit_test(test_patterns),
      cmocka_unit_test(test_methods),
      cmocka_unit_test(test_parameters),
      cmocka_unit_test(test_required_parameters),
      cmocka_unit_test(test_targets_with_an_authority),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
