// SPDX-License-Identifier: Apache-2.0
// Slices: comparison, cutting at a byte, trimming. Copies are exact, for sanitizers.
#include "base/slice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void compares(void **state)
{
  (void)state;
  struct slice ab = {"abc", 2};
  assert_true(slice_is(ab, "ab"));
  assert_false(slice_is(ab, "abc"));
  assert_false(slice_is(ab, "ac"));
  assert_true(slice_equal(slice_of(NULL), slice_of("")));
  assert_true(slice_starts_with(ab, "a"));
  assert_true(slice_starts_with(ab, ""));
  assert_false(slice_starts_with(ab, "abc"));
  assert_true(slice_starts_with(slice_of(NULL), ""));
}

// What an empty body of a request or a reply is; sanitizers see what hands NULL on.
static void takes_no_bytes_at_null(void **state)
{
  (void)state;
  struct slice none = {NULL, 0}, rest = none, part;
  int64_t number = 1;
  assert_true(slice_is(none, ""));
  assert_false(slice_starts_with(none, "a"));
  assert_false(slice_ends_with(none, "a"));
  assert_false(slice_contains(none, "a"));
  assert_false(slice_int64(none, &number));
  assert_false(slice_cut(&rest, ',', &part));
  assert_int_equal(slice_trim(none).length, 0);
}

static void cuts(void **state)
{
  (void)state;
  struct slice rest = slice_of("M,L,,K,"), part;
  const char *const parts[] = {"M", "L", "", "K", ""};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    assert_true(slice_cut(&rest, ',', &part));
    assert_true(slice_is(part, parts[i]));
  }
  assert_false(slice_cut(&rest, ',', &part));
  rest = slice_of("");
  assert_true(slice_cut(&rest, ',', &part));
  assert_int_equal(part.length, 0);
  assert_false(slice_cut(&rest, ',', &part));
}

static void trims(void **state)
{
  (void)state;
  assert_true(slice_is(slice_trim(slice_of(" \t a b\r\n")), "a b"));
  assert_true(slice_is(slice_trim(slice_of(" \n ")), ""));
  assert_true(slice_is(slice_trim(slice_of(NULL)), ""));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(compares),
      cmocka_unit_test(takes_no_bytes_at_null),
      cmocka_unit_test(cuts),
      cmocka_unit_test(trims),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
