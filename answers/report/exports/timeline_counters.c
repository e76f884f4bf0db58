// SPDX-License-Identifier: Apache-2.0
// Counters of a run as lines that can be drawn: totals become rates, each from one reading to the next. Called by timeline.c.
#include "report/exports/timeline.h"

#include "base/saturate.h"

#include <inttypes.h>
#include <string.h>

// How a total is drawn, by the end of its name; what it grows by in a second is multiplied.
static const struct rate {
  const char *ending, *unit;
  double factor;
} rates[] = {
    {"_ns", "%", 100 / 1e9}, // 100 is one processor, or one thread that waits all the time
    {"_j", "W", 1},
    {"", "1/s", 1},
};

static const struct rate *rate_of(const char *name)
{
  const size_t length = strlen(name);
  for (const struct rate *rate = rates;; rate++) {
    const size_t ending = strlen(rate->ending);
    if (length >= ending && strcmp(name + length - ending, rate->ending) == 0)
      return rate;
  }
}

// The process of the run with this number: where it has no track, or the counter is of the machine, that of the first track.
static size_t process_of(const struct timeline_run *run, int64_t process_id, bool *ret_is_own)
{
  for (size_t i = 0; i < run->track_count; i++)
    if (process_id != STORE_NONE && run->tracks[i].track->process_id == process_id) {
      *ret_is_own = true;
      return run->tracks[i].process;
    }
  *ret_is_own = false;
  return run->tracks[0].process;
}

static const char *name_line(const struct store_counter *counter, const char *ending, bool is_own, struct arena *arena)
{
  const char *name = arena_copy(arena, counter->name, strlen(counter->name) - strlen(ending));
  if (counter->source != NULL)
    name = arena_format(arena, "%s %s", name, counter->source);
  if (counter->process_id != STORE_NONE && !is_own)
    name = arena_format(arena, "%s, process %" PRId64, name, counter->process_id);
  if (counter->thread_id != STORE_NONE)
    name = arena_format(arena, "%s, thread %" PRId64, name, counter->thread_id);
  if (counter->device_id != STORE_NONE)
    name = arena_format(arena, "%s, device %" PRId64, name, counter->device_id);
  return name;
}

// Of a total with `count` readings there are as many points; the last one ends the line. What is before `first_ns`, where the
// timeline begins, is at its begin.
static void fill_points(const struct store_counter_value *values, size_t count, int64_t first_ns,
                        const struct rate *rate, struct timeline_counter *line)
{
  for (size_t i = 0; i < count; i++) {
    double value = rate == NULL ? values[i].value : 0;
    if (rate != NULL && i + 1 < count && values[i + 1].time_ns > values[i].time_ns) {
      const double seconds = (double)saturate_subtract(values[i + 1].time_ns, values[i].time_ns) / 1e9;
      value = (values[i + 1].value - values[i].value) / seconds * rate->factor;
    }
    line->points[i] = (struct timeline_point){values[i].time_ns > first_ns ? values[i].time_ns : first_ns, value};
  }
  line->point_count = count;
}

enum status timeline_load_counters(struct timeline *timeline, struct arena *arena, struct timeline_run *run,
                                   struct error *err)
{
  struct store_counter *counters;
  struct store_counter_value *values;
  size_t count, value_count, at = 0;
  XSP_TRY(store_counters(timeline->store, run->run->run_id, arena, &counters, &count, err));
  if (count == 0 || run->track_count == 0)
    return STATUS_OK;
  XSP_TRY(store_counter_values(timeline->store, run->run->run_id, arena, &values, &value_count, err));
  run->counters = arena_alloc_array(arena, count, sizeof *run->counters);
  for (size_t i = 0; i < count; i++) {
    const struct rate *rate = counters[i].is_total ? rate_of(counters[i].name) : NULL;
    struct timeline_counter *line = &run->counters[run->counter_count++];
    while (at < value_count && values[at].counter_id < counters[i].counter_id)
      at++; // of no counter
    const size_t first = at;
    while (at < value_count && values[at].counter_id == counters[i].counter_id)
      at++;
    bool is_own;
    line->counter_id = counters[i].counter_id;
    line->process = process_of(run, counters[i].process_id, &is_own);
    line->name = name_line(&counters[i], rate != NULL ? rate->ending : "", is_own, arena);
    line->is_of_thread = counters[i].thread_id != STORE_NONE;
    line->unit = rate != NULL ? rate->unit : "";
    line->points = arena_alloc_array(arena, at - first + 1, sizeof *line->points);
    fill_points(values + first, at - first, timeline->first_ns - run->shift_ns, rate, line);
  }
  return STATUS_OK;
}
