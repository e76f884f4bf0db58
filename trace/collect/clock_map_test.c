// SPDX-License-Identifier: Apache-2.0
// The clock map: exact at its knots, one function for ever, blind to steps of the wall clock, calm on absurd readings.
#include "collect/clock_map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static const int64_t wall = INT64_C(1700000000000000000); // REALTIME - MONOTONIC

static bool add(struct clock_map *map, uint64_t ticks, int64_t monotonic_ns, int64_t offset_ns)
{
  struct session_calibration reading = {ticks, monotonic_ns + offset_ns, monotonic_ns, 1};
  return clock_map_add(map, &reading);
}

static void test_one_knot_is_not_enough(void **state)
{
  struct clock_map map;
  clock_map_start(&map, SESSION_TICKS_TSC);
  assert_false(clock_map_usable(&map));
  assert_true(add(&map, 1000, 500, wall));
  assert_false(clock_map_usable(&map));
  assert_true(add(&map, 3000, 1500, wall));
  assert_true(clock_map_usable(&map));
  clock_map_done(&map);
  clock_map_start(&map, SESSION_TICKS_MONOTONIC);
  assert_true(add(&map, 500, 500, wall));
  assert_true(clock_map_usable(&map));
  assert_int_equal(clock_map_ticks(&map, 777), wall + 777);
  clock_map_done(&map);
}

static void test_segments(void **state)
{
  struct clock_map map;
  clock_map_start(&map, SESSION_TICKS_TSC);
  assert_true(add(&map, 10000, 5000, wall));
  assert_true(add(&map, 20000, 10000, wall)); // 0.5 ns a tick
  assert_true(add(&map, 30000, 14000, wall)); // then 0.4
  assert_int_equal(clock_map_ticks(&map, 10000), wall + 5000);
  assert_int_equal(clock_map_ticks(&map, 15000), wall + 7500);
  assert_int_equal(clock_map_ticks(&map, 20000), wall + 10000);
  assert_int_equal(clock_map_ticks(&map, 25000), wall + 12000);
  assert_int_equal(clock_map_ticks(&map, 30000), wall + 14000);
  assert_int_equal(clock_map_ticks(&map, 40000), wall + 18000); // the last segment goes on
  assert_int_equal(clock_map_ticks(&map, 8000), wall + 4000);   // and the first, backwards
  assert_int_equal(clock_map_horizon(&map), 30000);
  clock_map_done(&map);
}

static void test_what_was_converted_stays(void **state)
{
  struct clock_map map;
  clock_map_start(&map, SESSION_TICKS_TSC);
  assert_true(add(&map, 0, 0, wall));
  assert_true(add(&map, 1000000, 300000, wall));
  int64_t before[100];
  for (uint64_t i = 0; i < 100; i++)
    before[i] = clock_map_ticks(&map, i * 10000);
  assert_false(add(&map, 500000, 170000, wall)); // a reading of another process, older than what is fixed
  assert_int_equal(map.rejected, 0);             // nothing is wrong with it
  assert_true(add(&map, 2000000, 700000, wall));
  for (uint64_t i = 0; i < 100; i++)
    assert_int_equal(clock_map_ticks(&map, i * 10000), before[i]);
  clock_map_done(&map);
}

static void test_never_backwards(void **state)
{
  struct clock_map map;
  clock_map_start(&map, SESSION_TICKS_TSC);
  uint64_t noise = 1;
  for (uint64_t i = 0; i < 200000; i++) { // more than CLOCK_KNOTS_MAXIMUM: thinning happens
    noise = noise * 6364136223846793005u + 1442695040888963407u;
    assert_true(add(&map, 1000 + i * 2500, (int64_t)(i * 1000 + (noise >> 60)), wall));
  }
  assert_true(map.count <= CLOCK_KNOTS_MAXIMUM);
  int64_t last = INT64_MIN;
  for (uint64_t ticks = 0; ticks < 200000u * 2500; ticks += 997) {
    int64_t now = clock_map_ticks(&map, ticks);
    assert_true(now >= last);
    assert_true(llabs(now - wall - ((int64_t)ticks - 1000) * 2 / 5) < 40);
    last = now;
  }
  clock_map_done(&map);
}

static void test_step_of_the_wall_clock(void **state)
{
  const int64_t hour = INT64_C(3600000000000);
  struct clock_map map;
  clock_map_start(&map, SESSION_TICKS_TSC);
  assert_true(add(&map, 1000000, 1000000, wall));
  assert_true(add(&map, 2000000, 2000000, wall + 300)); // noise of reading
  assert_int_equal(map.step_ns, 0);
  assert_true(add(&map, 3000000, 3000000, wall - hour));
  assert_true(add(&map, 4000000, 4000000, wall - hour + 200));
  assert_int_equal(map.step_ns, -hour - 0);
  // An interval that began before the step and ended after it keeps its length.
  assert_int_equal(clock_map_ticks(&map, 3500000) - clock_map_ticks(&map, 1500000), 2000000);
  assert_int_equal(clock_map_monotonic(&map, 3500000), wall + 3500000);
  // Times that a source gives in the stepped clock come back to the same axis.
  assert_int_equal(clock_map_realtime(&map, wall - hour + 3500000), wall + 3500000);
  assert_int_equal(clock_map_realtime(&map, wall + 1500000), wall + 1500000);
  clock_map_done(&map);
}

static void test_absurd_readings(void **state)
{
  struct clock_map map;
  clock_map_start(&map, SESSION_TICKS_TSC);
  assert_true(add(&map, 1000, 1000, wall));
  assert_false(add(&map, 2000, 900, wall));                 // monotonic ran backwards
  assert_false(add(&map, UINT64_MAX, 1001, wall));          // a tick of 10^-16 ns
  assert_false(add(&map, 1001, INT64_C(1000000000), wall)); // a tick of a second
  assert_false(add(&map, 5000, INT64_MAX - wall, wall));    // beyond any date
  struct session_calibration negative = {5000, wall, -5, 1};
  assert_false(clock_map_add(&map, &negative));
  assert_int_equal(map.rejected, 5);
  assert_true(add(&map, 2000, 1400, wall));
  assert_int_equal(clock_map_ticks(&map, UINT64_MAX) > 0, 1); // saturates or is far away, never overflows
  assert_int_equal(clock_map_ticks(&map, 0), wall + 600);
  assert_int_equal(clock_map_realtime(&map, INT64_MIN), INT64_MIN);
  clock_map_done(&map);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_one_knot_is_not_enough),   cmocka_unit_test(test_segments),
      cmocka_unit_test(test_what_was_converted_stays), cmocka_unit_test(test_never_backwards),
      cmocka_unit_test(test_step_of_the_wall_clock),   cmocka_unit_test(test_absurd_readings),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
