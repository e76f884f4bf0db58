// SPDX-License-Identifier: Apache-2.0
// Which class a label is.
#include "experiment/evaluation/data_set.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

// The place that a data set's only label is resolved to.
static size_t place_of(const char *label, const char *const *labels, size_t count)
{
  struct data_item item = {.label = label};
  struct data_set set = {.items = &item, .count = 1, .labels = &label, .label_count = 1};
  data_set_resolve(&set, labels, count);
  return item.place;
}

static void test_a_whole_line_comes_before_a_first_word(void **state)
{
  static const char *const labels[] = {"tiger cat", "n01440764 tench", "tiger", "tiger shark", "cat food", "cat toy"};
  size_t count = sizeof labels / sizeof labels[0];
  (void)state;
  assert_int_equal(place_of("tiger", labels, count), 2);
  assert_int_equal(place_of("tiger cat", labels, count), 0);
  assert_int_equal(place_of("n01440764", labels, count), 1);
  assert_int_equal(place_of("cat", labels, count), 4);
  assert_int_equal(place_of("3", NULL, 0), 3);
}

static void test_categories_are_classes_by_their_whole_name(void **state)
{
  static const char *const labels[] = {"hot dog", "hot"};
  struct data_category category = {.id = 1, .name = "hot"};
  struct data_set set = {.categories = &category, .category_count = 1};
  (void)state;
  data_set_resolve(&set, labels, 2);
  assert_int_equal(category.place, 1);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_whole_line_comes_before_a_first_word),
      cmocka_unit_test(test_categories_are_classes_by_their_whole_name),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
