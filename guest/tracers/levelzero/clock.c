// SPDX-License-Identifier: Apache-2.0
// A device counts cycles, and kernels' times have fewer bits than the device's (32 at 19.2 MHz: they wrap every 224 s). What
// is missing follows from the time of the launch. Pure arithmetic: the caller reads the clocks.
#include "tracers/levelzero/clock.h"

#include "tracers/device/host_clock.h"

#define SECOND UINT64_C(1000000000)

static uint64_t mask_of(uint32_t bits)
{
  return bits == 0 || bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

void levelzero_clock_start(struct clock *clock, double rate, const struct ze_device_properties *properties)
{
  *clock = (struct clock){.frequency = properties->timer_resolution != 0 ? properties->timer_resolution : SECOND,
                          .mask = mask_of(properties->timestamp_bits),
                          .kernel_mask = mask_of(properties->kernel_timestamp_bits),
                          .rate = rate};
  device_clock_start(&clock->in_time, rate, RATE_ERROR_FIRST, RATE_ERROR_LEAST);
}

static uint64_t nanoseconds(const struct clock *clock, uint64_t cycles)
{
  return (uint64_t)((unsigned __int128)cycles * SECOND / clock->frequency);
}

// The cycles at `ticks` as the last reading has them, right to a fraction of a second for hours.
static uint64_t about(const struct clock *clock, uint64_t ticks)
{
  double since = (double)(int64_t)(ticks - clock->ticks);
  return clock->cycles + (uint64_t)(int64_t)(since / clock->rate * (double)clock->frequency / (double)SECOND);
}

void levelzero_clock_observe(struct clock *clock, uint64_t cycles, uint64_t ticks_before, uint64_t ticks_after)
{
  uint64_t ticks = ticks_before + (ticks_after - ticks_before) / 2;
  cycles &= clock->mask;
  if (clock->ticks != 0) { // what is nearest to where it must be
    uint64_t expected = about(clock, ticks), half = clock->mask / 2 + 1;
    uint64_t least = expected > half ? expected - half : 0;
    cycles = least + ((cycles - least) & clock->mask);
  }
  clock->cycles = cycles;
  clock->ticks = ticks;
  uint64_t ns = nanoseconds(clock, cycles);
  device_clock_observe(&clock->in_time, &(struct clock_observation){ns, ticks_before, ns, ticks_after});
}

bool levelzero_clock_convert(struct clock *clock, const struct ze_timestamps *times, uint64_t launched, uint64_t now,
                             uint64_t *ret_start, uint64_t *ret_end)
{
  double start_error = 0, end_error = 0;
  uint64_t before = about(clock, launched), second = clock->frequency;
  uint64_t least = before > second ? before - second : 0; // a second for all that is not known exactly
  uint64_t start = least + ((times->start - least) & clock->kernel_mask);
  uint64_t end = start + ((times->end - times->start) & clock->kernel_mask);
  *ret_start = device_clock_ticks(&clock->in_time, nanoseconds(clock, start), &start_error);
  *ret_end = device_clock_ticks(&clock->in_time, nanoseconds(clock, end), &end_error);
  double error = start_error > end_error ? start_error : end_error;
  if (*ret_start == 0 || *ret_end < *ret_start || (double)(int64_t)(*ret_end - now) > (double)SECOND * clock->rate)
    return false;
  clock->error_ns = error > clock->error_ns ? error : clock->error_ns;
  return true;
}
