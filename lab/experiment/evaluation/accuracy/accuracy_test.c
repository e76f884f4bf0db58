// SPDX-License-Identifier: Apache-2.0
// Average precision worked out by hand, distances of texts, lines of the runner. Against pycocotools: tests/experiment/test_accuracy.py.
#include "experiment/evaluation/accuracy/accuracy.h"
#include "experiment/evaluation/accuracy/average_precision.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct average_precision measure(const struct rated_box *wanted, size_t wanted_count,
                                        const struct rated_box *found, size_t found_count)
{
  static struct arena arena;
  struct average_precision precision;
  average_precision_measure(wanted, wanted_count, found, found_count, 3, &arena, &precision);
  arena_done(&arena);
  return precision;
}

static void assert_near(double found, double wanted)
{
  assert_true(fabs(found - wanted) < 1e-12);
}

static void test_precision_by_hand(void **state)
{
  (void)state;
  const struct rated_box wanted[] = {{0, 0, 0, 0, 10, 10, 0, false, NULL}, {1, 0, 0, 0, 10, 10, 0, false, NULL}};
  // The first is right at all overlaps up to 0.8; the second lies elsewhere; the third is right.
  const struct rated_box found[] = {{0, 0, 0, 0, 10, 8, 0.9, false, NULL},
                                    {0, 0, 50, 0, 10, 10, 0.8, false, NULL},
                                    {1, 0, 0, 0, 10, 10, 0.7, false, NULL}};
  struct average_precision precision = measure(wanted, 2, found, 3);
  double both = (51 + 50 * 2.0 / 3) / 101, second = 51.0 / 3 / 101; // at overlaps 0.50 … 0.80; above
  assert_near(precision.at_50, both);
  assert_near(precision.at_75, both);
  assert_near(precision.all, (7 * both + 3 * second) / 10);
  precision = measure(wanted, 2, found, 0);
  assert_near(precision.all, 0);
  assert_true(isnan(measure(wanted, 0, found, 3).all));
}

static void test_a_crowd_takes_any_number_and_counts_as_none(void **state)
{
  (void)state;
  const struct rated_box wanted[] = {{0, 1, 0, 0, 100, 100, 0, true, NULL}, {0, 1, 200, 0, 10, 10, 0, false, NULL}};
  const struct rated_box found[] = {{0, 1, 5, 5, 10, 10, 0.9, false, NULL},
                                    {0, 1, 30, 5, 10, 10, 0.8, false, NULL},
                                    {0, 1, 200, 0, 10, 10, 0.7, false, NULL}};
  assert_near(measure(wanted, 2, found, 3).all, 1);
  assert_true(isnan(measure(wanted, 1, found, 3).all));
}

static void test_distance(void **state)
{
  (void)state;
  assert_int_equal(edit_distance("", ""), 0);
  assert_int_equal(edit_distance("kitten", "sitting"), 3);
  assert_int_equal(edit_distance("", "häß"), 3);
  assert_int_equal(edit_distance("häß", "has"), 2);
  assert_int_equal(edit_distance("\xff\xfe", "\xff"), 1);
  assert_int_equal(edit_distance("ab", "ba"), 2);
}

static void test_lines_of_the_runner(void **state)
{
  (void)state;
  struct predictions predictions = {0};
  char *box[] = {"box", "0", "3", "0.5", "1", "2", "3", "4"}, *pixels[] = {"pixels", "0", "-", "7", "12"};
  char *token[] = {"token", "0", "9"};
  assert_true(predictions_take(&predictions, 5, box, 8));
  assert_true(predictions_take(&predictions, 5, pixels, 5));
  assert_true(predictions_take(&predictions, 5, token, 3));
  char first[] = "3 2", second[] = "4 1", more[] = "1 -1", *mask[] = {"mask", "0", "4", "5", first},
       *rest[] = {"mask", "0", "4", "5", second};
  char *wrong[] = {"mask", "0", "4", "5", more}, *wide[] = {"mask", "0", "-4", "5", more};
  assert_true(predictions_take(&predictions, 5, mask, 5));
  assert_true(predictions_take(&predictions, 5, rest, 5));
  assert_int_equal(predictions.boxes.items[0].width, 4);
  assert_int_equal(predictions.boxes.items[0].height, 5);
  struct mask_runs runs = predictions_runs(&predictions, &predictions.boxes.items[0]);
  assert_int_equal(runs.count, 4);
  assert_int_equal(runs.borders[3], 10);
  assert_int_equal(mask_runs_pixels(&runs), 3);
  assert_false(predictions_take(&predictions, 4, mask, 5));
  assert_false(predictions_take(&predictions, 5, wrong, 5));
  assert_false(predictions_take(&predictions, 5, wide, 5));
  assert_int_equal(predictions.boxes.items[0].item, 5);
  assert_int_equal(predictions.pixels.items[0].label, PREDICTED_NO_LABEL);
  assert_int_equal(predictions.tokens.items[0].token, 9);
  box[3] = "nan";
  pixels[3] = "256";
  token[2] = "-1";
  assert_false(predictions_take(&predictions, 5, box, 8));
  assert_false(predictions_take(&predictions, 5, box, 7));
  assert_false(predictions_take(&predictions, 5, pixels, 5));
  assert_false(predictions_take(&predictions, 5, token, 3));
  predictions_done(&predictions);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_precision_by_hand),
      cmocka_unit_test(test_a_crowd_takes_any_number_and_counts_as_none),
      cmocka_unit_test(test_distance),
      cmocka_unit_test(test_lines_of_the_runner),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
