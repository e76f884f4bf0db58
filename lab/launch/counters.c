// SPDX-License-Identifier: Apache-2.0
// When counters are read, and which readings are stored. Called by draining.c, between drains.
#include "launch/counters.h"

#include "base/clock.h"
#include "base/debug.h"

#include <math.h>

#define SECOND_NS INT64_C(1000000000)
#define LEAST_APART_NS (SECOND_NS / 10)
#define APART_SHARE 512 // of the time so far: a program that runs for days is looked at rarely
#define COST_SHARE 200  // a look may take half a per cent of a processor

static const struct {
  const char *text;
  bool is_total;
} names[COUNTER_NAMES] = {
    [COUNTER_CPU_NS] = {"cpu_ns", true},
    [COUNTER_RUN_QUEUE_NS] = {"run_queue_ns", true},
    [COUNTER_RSS_BYTES] = {"rss_bytes", false},
    [COUNTER_CGROUP_BYTES] = {"cgroup_bytes", false},
    [COUNTER_CGROUP_PERIODS] = {"cgroup_periods", true},
    [COUNTER_CGROUP_THROTTLED_PERIODS] = {"cgroup_throttled_periods", true},
    [COUNTER_CGROUP_THROTTLED_NS] = {"cgroup_throttled_ns", true},
    [COUNTER_STEAL_NS] = {"steal_ns", true},
    [COUNTER_BUSY_NS] = {"busy_ns", true},
    [COUNTER_FREQUENCY_HZ] = {"frequency_hz", false},
    [COUNTER_ENERGY_J] = {"energy_j", true},
    [COUNTER_GPU_PCT] = {"gpu_pct", false},
    [COUNTER_GPU_BYTES] = {"gpu_bytes", false},
    [COUNTER_GPU_ENERGY_J] = {"energy_j", true},
};

// ---- series ------------------------------------------------------------------------------------------------------------
static int64_t or_none(int64_t id)
{
  return id != 0 ? id : STORE_NONE;
}

static enum status store_value(struct counters *counters, struct counter_series *series, int64_t time_ns, double value,
                               struct error *err)
{
  const double base = names[series->name].is_total ? series->first : 0;
  const struct store_counter_value row = {series->counter_id, time_ns, value - base};
  series->stored_ns = time_ns;
  return store_add_counter_value(counters->store, counters->run_id, &row, err);
}

// A total that appears later, of a thread that began, grew from 0 since the look before.
static enum status begin_series(struct counters *counters, const struct counter_of *of, double value,
                                struct counter_series **ret_series, struct error *err)
{
  struct counter_series *series = vector_add(&counters->series);
  const bool is_late = names[of->name].is_total && counters->before_ns != 0;
  *series = (struct counter_series){.name = of->name,
                                    .counter_id = (int64_t)counters->series.count,
                                    .first = is_late ? 0 : value,
                                    .last = is_late ? 0 : value,
                                    .last_ns = counters->before_ns};
  const struct store_counter row = {.counter_id = series->counter_id,
                                    .name = names[of->name].text,
                                    .source = of->source,
                                    .process_id = or_none(of->process),
                                    .thread_id = or_none(of->thread),
                                    .device_id = STORE_NONE,
                                    .is_total = names[of->name].is_total};
  *ret_series = series;
  XSP_TRY(store_add_counter(counters->store, counters->run_id, &row, err));
  return is_late ? store_value(counters, series, counters->before_ns, 0, err) : STATUS_OK;
}

// A value that stays is stored when it begins and when it ends.
enum status counters_put(struct counters *counters, const struct counter_of *of, double value, struct error *err)
{
  if (isnan(value))
    return STATUS_OK;
  const struct map_key key = {(uint64_t)of->process << 32 | (uint32_t)of->thread,
                              (uint64_t)of->source_number << 8 | of->name};
  uint64_t *place = map_at(&counters->places, key, NULL);
  struct counter_series *series;
  if (*place == 0) {
    *place = counters->series.count + 1;
    XSP_TRY(begin_series(counters, of, value, &series, err));
  } else {
    series = &counters->series.items[*place - 1];
  }
  const bool has_changed = value != series->last || series->stored_ns == 0;
  if (has_changed && series->stored_ns != 0 && series->stored_ns != series->last_ns)
    XSP_TRY(store_value(counters, series, series->last_ns, series->last, err));
  series->last = value;
  series->last_ns = counters->now_ns;
  return has_changed ? store_value(counters, series, counters->now_ns, value, err) : STATUS_OK;
}

// Steps of the wall clock move no reading, as they move no span.
static void set_now(struct counters *counters, int64_t monotonic_ns)
{
  counters->now_ns = counters->begin_unix_ns + (monotonic_ns - counters->begin_ns);
}

// ---- looks -------------------------------------------------------------------------------------------------------------
enum status counters_look(struct counters *counters, int64_t *ret_wait_ns, struct error *err)
{
  const int64_t now_ns = (int64_t)clock_now_ns(CLOCK_MONOTONIC);
  if (counters->begin_ns == 0) {
    counters->begin_ns = counters->next_ns = now_ns;
    counters->begin_unix_ns = (int64_t)clock_now_ns(CLOCK_REALTIME);
    cgroup_find(counters->program, &counters->group);
    energy_find(ENERGY_FOLDER, &counters->energy);
    counters_open_gpus(counters);
  }
  if (now_ns < counters->next_ns) {
    *ret_wait_ns = counters->next_ns - now_ns;
    return STATUS_OK;
  }
  const uint64_t before_ns = clock_now_ns(CLOCK_THREAD_CPUTIME_ID);
  set_now(counters, now_ns);
  XSP_TRY(counters_read_processes(counters, err));
  XSP_TRY(counters_read_machine(counters, err));
  XSP_TRY(counters_read_gpus(counters, err));
  counters->before_ns = counters->now_ns;
  const int64_t share_ns = (now_ns - counters->begin_ns) / APART_SHARE;
  int64_t apart_ns = (int64_t)(clock_now_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns) * COST_SHARE;
  apart_ns = apart_ns > share_ns ? apart_ns : share_ns;
  apart_ns = apart_ns > LEAST_APART_NS ? apart_ns : LEAST_APART_NS;
  counters->next_ns = now_ns + apart_ns;
  *ret_wait_ns = apart_ns;
  return STATUS_OK;
}

enum status counters_finish(struct counters *counters, struct error *err)
{
  int64_t wait_ns;
  if (counters->store == NULL)
    return STATUS_OK;
  if (counters->begin_ns == 0) // it ended before the first look
    XSP_TRY(counters_look(counters, &wait_ns, err));
  set_now(counters, (int64_t)clock_now_ns(CLOCK_MONOTONIC));
  XSP_TRY(counters_read_machine(counters, err));
  XSP_TRY(counters_read_gpus(counters, err));
  for (size_t i = 0; i < counters->series.count; i++) {
    struct counter_series *series = &counters->series.items[i];
    if (series->stored_ns != series->last_ns)
      XSP_TRY(store_value(counters, series, series->last_ns, series->last, err));
  }
  DEBUG(launch, "read %zu counters", counters->series.count);
  return STATUS_OK;
}

void counters_free(struct counters *counters)
{
  if (counters->has_nvml)
    (void)counters->nvml.shutdown();
  vector_done(&counters->series);
  map_done(&counters->places);
}
