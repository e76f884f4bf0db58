// SPDX-License-Identifier: Apache-2.0
// Adds up the energy of a set's runs; see a1_energy.h. Called by a1_model.c.
#include "analyze/runs/a1_energy.h"

#include "base/saturate.h"
#include "base/sorted.h"

#include <math.h>
#include <string.h>

// What a total had counted at a time, between two readings evenly. NaN: the time is not between two.
static double total_at(const struct store_counter_value *values, size_t count, int64_t time_ns)
{
  const size_t after = PARTITION_POINT(i, 0, count, values[i].time_ns <= time_ns);
  if (after == 0 || (after == count && values[after - 1].time_ns < time_ns))
    return NAN;
  if (after == count)
    return values[after - 1].value;
  const double apart = (double)saturate_subtract(values[after].time_ns, values[after - 1].time_ns);
  const double share = (double)saturate_subtract(time_ns, values[after - 1].time_ns) / apart;
  return values[after - 1].value + share * (values[after].value - values[after - 1].value);
}

// While an observation ran that is no warm-up; where several overlap, once. Between those of a leveled experiment other
// runs are measured.
static double grown_meanwhile(const struct view_run *run, const struct store_counter_value *values, size_t count)
{
  int64_t counted_ns = INT64_MIN;
  double sum = 0;
  for (size_t i = 0; i < run->observation_count; i++) {
    const struct store_observation *one = &run->observations[i];
    const int64_t end_ns = saturate_add(one->start_ns, one->duration_ns);
    if (one->warmup || end_ns <= counted_ns)
      continue;
    sum += total_at(values, count, end_ns) -
           total_at(values, count, one->start_ns > counted_ns ? one->start_ns : counted_ns);
    counted_ns = end_ns;
  }
  return sum;
}

// A package's parts, but for its memory, are in the package's energy.
static bool is_meter(const struct store_counter *counter)
{
  const char *source = counter->source != NULL ? counter->source : "";
  return counter->is_total && strcmp(counter->name, "energy_j") == 0 &&
         (strncmp(source, "package", 7) == 0 || strncmp(source, "dram", 4) == 0 || strncmp(source, "GPU ", 4) == 0);
}

static enum status add_run(struct store *store, const struct view_run *run, double *joules, struct error *err)
{
  size_t count, value_count, at = 0, seen = 0;
  struct store_counter *counters;
  struct store_counter_value *values;
  struct arena arena = {0};
  double sum = NAN;
  for (size_t i = 0; i < run->observation_count; i++)
    seen += !run->observations[i].warmup;
  if (seen == 0)
    return STATUS_OK;
  enum status status = store_counters(store, run->run->run_id, &arena, &counters, &count, err);
  if (status == STATUS_OK)
    status = store_counter_values(store, run->run->run_id, &arena, &values, &value_count, err);
  for (size_t i = 0; i < count && status == STATUS_OK; i++) {
    const size_t first = at;
    while (at < value_count && values[at].counter_id <= counters[i].counter_id)
      at++;
    if (is_meter(&counters[i]))
      sum = (isnan(sum) ? 0 : sum) + grown_meanwhile(run, values + first, at - first);
  }
  arena_done(&arena);
  *joules += sum;
  return status;
}

enum status analyze_energy_per_input(const struct question *question, const struct batch_point *point,
                                     double *ret_joules, struct error *err)
{
  double joules = 0;
  *ret_joules = NAN;
  for (size_t i = 0; i < point->set->run_count; i++)
    XSP_TRY(add_run(question->view->store, point->set->runs[i], &joules, err));
  if (point->set->inputs > 0)
    *ret_joules = joules / point->set->inputs;
  return STATUS_OK;
}
