// SPDX-License-Identifier: Apache-2.0
// A device of 20 MHz whose times have 36 valid bits and those of kernels 32. A tick is a nanosecond here, so that the device
// shows cycle c at tick EPOCH + 50 c; kernels' times wrap every 2^32 cycles = 214.7 s, the device's every 3,436 s.
#include "tracers/levelzero/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
// cmocka wants some of the above first
#include <cmocka.h>

#define EPOCH UINT64_C(7000000000)
#define WRAP (UINT64_C(1) << 32)
#define SECOND UINT64_C(20000000) // cycles

static uint64_t ticks_at(uint64_t cycle)
{
  return EPOCH + 50 * cycle;
}

static void read_at(struct clock *clock, uint64_t cycle)
{
  levelzero_clock_observe(clock, cycle & ((UINT64_C(1) << 36) - 1), ticks_at(cycle) - 100, ticks_at(cycle) + 100);
}

static struct clock started_at(uint64_t cycle)
{
  static const struct ze_device_properties properties = {
      .timer_resolution = SECOND, .timestamp_bits = 36, .kernel_timestamp_bits = 32};
  struct clock clock;
  levelzero_clock_start(&clock, 1.0, &properties);
  read_at(&clock, cycle);
  return clock;
}

// A kernel from cycle `start` to `end`, launched at `launched`, read at `now`.
static bool convert(struct clock *clock, uint64_t launched, uint64_t start, uint64_t end, uint64_t now,
                    uint64_t *ret_start, uint64_t *ret_end)
{
  const struct ze_timestamps times = {.start = start % WRAP, .end = end % WRAP};
  return levelzero_clock_convert(clock, &times, ticks_at(launched), ticks_at(now), ret_start, ret_end);
}

static void assert_converts(struct clock *clock, uint64_t launched, uint64_t start, uint64_t end, uint64_t now)
{
  uint64_t found_start = 0, found_end = 0;
  assert_true(convert(clock, launched, start, end, now, &found_start, &found_end));
  assert_in_range(found_start, ticks_at(start) - 100, ticks_at(start) + 100);
  assert_in_range(found_end, ticks_at(end) - 100, ticks_at(end) + 100);
}

static void test_a_kernel_across_the_wrap_of_its_clock(void **state)
{
  struct clock clock = started_at(WRAP - 5000);
  read_at(&clock, WRAP + 9000);
  assert_converts(&clock, WRAP - 4000, WRAP - 1000, WRAP + 2000, WRAP + 9000);
  assert_converts(&clock, WRAP - 4000, WRAP + 5000, WRAP + 6000, WRAP + 9000);
}

static void test_times_that_are_read_wraps_later(void **state)
{
  struct clock clock = started_at(1000);
  uint64_t later = 10 * WRAP;
  read_at(&clock, later);
  assert_converts(&clock, 2000, 3000, 4000, later);
}

static void test_the_wrap_of_the_devices_clock(void **state)
{
  uint64_t wrap = UINT64_C(1) << 36;
  struct clock clock = started_at(wrap - SECOND);
  read_at(&clock, wrap + SECOND);
  assert_int_equal(clock.cycles, wrap + SECOND);
  assert_converts(&clock, wrap, wrap + 1000, wrap + 2000, wrap + SECOND);
  read_at(&clock, 3 * wrap); // idle for more than a wrap
  assert_int_equal(clock.cycles, 3 * wrap);
}

static void test_a_device_that_has_just_begun_to_count(void **state)
{
  struct clock clock = started_at(10);
  read_at(&clock, SECOND);
  assert_converts(&clock, 20, 30, 40, SECOND);
}

// Times of an earlier run begin before the launch: a wrap later they would be in the future.
static void test_times_that_cannot_be(void **state)
{
  struct clock clock = started_at(5 * SECOND);
  uint64_t start, end;
  read_at(&clock, 10 * SECOND);
  assert_false(convert(&clock, 8 * SECOND, 6 * SECOND, 6 * SECOND + 100, 10 * SECOND, &start, &end));
  assert_false(convert(&clock, 8 * SECOND, 0, 0, 10 * SECOND, &start, &end));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_kernel_across_the_wrap_of_its_clock),
      cmocka_unit_test(test_times_that_are_read_wraps_later),
      cmocka_unit_test(test_the_wrap_of_the_devices_clock),
      cmocka_unit_test(test_a_device_that_has_just_begun_to_count),
      cmocka_unit_test(test_times_that_cannot_be),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
