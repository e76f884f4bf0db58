// SPDX-License-Identifier: Apache-2.0
// The map from a device's clock to ticks against simulated clocks whose truth is known.
#include "tracers/device/device_clock.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
// cmocka wants the four above first
#include <cmocka.h>

#define TICKS_PER_NS 2.5
#define TICKS_AT_START UINT64_C(9000000000000000) // more than a double holds exactly when scaled
#define DEVICE_AT_START UINT64_C(1700000000000000000)

struct world {        // what is true
  double device_rate; // device ns per ns
  uint32_t random;
};

static uint32_t random_below(struct world *world, uint32_t limit)
{
  world->random = world->random * 1664525u + 1013904223u;
  return (world->random >> 8) % limit;
}

static uint64_t ticks_at(uint64_t ns)
{
  return TICKS_AT_START + (uint64_t)((double)ns * TICKS_PER_NS);
}

static uint64_t device_at(const struct world *world, uint64_t ns)
{
  return DEVICE_AT_START + (uint64_t)((double)ns * world->device_rate);
}

// A command that is queued at `ns`, somewhere in a call of `width_ns`.
static void call(struct world *world, struct device_clock *clock, uint64_t ns, uint32_t width_ns)
{
  uint32_t before = random_below(world, width_ns);
  uint64_t device = device_at(world, ns);
  device_clock_observe(
      clock, &(struct clock_observation){device, ticks_at(ns - before), device, ticks_at(ns - before + width_ns)});
}

// How far the map is off at `ns`, in ns; and that it knows.
static double error_at(struct world *world, const struct device_clock *clock, uint64_t ns)
{
  double claimed = -1;
  uint64_t ticks = device_clock_ticks(clock, device_at(world, ns), &claimed);
  double error = (double)(int64_t)(ticks - ticks_at(ns)) / TICKS_PER_NS;
  error = error < 0 ? -error : error;
  assert_true(claimed >= 0);
  assert_true(error <= claimed + 2); // the arithmetic of this test is good to a nanosecond or two
  return error;
}

static void test_nothing_is_known_at_first(void **state)
{
  struct device_clock clock;
  double error = 5;
  device_clock_start(&clock, TICKS_PER_NS, 1e-4, 5e-6);
  assert_int_equal(device_clock_ticks(&clock, 77, &error), 0);
}

static void test_it_is_closer_than_one_call(void **state)
{
  const double rates[] = {1, 1.00005, 0.9997, 1.0004};
  for (int i = 0; i < 4; i++) {
    struct world world = {rates[i], (uint32_t)i};
    struct device_clock clock;
    device_clock_start(&clock, TICKS_PER_NS, 6e-4, 5e-6);
    uint64_t ns = 1000000;
    for (int calls = 0; calls < 20000; calls++) {
      ns += 50000 + random_below(&world, 100000);
      call(&world, &clock, ns, 3000);
      double error = error_at(&world, &clock, ns);
      if (calls > 2000)
        assert_true(error < 1600); // half a call, and what the rate may do between two windows
    }
    assert_true(ns > UINT64_C(1000000000));
  }
}

static void test_a_wide_call_moves_nothing(void **state)
{
  struct world world = {1, 4};
  struct device_clock clock;
  device_clock_start(&clock, TICKS_PER_NS, 1e-6, 5e-6);
  uint64_t ns = 1000000;
  for (int i = 0; i < 100; i++)
    call(&world, &clock, ns += 100000, 1000);
  double before = error_at(&world, &clock, ns);
  for (int i = 0; i < 50; i++)
    call(&world, &clock, ns += 100000, 900000); // compiles a kernel
  assert_true(error_at(&world, &clock, ns) <= before + 100);
}

static void test_an_observation_is_always_obeyed(void **state)
{
  struct world world = {1, 5};
  struct device_clock clock;
  device_clock_start(&clock, TICKS_PER_NS, 1e-6, 5e-6);
  for (uint64_t ns = 1000000; ns < 5000000; ns += 100000)
    call(&world, &clock, ns, 1000);
  world.device_rate = 1.001; // it lied about its rate
  for (uint64_t ns = UINT64_C(2000000000); ns < UINT64_C(4000000000); ns += 100000000) {
    uint64_t device = device_at(&world, ns);
    struct clock_observation seen = {device, ticks_at(ns) - 500, device, ticks_at(ns) + 500};
    double error = 0;
    device_clock_observe(&clock, &seen);
    uint64_t ticks = device_clock_ticks(&clock, device, &error);
    assert_in_range(ticks, seen.ticks_low, seen.ticks_high);
  }
  assert_true(device_clock_step_ns(&clock) > 1000); // and it is told that what was before was wrong
}

static void test_the_past_lies_between_readings(void **state)
{
  struct world world = {1.0003, 6};
  struct device_clock clock;
  device_clock_start(&clock, TICKS_PER_NS, 6e-4, 5e-6);
  call(&world, &clock, 1000000, 100);
  call(&world, &clock, 2000000, 100);
  call(&world, &clock, UINT64_C(3000000000), 100); // three seconds without a command, and a rate that is off
  for (uint64_t ns = 2000000; ns < UINT64_C(3000000000); ns += 50000000)
    assert_true(error_at(&world, &clock, ns) < 700000);
  assert_true(error_at(&world, &clock, UINT64_C(3000000000)) <= 101);
}

static void test_order_is_kept(void **state)
{
  struct world world = {0.99995, 7};
  struct device_clock clock;
  device_clock_start(&clock, TICKS_PER_NS, 6e-4, 5e-6);
  uint64_t last = 0;
  double error;
  for (uint64_t ns = 1000000; ns < 900000000; ns += 1000 + random_below(&world, 300000)) {
    call(&world, &clock, ns, 4000);
    uint64_t now = device_clock_ticks(&clock, device_at(&world, ns), &error);
    assert_true(now + (uint64_t)(10000 * TICKS_PER_NS) > last); // a correction is small
    last = now;
  }
}

static void test_nonsense_is_left_alone(void **state)
{
  struct device_clock clock;
  device_clock_start(&clock, TICKS_PER_NS, 6e-4, 5e-6);
  device_clock_observe(&clock, &(struct clock_observation){10, 20, 10, 5});
  device_clock_observe(&clock, &(struct clock_observation){10, 20, 5, 30});
  assert_int_equal(clock.count, 0);
  const uint64_t wild[] = {0, 1, INT64_MAX, UINT64_MAX, UINT64_MAX / 3};
  for (int a = 0; a < 5; a++)
    for (int b = 0; b < 5; b++) {
      double error;
      device_clock_observe(&clock, &(struct clock_observation){wild[a], wild[b], wild[a], wild[b]});
      device_clock_ticks(&clock, wild[b], &error);
    }
}

// ---- several threads
static struct device_clock shared;

static void *observe_and_read(void *argument)
{
  struct world world = {1, (uint32_t)(uintptr_t)argument};
  for (uint64_t ns = 1000000; ns < 60000000; ns += 1000) {
    double error = -1;
    call(&world, &shared, ns, 2000);
    uint64_t ticks = device_clock_ticks(&shared, device_at(&world, ns), &error);
    if (ticks < ticks_at(ns) - 100000 || ticks > ticks_at(ns) + 100000)
      return (void *)1;
  }
  return NULL;
}

static void test_threads(void **state)
{
  pthread_t threads[4];
  device_clock_start(&shared, TICKS_PER_NS, 1e-5, 5e-6);
  for (uintptr_t i = 0; i < 4; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, observe_and_read, (void *)(i + 1)), 0);
  for (int i = 0; i < 4; i++) {
    void *wrong = NULL;
    pthread_join(threads[i], &wrong);
    assert_null(wrong);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_nothing_is_known_at_first),      cmocka_unit_test(test_it_is_closer_than_one_call),
      cmocka_unit_test(test_a_wide_call_moves_nothing),      cmocka_unit_test(test_an_observation_is_always_obeyed),
      cmocka_unit_test(test_the_past_lies_between_readings), cmocka_unit_test(test_order_is_kept),
      cmocka_unit_test(test_nonsense_is_left_alone),         cmocka_unit_test(test_threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
