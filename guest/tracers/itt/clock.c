// SPDX-License-Identifier: Apache-2.0
// Times that modules hand in become ticks of the session. Those of itt_get_timestamp are ticks already; a clock domain of
// the program's own is tied to them by one reading of both clocks, when it is made and when it is reset.
#include "tracers/itt/itt.h"

#include "base/clock.h"

#include <errno.h>
#include <stdlib.h>

#define FREQUENCY_MOST UINT64_C(1000000000000)

struct reading {
  uint64_t ticks, ns;
};
#define READINGS 8 // resets that may pass while a thread reads one
struct own_clock {
  struct itt_clock_domain shared; // first
  uint32_t resets;                // atomic
  struct tied_clock {             // complete before shared.extra2 points to it
    struct reading at;
    uint64_t base, frequency;
  } tied[READINGS];
};

static struct reading first;             // when the tracer started
static struct itt_clock_domain *domains; // atomic list

// Both clocks at one instant: of a few tries the one that was interrupted least.
static struct reading read_both(void)
{
  struct reading best = {0, 0};
  uint64_t best_width = UINT64_MAX;
  for (int i = 0; i < 4; i++) {
    uint64_t before = xsp_clock_ticks(), ns = clock_now_ns(CLOCK_MONOTONIC), width = xsp_clock_ticks() - before;
    if (width < best_width) {
      best = (struct reading){before + width / 2, ns};
      best_width = width;
    }
  }
  return best;
}

void itt_clock_start(void)
{
  first = read_both();
}

itt_stamp itt_get_timestamp(void)
{
  return xsp_clock_ticks();
}

// Times of modules are data: one well before the start of this tracer, or in the future, is of another clock. Processors
// may disagree a little about now.
bool itt_accepts(const struct xsp_site *site, uint64_t start, uint64_t end)
{
  const uint64_t before = 1000000000, after = 10000000;
  if (annotation_site_is_off(site))
    return false;
  if (start != 0 && start <= end && start + before >= first.ticks && end <= xsp_clock_ticks() + after)
    return true;
  itt_lose(ITT_LOSS_TIME);
  return false;
}

static void tie(struct itt_clock_domain *clock)
{
  struct own_clock *own = (struct own_clock *)(void *)clock;
  struct tied_clock *fresh = &own->tied[__atomic_fetch_add(&own->resets, 1, __ATOMIC_RELAXED) % READINGS];
  struct itt_clock_info info = {0, 0};
  clock->read(&info, clock->data);
  fresh->at = read_both();
  fresh->base = info.base;
  fresh->frequency = info.frequency;
  __atomic_store_n(&clock->extra2, fresh, __ATOMIC_RELEASE);
}

struct itt_clock_domain *itt_clock_domain_create(itt_clock_reader read, void *data)
{
  if (read == NULL)
    return NULL;
  int saved_errno = errno;
  struct own_clock *own = calloc(1, sizeof *own);
  struct itt_clock_domain *fresh = own == NULL ? NULL : &own->shared;
  if (fresh != NULL) {
    fresh->read = read;
    fresh->data = data;
    read(&fresh->info, data);
    tie(fresh);
    fresh->next = __atomic_load_n(&domains, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&domains, &fresh->next, fresh, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
      ;
  }
  errno = saved_errno;
  return fresh;
}

void itt_clock_domain_reset(void)
{
  int saved_errno = errno;
  for (struct itt_clock_domain *clock = __atomic_load_n(&domains, __ATOMIC_ACQUIRE); clock != NULL; clock = clock->next)
    tie(clock);
  errno = saved_errno;
}

// How many ticks a nanosecond has: measured since the tracer started; the longer ago, the better.
static double ticks_per_ns(struct reading now)
{
  if (first.ticks == 0 || now.ns <= first.ns || now.ticks <= first.ticks)
    return 1;
  return (double)(now.ticks - first.ticks) / (double)(now.ns - first.ns);
}

uint64_t itt_ticks(const struct itt_clock_domain *clock, itt_stamp stamp)
{
  const struct tied_clock *tied = clock == NULL ? NULL : __atomic_load_n(&clock->extra2, __ATOMIC_ACQUIRE);
  if (clock == NULL)
    return stamp;
  if (tied == NULL || tied->frequency == 0 || tied->frequency > FREQUENCY_MOST)
    return 0;
  double seconds = (double)(int64_t)(stamp - tied->base) / (double)tied->frequency;
  if (!(seconds > -1e6 && seconds < 1e6)) // eleven days: nothing that was recorded
    return 0;
  return tied->at.ticks + (uint64_t)(int64_t)(seconds * 1e9 * ticks_per_ns(read_both()));
}
