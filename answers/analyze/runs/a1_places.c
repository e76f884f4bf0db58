// SPDX-License-Identifier: Apache-2.0
// The observations of a run in the order of time on their tracks and in their processes; see a1_places.h.
#include "analyze/runs/a1_places.h"

#include "analyze/run_columns.h"
#include "base/saturate.h"
#include "base/sorted.h"

#include <stdlib.h>
#include <string.h>

#define AT_PROCESS (UINT64_C(1) << 32) // place.at of process 0; below it are track ids

uint32_t stage_places_process(const struct stage_places *places, uint32_t track_id)
{
  const uint64_t *process = map_find(&places->process_of, map_number(track_id));
  return process != NULL ? (uint32_t)*process : PLACE_NONE;
}

SORTED_BY(compare_ats, struct stage_place, RISING(at))

SORTED_BY(compare_places, struct stage_place, RISING(at) ?: RISING(start_ns) ?: RISING(observation))

enum status stage_places_load(struct question *question, const struct view_run *run, const struct map *track_of,
                              struct stage_places *ret_places, struct error *err)
{
  *ret_places = (struct stage_places){0};
  XSP_TRY(run_processes_load(question->view->store, run->run->run_id, question->scratch, &ret_places->process_of,
                             &ret_places->process_count, err));
  struct stage_place *items = arena_alloc_array(question->scratch, 2 * run->observation_count + 1, sizeof *items);
  size_t count = 0;
  for (size_t i = 0; i < run->observation_count; i++) {
    const struct store_observation *observation = &run->observations[i];
    const uint64_t *track_id = map_find(track_of, map_number((uint64_t)observation->span_id));
    if (track_id == NULL)
      continue;
    struct stage_place place = {.at = *track_id,
                                .start_ns = observation->start_ns,
                                .end_ns = saturate_add(observation->start_ns, observation->duration_ns),
                                .observation = i};
    items[count++] = place;
    place.at = AT_PROCESS + stage_places_process(ret_places, (uint32_t)*track_id);
    items[count++] = place;
  }
  qsort(items, count, sizeof *items, compare_places);
  for (size_t i = 0; i < count; i++) {
    items[i].latest_end_ns = items[i].end_ns;
    if (i > 0 && items[i - 1].at == items[i].at && items[i - 1].latest_end_ns > items[i].end_ns)
      items[i].latest_end_ns = items[i - 1].latest_end_ns;
  }
  ret_places->items = items;
  ret_places->count = count;
  return STATUS_OK;
}

void stage_places_done(struct stage_places *places)
{
  map_done(&places->process_of);
}

// The observations of the track, else those of the process: [return value, *ret_end) of items.
static size_t find(const struct stage_places *places, uint32_t track_id, uint32_t process, size_t *ret_end)
{
  struct stage_place key = {.at = track_id};
  size_t first = sorted_lower_bound(&key, places->items, places->count, sizeof key, compare_ats);
  if (first == places->count || places->items[first].at != key.at) {
    key.at = AT_PROCESS + process;
    first = sorted_lower_bound(&key, places->items, places->count, sizeof key, compare_ats);
  }
  key.at++;
  *ret_end = sorted_lower_bound(&key, places->items, places->count, sizeof key, compare_ats);
  return first;
}

// How many of `count` rising times, one in each place from `times` on, are not after the instant.
static size_t count_until(const int64_t *times, size_t count, int64_t time_ns)
{
  return time_ns == INT64_MAX ? count : sorted_lower_bound_i64(time_ns + 1, times, count, sizeof(struct stage_place));
}

const struct stage_place *stage_places_after(const struct stage_places *places, uint32_t track_id, uint32_t process,
                                             int64_t time_ns)
{
  size_t end, first = find(places, track_id, process, &end);
  size_t at = first + count_until(&places->items[first].latest_end_ns, end - first, time_ns);
  return at < end ? &places->items[at] : NULL;
}

const struct stage_place *stage_places_before(const struct stage_places *places, uint32_t track_id, uint32_t process,
                                              int64_t time_ns)
{
  size_t end, first = find(places, track_id, process, &end);
  size_t at = first + count_until(&places->items[first].start_ns, end - first, time_ns);
  return at > first ? &places->items[at - 1] : NULL;
}
