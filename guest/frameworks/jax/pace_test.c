// SPDX-License-Identifier: Apache-2.0
// Parts and pauses of JAX's profile, over programs whose events take a known time to write.
#include "frameworks/jax/pace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

struct program {
  double write_s, bytes; // for a second of recording
  double fixed_s;        // for each part
};
struct course {
  double passed_s, recorded_s, write_s, longest_write_s;
};

static struct pace start(double limit_bytes)
{
  return (struct pace){.cost = 0.1, .limit_bytes = limit_bytes, .part_seconds = 5, .growth_bytes = PACE_GROWTH_BYTES};
}

static struct course run(struct pace *pace, struct program program, double seconds)
{
  struct course course = {0};
  while (course.passed_s < seconds) {
    double part_s = pace->part_seconds, write_s = part_s * program.write_s + program.fixed_s;
    jax_pace_wrote(pace, &(struct pace_part){part_s, write_s, part_s * program.bytes, 0});
    course.passed_s += part_s + write_s + pace->pause_seconds;
    course.recorded_s += part_s;
    course.write_s += write_s;
    course.longest_write_s = write_s > course.longest_write_s ? write_s : course.longest_write_s;
  }
  return course;
}

static void test_long_steps_have_no_pauses(void **unused)
{
  (void)unused;
  struct pace pace = start(1e12);
  struct course course = run(&pace, (struct program){.write_s = 0.01, .bytes = 1e5}, 600);
  assert_true(course.recorded_s + course.write_s == course.passed_s);
  assert_true(course.longest_write_s <= PACE_WRITE_SECONDS);
}

static void test_tiny_steps_cost_their_share(void **unused)
{
  (void)unused;
  struct pace pace = start(1e12);
  pace.part_seconds = 0.02; // it ended early: the process grew
  struct course course = run(&pace, (struct program){.write_s = 7, .bytes = 1e8}, 60);
  assert_true(course.write_s <= 0.11 * course.passed_s);
  assert_true(course.longest_write_s <= PACE_WRITE_SECONDS * 1.01);
  assert_true(course.recorded_s >= 0.01 * course.passed_s);
}

static void test_modules_that_take_long_have_long_parts(void **unused)
{
  (void)unused;
  struct pace pace = start(1e12);
  struct course course = run(&pace, (struct program){.write_s = 0.001, .fixed_s = 1}, 600);
  assert_true(course.write_s <= 0.11 * course.passed_s);
  assert_true(course.recorded_s >= 0.5 * course.passed_s);
}

static void test_a_limit_lasts(void **unused)
{
  (void)unused;
  struct pace pace = start(128e6);
  (void)run(&pace, (struct program){.write_s = 0.07, .bytes = 1e6}, 60);
  double first_bytes = pace.written_bytes;
  (void)run(&pace, (struct program){.write_s = 0.07, .bytes = 1e6}, 36000);
  assert_true(first_bytes > 30e6);
  assert_true(pace.written_bytes > 100e6 && pace.written_bytes < pace.limit_bytes);
}

static void test_memory_of_the_program_itself(void **unused)
{
  (void)unused;
  struct pace pace = start(1e12);
  jax_pace_wrote(&pace, &(struct pace_part){1, 0.01, 2e6, PACE_GROWTH_BYTES + 1}); // some of it was events
  assert_int_equal(pace.growth_bytes, PACE_GROWTH_BYTES);
  jax_pace_wrote(&pace, &(struct pace_part){1, 0.01, 1e5, 1 << 30});
  assert_true(pace.growth_bytes > 1 << 30);
}

// As in a locale with a decimal comma, which the machine may lack.
double strtod(const char *text, char **ret_end)
{
  return (double)strtol(text, ret_end, 10);
}

static void test_numbers_of_options(void **state)
{
  assert_true(jax_pace_number("2.5", 10) == 2.5);
  assert_true(jax_pace_number("0.5", 10) == 0.5);
  assert_true(jax_pace_number("1e9", 10) == 1e9);
  assert_true(jax_pace_number("0", 10) == 10 && jax_pace_number("-1", 10) == 10 && jax_pace_number("much", 10) == 10 &&
              jax_pace_number("nan", 10) == 10 && jax_pace_number(NULL, 10) == 10);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_long_steps_have_no_pauses),
      cmocka_unit_test(test_tiny_steps_cost_their_share),
      cmocka_unit_test(test_modules_that_take_long_have_long_parts),
      cmocka_unit_test(test_a_limit_lasts),
      cmocka_unit_test(test_memory_of_the_program_itself),
      cmocka_unit_test(test_numbers_of_options),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
