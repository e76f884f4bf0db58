// SPDX-License-Identifier: Apache-2.0
// Joining two executions: what is found, what is left and for which reason.
#include "correlate/join.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
enum { CONV = 1, RELU, GEMM, BIAS }; // names
#define NONE JOIN_NO_ROW
#define LAYER(name, start, end)                                                                                        \
  {                                                                                                                    \
    name, NONE, 0, 1, start, end, XSP_LEVEL_LAYER, XSP_KIND_SYNC, BASIS_NONE                                           \
  }
#define LAUNCH(name, parent, start, basis)                                                                             \
  {                                                                                                                    \
    name, parent, 0, 1, start, (start) + 1, XSP_LEVEL_KERNEL, XSP_KIND_LAUNCH, basis                                   \
  }
#define AMBIGUOUS(name, start) LAUNCH(name, NONE, start, BASIS_AMBIGUOUS)
#define INSIDE(name, parent, start) LAUNCH(name, parent, start, BASIS_CONTAINMENT)

struct joined {
  struct arena arena;
  struct join_answer answer;
};

static struct joined join(const struct join_span *original, size_t original_count, const struct join_span *serial,
                          size_t serial_count)
{
  struct joined joined = {0};
  const struct join_side sides[2] = {{original, original_count}, {serial, serial_count}};
  join_executions(&sides[0], &sides[1], &joined.arena, &joined.answer);
  size_t left = 0;
  for (unsigned reason = 0; reason < JOIN_REASONS; reason++)
    left += joined.answer.left[reason];
  assert_int_equal(joined.answer.ambiguous, joined.answer.link_count + left);
  return joined;
}
#define JOIN(original, serial) join(original, COUNT(original), serial, COUNT(serial))

// conv and relu cross; each launches gemm twice and conv a bias.
static const struct join_span crossing[] = {LAYER(CONV, 0, 100), LAYER(RELU, 50, 150), INSIDE(GEMM, 0, 10),
                                            AMBIGUOUS(GEMM, 60), AMBIGUOUS(GEMM, 70),  AMBIGUOUS(BIAS, 80),
                                            INSIDE(GEMM, 1, 120)};
static const struct join_span one_by_one[] = {LAYER(CONV, 0, 90),  INSIDE(GEMM, 0, 10),   INSIDE(GEMM, 0, 20),
                                              INSIDE(BIAS, 0, 30), LAYER(RELU, 100, 190), INSIDE(GEMM, 4, 110),
                                              INSIDE(GEMM, 4, 120)};

static void test_crossing_layers(void **state)
{
  (void)state;
  struct joined joined = JOIN(crossing, one_by_one);
  static const struct join_link expected[] = {{3, 0}, {4, 1}, {5, 0}};
  assert_int_equal(joined.answer.link_count, COUNT(expected));
  assert_memory_equal(joined.answer.links, expected, sizeof expected);
  arena_done(&joined.arena);
}

static void test_other_counts_leave_that_name_alone(void **state)
{
  (void)state;
  struct joined joined = join(crossing, COUNT(crossing), one_by_one, COUNT(one_by_one) - 1); // a gemm is missing
  assert_int_equal(joined.answer.link_count, 1);
  assert_int_equal(joined.answer.links[0].row, 5);
  assert_int_equal(joined.answer.left[JOIN_COUNTS], 2);
  arena_done(&joined.arena);
}

static void test_other_counts_of_the_parent(void **state)
{
  (void)state;
  static const struct join_span serial[] = {LAYER(CONV, 0, 90), LAYER(CONV, 91, 95), INSIDE(BIAS, 0, 30)};
  struct joined joined = JOIN(crossing, serial);
  assert_int_equal(joined.answer.link_count, 0);
  assert_int_equal(joined.answer.left[JOIN_COUNTS], 3);
  arena_done(&joined.arena);
}

static void test_known_parents_contradict(void **state)
{
  (void)state;
  // relu went first: the first gemm here is relu's, there conv's.
  static const struct join_span serial[] = {LAYER(RELU, 0, 90),    INSIDE(GEMM, 0, 10),  INSIDE(GEMM, 0, 20),
                                            LAYER(CONV, 100, 190), INSIDE(GEMM, 3, 110), INSIDE(GEMM, 3, 120),
                                            INSIDE(BIAS, 3, 130)};
  struct joined joined = JOIN(crossing, serial);
  assert_int_equal(joined.answer.link_count, 1); // the bias
  assert_int_equal(joined.answer.left[JOIN_ORDER], 2);
  arena_done(&joined.arena);
}

static void test_a_parent_that_does_not_enclose(void **state)
{
  (void)state;
  // The second bias there is another layer's: then the first is not to be believed either.
  static const struct join_span original[] = {LAYER(CONV, 0, 100), LAYER(RELU, 50, 150), LAYER(7, 200, 300),
                                              AMBIGUOUS(BIAS, 70), AMBIGUOUS(BIAS, 80)};
  static const struct join_span serial[] = {LAYER(CONV, 0, 10), LAYER(RELU, 20, 30), LAYER(7, 200, 300),
                                            INSIDE(BIAS, 0, 5), INSIDE(BIAS, 2, 210)};
  struct joined joined = JOIN(original, serial);
  assert_int_equal(joined.answer.link_count, 0);
  assert_int_equal(joined.answer.left[JOIN_ORDER], 2);
  arena_done(&joined.arena);
}

// Two threads launch gemm in turns, each from two layers that cross; serialised, one thread is done before the other.
static void test_threads_in_turns(void **state)
{
  (void)state;
  enum { OTHER_CONV = 10, OTHER_RELU };
  struct join_span original[] = {LAYER(CONV, 0, 100),        LAYER(RELU, 50, 150), LAYER(OTHER_CONV, 1, 101),
                                 LAYER(OTHER_RELU, 51, 151), AMBIGUOUS(GEMM, 60),  AMBIGUOUS(GEMM, 65),
                                 AMBIGUOUS(GEMM, 70),        AMBIGUOUS(GEMM, 75),  INSIDE(GEMM, 1, 120)};
  for (size_t i = 2; i < 8; i++)
    original[i].track = i == 2 || i == 3 || i == 5 || i == 7 ? 2 : 1;
  static const struct join_span serial[] = {
      LAYER(CONV, 0, 90),   INSIDE(GEMM, 0, 10),         LAYER(RELU, 100, 190),
      INSIDE(GEMM, 2, 110), INSIDE(GEMM, 2, 120),        LAYER(OTHER_CONV, 200, 290),
      INSIDE(GEMM, 5, 210), LAYER(OTHER_RELU, 300, 390), INSIDE(GEMM, 7, 310)};
  struct joined joined = JOIN(original, serial);
  static const struct join_link expected[] = {{4, 0}, {5, 2}, {6, 1}, {7, 3}};
  assert_int_equal(joined.answer.link_count, COUNT(expected));
  assert_memory_equal(joined.answer.links, expected, sizeof expected);
  arena_done(&joined.arena);
  original[8].track = 2; // known, on the other thread: then each has another number than its layers have there
  original[8].parent = 3;
  joined = JOIN(original, serial);
  assert_int_equal(joined.answer.link_count, 0);
  assert_int_equal(joined.answer.left[JOIN_ORDER], 4);
  arena_done(&joined.arena);
}

static void test_ambiguous_there_too(void **state)
{
  (void)state;
  struct joined joined = JOIN(crossing, crossing);
  assert_int_equal(joined.answer.link_count, 0);
  assert_int_equal(joined.answer.left[JOIN_NO_PARENT], 3);
  arena_done(&joined.arena);
}

static void test_observations_and_executions(void **state)
{
  (void)state;
  struct join_span original[COUNT(crossing)];
  memcpy(original, crossing, sizeof original);
  original[3].observation = -1; // in none
  original[4].kind = XSP_KIND_EXECUTION;
  struct joined joined = JOIN(original, one_by_one);
  assert_int_equal(joined.answer.ambiguous, 2);
  assert_int_equal(joined.answer.left[JOIN_COUNTS], 1);
  assert_int_equal(joined.answer.link_count, 1); // the bias
  arena_done(&joined.arena);
  memcpy(original, crossing, sizeof original);
  original[0].observation = 1; // another number of observations
  joined = JOIN(original, one_by_one);
  assert_int_equal(joined.answer.link_count, 0);
  assert_int_equal(joined.answer.left[JOIN_COUNTS], 3);
  arena_done(&joined.arena);
  joined = join(NULL, 0, NULL, 0);
  assert_int_equal(joined.answer.ambiguous, 0);
  arena_done(&joined.arena);
}

static void test_unknown_names_pair_with_nothing(void **state)
{
  (void)state;
  static const struct join_span original[] = {LAYER(0, 0, 100), LAYER(0, 50, 150), AMBIGUOUS(0, 80)};
  static const struct join_span serial[] = {LAYER(0, 0, 10), LAYER(0, 20, 30), INSIDE(0, 0, 5)};
  struct joined joined = JOIN(original, serial);
  assert_int_equal(joined.answer.link_count, 0);
  arena_done(&joined.arena);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_crossing_layers),
      cmocka_unit_test(test_other_counts_leave_that_name_alone),
      cmocka_unit_test(test_other_counts_of_the_parent),
      cmocka_unit_test(test_known_parents_contradict),
      cmocka_unit_test(test_a_parent_that_does_not_enclose),
      cmocka_unit_test(test_threads_in_turns),
      cmocka_unit_test(test_ambiguous_there_too),
      cmocka_unit_test(test_observations_and_executions),
      cmocka_unit_test(test_unknown_names_pair_with_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
