// SPDX-License-Identifier: Apache-2.0
// The clock of one device. Observed and read on the driver's threads when a command has completed; pure arithmetic: what
// the clocks show is given by the caller. Differences are taken in integers first: doubles hold 53 bits.
#include "tracers/device/device_clock.h"

#define WINDOW_FIRST_NS UINT64_C(1000000)
#define WINDOW_LAST_NS UINT64_C(50000000)
#define ANCHOR_NS UINT64_C(10000000000) // the rate is measured over this much to twice as much

static void put_knot(struct device_clock *clock, uint64_t device, uint64_t ticks, double half)
{
  uint64_t count = __atomic_load_n(&clock->count, __ATOMIC_RELAXED);
  struct clock_knot *knot = &clock->knot[count % CLOCK_KNOTS];
  __atomic_store_n(&knot->device, device, __ATOMIC_RELAXED);
  __atomic_store_n(&knot->ticks, ticks, __ATOMIC_RELAXED);
  __atomic_store(&knot->rate, &clock->rate, __ATOMIC_RELAXED);
  __atomic_store(&knot->half, &half, __ATOMIC_RELAXED);
  __atomic_store(&knot->rate_error, &clock->rate_error, __ATOMIC_RELAXED);
  __atomic_store_n(&clock->count, count + 1, __ATOMIC_RELEASE); // partner: the acquire in find
}

static struct clock_knot read_knot(const struct device_clock *clock, uint64_t number)
{
  const struct clock_knot *from = &clock->knot[number % CLOCK_KNOTS];
  struct clock_knot knot;
  knot.device = __atomic_load_n(&from->device, __ATOMIC_RELAXED);
  knot.ticks = __atomic_load_n(&from->ticks, __ATOMIC_RELAXED);
  __atomic_load(&from->rate, &knot.rate, __ATOMIC_RELAXED);
  __atomic_load(&from->half, &knot.half, __ATOMIC_RELAXED);
  __atomic_load(&from->rate_error, &knot.rate_error, __ATOMIC_RELAXED);
  return knot;
}

// The knot that holds at `device_ns`: the newest that begins before it, else the oldest there is; and whether there is one
// behind it. The oldest quarter of the ring is left alone, because a writer may be replacing it meanwhile.
static bool find(const struct device_clock *clock, uint64_t device_ns, struct clock_knot *ret_knot,
                 struct clock_knot *ret_next, bool *ret_has_next)
{
  uint64_t count = __atomic_load_n(&clock->count, __ATOMIC_ACQUIRE);
  if (count == 0)
    return false;
  uint64_t oldest = count > CLOCK_KNOTS / 4 * 3 ? count - CLOCK_KNOTS / 4 * 3 : 0;
  *ret_has_next = false;
  for (uint64_t number = count; number-- > oldest;) {
    *ret_knot = read_knot(clock, number);
    if (ret_knot->device <= device_ns || number == oldest)
      break;
    *ret_next = *ret_knot;
    *ret_has_next = true;
  }
  return true;
}

static double difference(uint64_t a, uint64_t b)
{
  return (double)(int64_t)(a - b);
}

// How far `ticks` is above the knot's line at `device`.
static double above(const struct clock_knot *knot, uint64_t device, uint64_t ticks)
{
  return difference(ticks, knot->ticks) - difference(device, knot->device) * knot->rate;
}

static uint64_t on_line(const struct clock_knot *knot, uint64_t device)
{
  return knot->ticks + (uint64_t)(int64_t)(difference(device, knot->device) * knot->rate);
}

uint64_t device_clock_ticks(const struct device_clock *clock, uint64_t device_ns, double *ret_error_ns)
{
  struct clock_knot knot = {0}, next = {0};
  bool has_next;
  if (!find(clock, device_ns, &knot, &next, &has_next))
    return 0;
  if (has_next && device_ns >= knot.device && next.device > knot.device) { // between two readings: no guess
    *ret_error_ns = (knot.half > next.half ? knot.half : next.half) / knot.rate;
    knot.rate = difference(next.ticks, knot.ticks) / difference(next.device, knot.device);
    return on_line(&knot, device_ns);
  }
  double away = difference(device_ns, knot.device);
  *ret_error_ns = knot.half / knot.rate + (away < 0 ? -away : away) * knot.rate_error;
  return on_line(&knot, device_ns);
}

void device_clock_start(struct device_clock *clock, double rate, double rate_error, double rate_error_least)
{
  *clock = (struct device_clock){.first_rate = rate,
                                 .rate = rate,
                                 .rate_error = rate_error,
                                 .rate_error_least = rate_error_least,
                                 .window_ns = WINDOW_FIRST_NS};
}

// What is known grows less sure with time, because the rate is not known exactly.
static double drift(const struct device_clock *clock, uint64_t from, uint64_t to)
{
  double ns = difference(to, from);
  return (ns < 0 ? -ns : ns) * clock->rate_error * clock->rate;
}

// Intersects an observation's bounds, in ticks above the map, with the known ones.
static void narrow(struct device_clock *clock, uint64_t device, double lower, double upper)
{
  double loss = drift(clock, clock->bound_device, device);
  if (device > clock->bound_device) {
    clock->lower -= loss;
    clock->upper += loss;
    clock->bound_device = device;
  } else {
    lower -= loss;
    upper += loss;
  }
  double low = lower > clock->lower ? lower : clock->lower, high = upper < clock->upper ? upper : clock->upper;
  bool agree = low <= high; // else the clock or its rate moved: what was known is worth nothing
  clock->lower = agree ? low : lower;
  clock->upper = agree ? high : upper;
}

// The rate from the anchor to here, where that is surer than what was known. Anchors move on, so that a clock whose rate
// changes (one that is steered) is followed.
static void measure_rate(struct device_clock *clock, uint64_t device, uint64_t ticks, double error)
{
  struct clock_knot here = {.device = device, .ticks = ticks};
  if (clock->anchor[0].ticks == 0) {
    clock->anchor[0] = clock->anchor[1] = here;
    clock->anchor_error[0] = clock->anchor_error[1] = error;
    return;
  }
  double run_ns = difference(device, clock->anchor[0].device);
  if (run_ns <= 0)
    return;
  double rate = difference(ticks, clock->anchor[0].ticks) / run_ns;
  double rate_error = (error + clock->anchor_error[0]) / (run_ns * clock->rate);
  if (rate > 0 && (rate_error < clock->rate_error || rate_error < clock->rate_error_least)) {
    clock->rate = rate;
    clock->rate_error = rate_error > clock->rate_error_least ? rate_error : clock->rate_error_least;
  }
  if (device - clock->anchor[1].device >= ANCHOR_NS) {
    clock->anchor[0] = clock->anchor[1];
    clock->anchor_error[0] = clock->anchor_error[1];
    clock->anchor[1] = here;
    clock->anchor_error[1] = error;
  }
}

// The map goes on at `device` from the middle of what is possible. One wide observation (a call that compiled a kernel)
// moves nothing then.
static void put_middle(struct device_clock *clock, const struct clock_knot *knot, uint64_t device)
{
  double middle = (clock->lower + clock->upper) / 2, half = (clock->upper - clock->lower) / 2;
  uint64_t ticks = on_line(knot, device) + (uint64_t)(int64_t)middle;
  measure_rate(clock, device, ticks, half);
  put_knot(clock, device, ticks, half);
  clock->lower = -half;
  clock->upper = half;
  clock->bound_device = device;
  clock->window_device = device;
}

static void observe(struct device_clock *clock, const struct clock_observation *seen)
{
  if (clock->count == 0) { // the first: its middle
    double half = (double)(seen->ticks_high - seen->ticks_low) / 2;
    clock->lower = -half;
    clock->upper = half;
    clock->bound_device = clock->window_device = seen->device_low;
    put_knot(clock, seen->device_low, seen->ticks_low + (seen->ticks_high - seen->ticks_low) / 2, half);
    return;
  }
  struct clock_knot newest = read_knot(clock, clock->count - 1);
  if (seen->device_low < newest.device)
    return; // about a time that is settled
  double lower = above(&newest, seen->device_low, seen->ticks_low);
  double upper = above(&newest, seen->device_high, seen->ticks_high);
  if (upper < lower)
    return; // not of this clock
  narrow(clock, seen->device_low, lower, upper);
  if (lower > 0 || upper < 0) { // the map is proved wrong
    double size = lower > 0 ? lower : -upper;
    clock->step_ticks = size > clock->step_ticks ? size : clock->step_ticks;
    put_middle(clock, &newest, seen->device_low);
  } else if (seen->device_low - clock->window_device >= clock->window_ns) {
    put_middle(clock, &newest, seen->device_low);
    if (clock->window_ns < WINDOW_LAST_NS)
      clock->window_ns *= 2;
  }
}

void device_clock_observe(struct device_clock *clock, const struct clock_observation *observation)
{
  if (observation->ticks_high < observation->ticks_low || observation->device_high < observation->device_low)
    return;
  if (__atomic_exchange_n(&clock->is_busy, 1, __ATOMIC_ACQUIRE) != 0)
    return; // another thread has one, too: this one is not needed
  observe(clock, observation);
  __atomic_store_n(&clock->is_busy, 0, __ATOMIC_RELEASE);
}

double device_clock_step_ns(const struct device_clock *clock)
{
  return clock->step_ticks / clock->first_rate;
}
