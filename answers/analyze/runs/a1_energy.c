// SPDX-License-Identifier: Apache-2.0
// Adds up the energy of a set's runs; see a1_energy.h. Called by a1_model.c.
#include "analyze/runs/a1_energy.h"

#include "base/saturate.h"

#include <math.h>
#include <string.h>

// What a total had counted at a time, between two readings evenly. NaN: the time is not between two.
static double total_at(const struct store_counter_value *values, size_t count, int64_t time_ns)
{
  for (size_t i = 0; i + 1 < count; i++)
    if (values[i].time_ns <= time_ns && time_ns <= values[i + 1].time_ns) {
      const double apart = (double)saturate_subtract(values[i + 1].time_ns, values[i].time_ns);
      const double share = apart > 0 ? (double)saturate_subtract(time_ns, values[i].time_ns) / apart : 0;
      return values[i].value + share * (values[i + 1].value - values[i].value);
    }
  return NAN;
}

// Of the run's observations that are no warm-up: from the first's start to the last's end. False: there is none.
static bool find_window(const struct view_run *run, int64_t *ret_start_ns, int64_t *ret_end_ns, size_t *ret_count)
{
  *ret_count = 0;
  for (size_t i = 0; i < run->observation_count; i++) {
    const struct store_observation *one = &run->observations[i];
    const int64_t end_ns = saturate_add(one->start_ns, one->duration_ns);
    if (one->warmup)
      continue;
    *ret_start_ns = *ret_count == 0 || one->start_ns < *ret_start_ns ? one->start_ns : *ret_start_ns;
    *ret_end_ns = *ret_count == 0 || end_ns > *ret_end_ns ? end_ns : *ret_end_ns;
    ++*ret_count;
  }
  return *ret_count > 0;
}

// A package's parts, but for its memory, are in the package's energy.
static bool is_meter(const struct store_counter *counter)
{
  const char *source = counter->source != NULL ? counter->source : "";
  return counter->is_total && strcmp(counter->name, "energy_j") == 0 &&
         (strncmp(source, "package", 7) == 0 || strncmp(source, "dram", 4) == 0 || strncmp(source, "GPU ", 4) == 0);
}

static enum status add_run(struct store *store, const struct view_run *run, double *joules, size_t *observations,
                           struct error *err)
{
  int64_t start_ns = 0, end_ns = 0;
  size_t count, value_count, at = 0, seen;
  struct store_counter *counters;
  struct store_counter_value *values;
  struct arena arena = {0};
  double sum = NAN;
  if (!find_window(run, &start_ns, &end_ns, &seen))
    return STATUS_OK;
  enum status status = store_counters(store, run->run->run_id, &arena, &counters, &count, err);
  if (status == STATUS_OK)
    status = store_counter_values(store, run->run->run_id, &arena, &values, &value_count, err);
  for (size_t i = 0; i < count && status == STATUS_OK; i++) {
    const size_t first = at;
    while (at < value_count && values[at].counter_id <= counters[i].counter_id)
      at++;
    if (is_meter(&counters[i]))
      sum = (isnan(sum) ? 0 : sum) + total_at(values + first, at - first, end_ns) -
            total_at(values + first, at - first, start_ns);
  }
  arena_done(&arena);
  *joules += sum;
  *observations += seen;
  return status;
}

enum status analyze_energy_per_input(const struct question *question, const struct batch_point *point,
                                     double *ret_joules, struct error *err)
{
  double joules = 0;
  size_t observations = 0;
  *ret_joules = NAN;
  for (size_t i = 0; i < point->set->run_count; i++)
    XSP_TRY(add_run(question->view->store, point->set->runs[i], &joules, &observations, err));
  if (observations > 0 && point->batch_size > 0)
    *ret_joules = joules / ((double)observations * (double)point->batch_size);
  return STATUS_OK;
}
