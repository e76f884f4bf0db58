// SPDX-License-Identifier: Apache-2.0
// When a stopped xsp goes on: its program was continued alone, or never stops; not while the program is about to stop.
#include "launch/watch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_only_the_program_was_continued(void **state)
{
  struct watch watch = {0};
  assert_false(watch_look(&watch, 5, true));
  assert_false(watch_look(&watch, 5, true));
  assert_true(watch_look(&watch, 5, false));
}

// ^Z, fg, ^Z: the second stop has reached xsp and not yet the program.
static void test_the_program_is_about_to_stop(void **state)
{
  struct watch watch = {0};
  assert_false(watch_look(&watch, 5, true));
  assert_false(watch_look(&watch, 6, false));
  assert_false(watch_look(&watch, 6, true));
  assert_true(watch_look(&watch, 6, false));
}

static void test_xsp_was_continued_itself(void **state)
{
  struct watch watch = {0};
  assert_false(watch_look(&watch, 0, false));
  assert_false(watch_look(&watch, 5, true));
  assert_false(watch_look(&watch, 0, false));
}

static void test_the_program_catches_the_signal(void **state)
{
  struct watch watch = {0};
  for (unsigned look = 0; look < WATCH_LOOKS; look++)
    assert_false(watch_look(&watch, 5, false));
  assert_true(watch_look(&watch, 5, false));
  for (unsigned look = 0; look < WATCH_LOOKS; look++) // in the next stop again
    assert_false(watch_look(&watch, 6, false));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_only_the_program_was_continued),
      cmocka_unit_test(test_the_program_is_about_to_stop),
      cmocka_unit_test(test_xsp_was_continued_itself),
      cmocka_unit_test(test_the_program_catches_the_signal),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
