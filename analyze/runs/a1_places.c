// SPDX-License-Identifier: Apache-2.0
// The observations of a run in the order of time on their tracks and in their processes; see a1_places.h.
#include "analyze/runs/a1_places.h"

#include "base/saturate.h"
#include "base/sorted.h"

#include <stdlib.h>
#include <string.h>

// ---- tracks and processes -------------------------------------------------------------------------------------------

static int compare_processes(const void *left, const void *right)
{
  const struct store_track *a = ((const struct known_track *)left)->track;
  const struct store_track *b = ((const struct known_track *)right)->track;
  int order = strcmp(a->host != NULL ? a->host : "", b->host != NULL ? b->host : "");
  if (order != 0)
    return order;
  return (a->process_id > b->process_id) - (a->process_id < b->process_id);
}

static int compare_track_ids(const void *left, const void *right)
{
  int64_t a = ((const struct known_track *)left)->track->track_id;
  int64_t b = ((const struct known_track *)right)->track->track_id;
  return (a > b) - (a < b);
}

static enum status load_tracks(struct question *question, const struct view_run *run, struct places *places,
                               struct error *err)
{
  struct arena *scratch = question->scratch;
  struct store_track *tracks = NULL;
  XSP_TRY(store_tracks(question->view->store, run->run->run_id, scratch, &tracks, &places->track_count, err));
  places->tracks = arena_alloc_array(scratch, places->track_count + 1, sizeof *places->tracks);
  for (size_t i = 0; i < places->track_count; i++)
    places->tracks[i].track = &tracks[i];
  if (places->track_count > 1)
    qsort(places->tracks, places->track_count, sizeof *places->tracks, compare_processes);
  for (size_t i = 0; i < places->track_count; i++) {
    bool is_new = i == 0 || compare_processes(&places->tracks[i - 1], &places->tracks[i]) != 0;
    places->process_count += is_new;
    places->tracks[i].process = (uint32_t)places->process_count - 1;
  }
  if (places->track_count > 1)
    qsort(places->tracks, places->track_count, sizeof *places->tracks, compare_track_ids);
  return STATUS_OK;
}

uint32_t places_process(const struct places *places, uint32_t track_id)
{
  const struct store_track wanted = {.track_id = track_id};
  const struct known_track key = {.track = &wanted};
  const struct known_track *track =
      sorted_find(&key, places->tracks, places->track_count, sizeof *places->tracks, compare_track_ids);
  return track != NULL ? track->process : PLACE_NONE;
}

// ---- observations ---------------------------------------------------------------------------------------------------

static int compare_models(const void *left, const void *right)
{
  const struct model_span *a = left, *b = right;
  return (a->span_id > b->span_id) - (a->span_id < b->span_id);
}

static int compare_ats(const void *left, const void *right)
{
  const struct place *a = left, *b = right;
  return (a->at > b->at) - (a->at < b->at);
}

static int compare_places(const void *left, const void *right)
{
  const struct place *a = left, *b = right;
  if (a->at != b->at)
    return a->at < b->at ? -1 : 1;
  if (a->start_ns != b->start_ns)
    return a->start_ns < b->start_ns ? -1 : 1;
  return a->observation < b->observation ? -1 : a->observation > b->observation;
}

static void order_places(struct place *places, size_t count)
{
  if (count > 1)
    qsort(places, count, sizeof *places, compare_places);
  for (size_t i = 0; i < count; i++) {
    places[i].latest_end_ns = places[i].end_ns;
    if (i > 0 && places[i - 1].at == places[i].at && places[i - 1].latest_end_ns > places[i].end_ns)
      places[i].latest_end_ns = places[i - 1].latest_end_ns;
  }
}

enum status places_load(struct question *question, const struct view_run *run, struct model_span *models,
                        size_t model_count, struct places *ret_places, struct error *err)
{
  struct arena *scratch = question->scratch;
  *ret_places = (struct places){0};
  XSP_TRY(load_tracks(question, run, ret_places, err));
  ret_places->by_track = arena_alloc_array(scratch, run->observation_count + 1, sizeof *ret_places->by_track);
  ret_places->by_process = arena_alloc_array(scratch, run->observation_count + 1, sizeof *ret_places->by_process);
  if (model_count > 1)
    qsort(models, model_count, sizeof *models, compare_models);
  for (size_t i = 0; i < run->observation_count; i++) {
    const struct store_observation *observation = &run->observations[i];
    const struct model_span wanted = {.span_id = observation->span_id};
    const struct model_span *model = sorted_find(&wanted, models, model_count, sizeof *models, compare_models);
    if (model == NULL)
      continue;
    struct place place = {.at = model->track_id,
                          .start_ns = observation->start_ns,
                          .end_ns = saturate_add(observation->start_ns, observation->duration_ns),
                          .observation = i};
    ret_places->by_track[ret_places->count] = place;
    place.at = places_process(ret_places, model->track_id);
    ret_places->by_process[ret_places->count++] = place;
  }
  order_places(ret_places->by_track, ret_places->count);
  order_places(ret_places->by_process, ret_places->count);
  return STATUS_OK;
}

// The observations at `at` as [first, end) of `places`; empty where there is none.
static size_t find_places(const struct place *places, size_t count, uint32_t at, size_t *ret_end)
{
  struct place key = {.at = at};
  size_t first = sorted_lower_bound(&key, places, count, sizeof *places, compare_ats);
  key.at++;
  *ret_end = at == UINT32_MAX ? count : sorted_lower_bound(&key, places, count, sizeof *places, compare_ats);
  return first;
}

// Those of the track, else those of the process.
static const struct place *choose(const struct places *places, uint32_t track_id, uint32_t process, size_t *ret_first,
                                  size_t *ret_end)
{
  *ret_first = find_places(places->by_track, places->count, track_id, ret_end);
  if (*ret_first < *ret_end)
    return places->by_track;
  *ret_first = find_places(places->by_process, places->count, process, ret_end);
  return places->by_process;
}

// The first of [first, end) whose `times` (a member of list[0]) is after the instant.
static size_t after(const int64_t *times, size_t first, size_t end, int64_t time_ns)
{
  const int64_t *from = (const int64_t *)(const void *)((const char *)times + first * sizeof(struct place));
  if (time_ns == INT64_MAX)
    return end;
  return first + sorted_lower_bound_i64(time_ns + 1, from, end - first, sizeof(struct place));
}

const struct place *places_after(const struct places *places, uint32_t track_id, uint32_t process, int64_t time_ns)
{
  size_t first, end;
  const struct place *list = choose(places, track_id, process, &first, &end);
  size_t at = after(&list->latest_end_ns, first, end, time_ns);
  return at < end ? &list[at] : NULL;
}

const struct place *places_before(const struct places *places, uint32_t track_id, uint32_t process, int64_t time_ns)
{
  size_t first, end;
  const struct place *list = choose(places, track_id, process, &first, &end);
  size_t at = after(&list->start_ns, first, end, time_ns);
  return at > first ? &list[at - 1] : NULL;
}
