// SPDX-License-Identifier: Apache-2.0
// Lanes: whatever the order in which completions are reported, what shares a lane does not overlap.
#include "tracers/device/lanes.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
// cmocka wants some of the above first
#include <cmocka.h>

struct placed {
  uint64_t start, end;
  uint32_t lane;
};

static uint32_t random_state = 1;
static uint32_t random_below(uint32_t limit)
{
  random_state = random_state * 1664525u + 1013904223u;
  return (random_state >> 8) % limit;
}

static int by_lane_and_time(const void *a, const void *b)
{
  const struct placed *x = a, *y = b;
  if (x->lane != y->lane)
    return x->lane < y->lane ? -1 : 1;
  if (x->start != y->start)
    return x->start < y->start ? -1 : 1;
  return x->end < y->end ? -1 : x->end > y->end;
}

static void free_lanes(struct device_lanes *lanes)
{
  for (uint32_t i = 0; i < LANES_MOST; i++)
    free(lanes->lane[i]);
}

static void assert_disjoint(struct placed *all, size_t count)
{
  qsort(all, count, sizeof *all, by_lane_and_time);
  for (size_t i = 1; i < count; i++)
    if (all[i].lane == all[i - 1].lane)
      assert_true(all[i].start >= all[i - 1].end);
}

static void test_one_after_the_other_is_one_lane(void **state)
{
  struct device_lanes lanes = {0};
  uint32_t number = 9;
  for (uint64_t time = 0; time < 10000; time += 10) {
    assert_non_null(device_lanes_take(&lanes, time, time + 10, &number)); // touching
    assert_int_equal(number, 0);
  }
  free_lanes(&lanes);
}

// An in-order queue whose completions come a little out of order, from several threads of the driver.
static void test_late_reports_go_into_their_gap(void **state)
{
  struct device_lanes lanes = {0};
  uint32_t number = 9;
  for (uint64_t block = 0; block < 100; block++)
    for (uint64_t i = 8; i-- > 0;) {
      uint64_t start = (block * 8 + i) * 100;
      assert_non_null(device_lanes_take(&lanes, start, start + 90, &number));
      assert_int_equal(number, 0);
    }
  free_lanes(&lanes);
}

static void test_overlaps_get_lanes(void **state)
{
  enum { COUNT = 5000, MOST = 6 };
  static struct placed all[COUNT];
  struct device_lanes lanes = {0};
  uint64_t engine_free[MOST] = {0};
  for (int i = 0; i < COUNT; i++) { // at most MOST at a time
    uint32_t engine = (uint32_t)i % MOST;
    uint64_t start = engine_free[engine] + random_below(50), end = start + random_below(300);
    engine_free[engine] = end;
    all[i] = (struct placed){start, end, 0};
  }
  for (int i = 0; i + 3 < COUNT; i += 2) { // reported a little out of order
    struct placed swap = all[i];
    all[i] = all[i + 3];
    all[i + 3] = swap;
  }
  uint32_t most = 0;
  for (int i = 0; i < COUNT; i++) {
    assert_non_null(device_lanes_take(&lanes, all[i].start, all[i].end, &all[i].lane));
    most = all[i].lane > most ? all[i].lane : most;
  }
  assert_disjoint(all, COUNT);
  assert_in_range(most, MOST - 2, 3 * MOST);
  free_lanes(&lanes);
}

static void test_too_many_at_once(void **state)
{
  struct device_lanes lanes = {0};
  uint32_t number;
  for (uint32_t i = 0; i < LANES_MOST; i++) {
    assert_non_null(device_lanes_take(&lanes, 10, 20, &number));
    assert_int_equal(number, i);
  }
  assert_null(device_lanes_take(&lanes, 10, 20, &number));
  assert_non_null(device_lanes_take(&lanes, 20, 30, &number));
  free_lanes(&lanes);
}

static void test_what_is_forgotten_stays_taken(void **state)
{
  struct device_lane lane = {0};
  for (uint64_t i = 0; i < LANE_RECENT + 5; i++)
    assert_true(device_lane_take(&lane, 100 + i * 10, 100 + i * 10 + 5));
  assert_false(device_lane_take(&lane, 100, 101)); // in a forgotten one
  assert_false(device_lane_take(&lane, 50, 60));   // before it, which is not known any more
  assert_true(device_lane_take(&lane, 100 + (LANE_RECENT + 4) * 10 - 4, 100 + (LANE_RECENT + 4) * 10 - 2));
  assert_false(device_lane_take(&lane, 900, 800));
}

static void test_a_lane_whose_holder_is_gone_is_passed(void **state)
{
  struct device_lanes lanes = {0};
  uint32_t number;
  struct device_lane *first = device_lanes_take(&lanes, 1, 2, &number);
  assert_non_null(first);
  first->is_busy = 1; // a fork came between
  assert_non_null(device_lanes_take(&lanes, 3, 4, &number));
  assert_int_equal(number, 1);
  free_lanes(&lanes);
}

// ---- several threads
enum { EACH = 20000, THREADS = 4 };
static struct device_lanes shared;
static struct placed taken[THREADS][EACH];

static void *take_many(void *argument)
{
  uintptr_t thread = (uintptr_t)argument;
  for (uint64_t i = 0; i < EACH; i++) {
    uint64_t start = i * 100 + thread * 20;
    struct placed *placed = &taken[thread][i];
    *placed = (struct placed){start, start + 60, 0};
    if (device_lanes_take(&shared, placed->start, placed->end, &placed->lane) == NULL)
      placed->lane = UINT32_MAX;
  }
  return NULL;
}

static void test_threads(void **state)
{
  pthread_t threads[THREADS];
  for (uintptr_t i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, take_many, (void *)i), 0);
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  struct placed *all = calloc(THREADS * EACH, sizeof *all);
  assert_non_null(all);
  size_t count = 0;
  for (int thread = 0; thread < THREADS; thread++)
    for (int i = 0; i < EACH; i++)
      if (taken[thread][i].lane != UINT32_MAX)
        all[count++] = taken[thread][i];
  assert_true(count > 0);
  assert_disjoint(all, count);
  free(all);
  free_lanes(&shared);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_one_after_the_other_is_one_lane),
      cmocka_unit_test(test_late_reports_go_into_their_gap),
      cmocka_unit_test(test_overlaps_get_lanes),
      cmocka_unit_test(test_too_many_at_once),
      cmocka_unit_test(test_what_is_forgotten_stays_taken),
      cmocka_unit_test(test_a_lane_whose_holder_is_gone_is_passed),
      cmocka_unit_test(test_threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
