// SPDX-License-Identifier: Apache-2.0
// Span ids of OTLP: kept where possible, unique always, the same at every mention.
#include "otlp/ids.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static int64_t find(struct otlp_ids *ids, uint32_t trace, uint64_t number, bool is_span, bool is_repeated)
{
  bool repeated;
  int64_t id = otlp_ids_find(ids, trace, number, is_span, &repeated);
  assert_int_equal(repeated, is_repeated);
  assert_true(id >= 1);
  return id;
}

static void numbers_are_kept(void **state)
{
  (void)state;
  struct otlp_ids ids = {0};
  assert_int_equal(find(&ids, 1, 5, true, false), 5);
  assert_int_equal(find(&ids, 1, INT64_MAX, true, false), INT64_MAX);
  assert_int_equal(find(&ids, 1, UINT64_C(1) << 63 | 7, true, false), 7);
  assert_int_equal(find(&ids, 1, 5, false, false), 5);
  otlp_ids_done(&ids);
}

static void repeats_are_told(void **state)
{
  (void)state;
  struct otlp_ids ids = {0};
  find(&ids, 1, 5, false, false); // as a parent first
  assert_int_equal(ids.absent_count, 1);
  find(&ids, 1, 5, true, false);
  assert_int_equal(ids.absent_count, 0);
  find(&ids, 1, 5, true, true);
  find(&ids, 1, 5, false, false);
  otlp_ids_done(&ids);
}

static void traces_have_spans_of_their_own(void **state)
{
  (void)state;
  struct otlp_ids ids = {0};
  int64_t of_two = 0;
  assert_int_equal(find(&ids, 1, 5, true, false), 5);
  of_two = find(&ids, 2, 5, false, false);
  assert_int_not_equal(of_two, 5);
  assert_int_equal(find(&ids, 2, 5, true, false), of_two);
  int64_t top = find(&ids, 1, UINT64_C(1) << 63 | 5, true, false);
  assert_true(top != 5 && top != of_two);
  int64_t none = find(&ids, 1, UINT64_C(1) << 63, true, false);
  assert_true(none != top && none != of_two);
  // What was made up cannot be claimed any more.
  assert_int_not_equal(find(&ids, 1, (uint64_t)of_two, true, false), of_two);
  otlp_ids_done(&ids);
}

static int compare(const void *a, const void *b)
{
  int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
  return (left > right) - (left < right);
}

static void many_are_unique_and_stay(void **state)
{
  (void)state;
  enum { TRACES = 50, SPANS = 400, COUNT = TRACES * SPANS };
  struct otlp_ids ids = {0};
  int64_t *first = calloc(COUNT, sizeof *first);
  int64_t *sorted = calloc(COUNT, sizeof *sorted);
  uint64_t numbers[SPANS];
  for (uint64_t i = 0; i < SPANS; i++) // some close together, some with top bits, some where ids are made up
    numbers[i] = i % 4 == 0 ? i + 1 : i % 4 == 1 ? (UINT64_C(1) << 63 | (i - 1) / 2) : (UINT64_C(1) << 48) + i;
  for (uint32_t trace = 0; trace < TRACES; trace++)
    for (size_t i = 0; i < SPANS; i++)
      first[trace * SPANS + i] = sorted[trace * SPANS + i] = find(&ids, trace, numbers[i], i % 3 == 0, false);
  qsort(sorted, COUNT, sizeof *sorted, compare);
  for (size_t i = 1; i < COUNT; i++)
    assert_true(sorted[i - 1] < sorted[i]);
  for (uint32_t trace = 0; trace < TRACES; trace++)
    for (size_t i = 0; i < SPANS; i++)
      assert_int_equal(find(&ids, trace, numbers[i], false, false), first[trace * SPANS + i]);
  assert_int_equal(ids.absent_count, COUNT - TRACES * ((SPANS + 2) / 3));
  free(first);
  free(sorted);
  otlp_ids_done(&ids);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_are_kept),
      cmocka_unit_test(repeats_are_told),
      cmocka_unit_test(traces_have_spans_of_their_own),
      cmocka_unit_test(many_are_unique_and_stay),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
