// SPDX-License-Identifier: Apache-2.0
// A1's python_ms: samples in Python within the kept observations, each on the thread of its observation.
#include "analyze/lines/python_time.h"

#include "analyze/lines/lines.h"
#include "analyze/lines/times.h"
#include "base/saturate.h"
#include "base/sorted.h"

#include <math.h>
#include <stdlib.h>

struct python_place { // of a kept observation
  uint32_t track;
  int64_t start_ns, end_ns;
};
struct counted {
  int64_t samples; // on a CPU, in kept observations
  double ns, squares, python_ns, python_squares;
};

SORTED_BY(compare_places, struct python_place, RISING(track) ?: RISING(start_ns))

// Those of kept observations with a span, in the order of track and start. `*at`: of the set's observations, which go on.
static size_t list_places(const struct run_columns *columns, const bool *is_kept, size_t *at,
                          struct python_place *places)
{
  const struct view_run *run = columns->run;
  size_t count = 0;
  for (size_t i = 0; i < run->observation_count; i++) {
    const struct store_observation *observation = &run->observations[i];
    if (observation->warmup || !is_kept[(*at)++])
      continue;
    uint32_t row = run_columns_row(columns, observation->span_id);
    if (row != ROW_NONE)
      places[count++] = (struct python_place){columns->spans.track_id[row], observation->start_ns,
                                              saturate_add(observation->start_ns, observation->duration_ns)};
  }
  qsort(places, count, sizeof *places, compare_places);
  return count;
}

static bool is_within(const struct python_place *places, size_t count, uint32_t track, int64_t time_ns)
{
  size_t end = PARTITION_POINT(i, 0, count,
                               places[i].track < track || (places[i].track == track && places[i].start_ns <= time_ns));
  return end > 0 && places[end - 1].track == track && time_ns < places[end - 1].end_ns;
}

static enum status count_run(struct question *question, const struct view_set *set, const struct view_run *run,
                             const struct store_call_paths *paths, struct arena *arena, size_t *at,
                             struct counted *counted, struct error *err)
{
  struct store *store = question->view->store;
  struct run_columns columns;
  struct store_samples samples;
  XSP_TRY(store_load_samples(store, run->run->run_id, arena, &samples, err));
  XSP_TRY(run_columns_load(question, run, INNERMOST_COLUMNS | STORE_BIT(STORE_CATEGORY), arena, &columns, err));
  struct python_place *places = arena_alloc_array(arena, run->observation_count + 1, sizeof *places);
  size_t place_count = list_places(&columns, set->is_kept, at, places);
  const uint32_t *rows = innermost_rows(&columns, &samples, &(struct map){0}, arena); // of the observation's own track
  const uint8_t *parts = lines_times_parts(&columns, paths, &samples, rows, arena);
  for (size_t i = 0; i < samples.count; i++) {
    if (samples.kind[i] != SAMPLE_CPU || !is_within(places, place_count, samples.track_id[i], samples.time_ns[i]))
      continue;
    const double ns = (double)samples.duration_ns[i];
    bool is_in_python = parts[i] == PART_PYTHON;
    counted->samples++;
    counted->ns += ns;
    counted->squares += ns * ns;
    counted->python_ns += is_in_python ? ns : 0;
    counted->python_squares += is_in_python ? ns * ns : 0;
  }
  return STATUS_OK;
}

// A set without samples costs no more than the question.
static enum status has_samples(struct store *store, const struct view_set *set, bool *ret_has, struct error *err)
{
  size_t count = 0;
  for (size_t i = 0; i < set->run_count && count == 0; i++)
    XSP_TRY(store_count_samples(store, set->runs[i]->run->run_id, &count, err));
  *ret_has = count > 0;
  return STATUS_OK;
}

enum status python_time_load(struct question *question, const struct view_set *set, struct python_time *ret_time,
                             struct error *err)
{
  struct counted counted = {0};
  struct store_call_paths paths;
  bool has = false;
  size_t at = 0;
  *ret_time = (struct python_time){NAN, NAN};
  XSP_TRY(has_samples(question->view->store, set, &has, err));
  if (!has)
    return STATUS_OK;
  XSP_TRY(store_call_paths(question->view->store, question->scratch, &paths, err));
  for (size_t i = 0; i < set->run_count; i++) {
    struct arena arena SCOPED(arena_done) = {0};
    XSP_TRY(count_run(question, set, set->runs[i], &paths, &arena, &at, &counted, err));
  }
  if (counted.samples > 0 && set->kept_count > 0) {
    double kept = (double)set->kept_count;
    *ret_time = (struct python_time){
        .ms = counted.python_ns / kept / 1e6,
        .error_ms =
            lines_error_ns(counted.python_ns, counted.python_squares, counted.ns, counted.squares) / kept / 1e6};
  }
  return STATUS_OK;
}
