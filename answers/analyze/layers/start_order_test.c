// SPDX-License-Identifier: Apache-2.0
// Spans in the order of their ends, of one thread and of two, against qsort.
#include "analyze/layers/start_order.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 400 };
static struct layer_span spans[MOST];
static uint32_t count;

// A span and some within it, which end before it does, `more_ns` at least. Returns its end.
static int64_t record(unsigned *random, int64_t start_ns, int64_t more_ns, unsigned depth)
{
  int64_t now_ns = start_ns;
  for (unsigned within = depth < 5 ? (unsigned)rand_r(random) % 4 : 0; within > 0; within--)
    now_ns = record(random, now_ns + rand_r(random) % 2, more_ns, depth + 1);
  now_ns += more_ns + rand_r(random) % 3;
  if (count < MOST)
    spans[count] = (struct layer_span){start_ns, now_ns - start_ns, count, 0};
  count += count < MOST;
  return now_ns;
}

static bool check(void)
{
  struct layer_span expected[MOST];
  memcpy(expected, spans, sizeof expected);
  qsort(expected, count, sizeof *expected, layer_starts_compare);
  bool is_linear = layer_starts_sort(spans, count);
  for (uint32_t i = 0; i < count; i++)
    assert_int_equal(spans[i].row, expected[i].row);
  return is_linear;
}

static void test_as_they_ended(void **state)
{
  (void)state;
  for (unsigned seed = 1; seed <= 200; seed++) {
    unsigned random = seed;
    count = 0;
    for (int64_t now_ns = 0; count < MOST && now_ns < 200;)
      now_ns = record(&random, now_ns, 1, 0);
    assert_true(check());
    assert_true(check()); // sorted already
  }
}

// Spans may be as long as what they enclose, or without length; a second thread's lie across.
static void test_of_two_threads(void **state)
{
  (void)state;
  bool is_linear = true;
  for (unsigned seed = 1; seed <= 50; seed++) {
    unsigned random = seed;
    count = 0;
    for (int64_t now_ns = 0; count < MOST && now_ns < 400;)
      now_ns = record(&random, now_ns % 2 == 0 ? now_ns / 2 : now_ns, 0, 0) + 1;
    is_linear = check() && is_linear;
  }
  assert_false(is_linear);
  count = 0;
  assert_true(check());
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_as_they_ended), cmocka_unit_test(test_of_two_threads)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
