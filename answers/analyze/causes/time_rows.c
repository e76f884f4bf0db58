// SPDX-License-Identifier: Apache-2.0
// Sorts a run's spans by what they are, and by process, so that the observations of each process are measured by its own spans alone.
// Called by time_parts.c.
#include "analyze/causes/time_rows.h"

#include "analyze/causes/loaders.h"

// TensorFlow's operators of iterators end where their input is there, on a thread of the input pipeline: the step waits for them.
static bool is_iterators(const struct time_parts_run *of, size_t row)
{
  const struct store_spans *spans = &of->columns.spans;
  return spans->level[row] == XSP_LEVEL_LAYER &&
         finding_time_is_iterator(store_text(of->columns.store, spans->name[row], NULL));
}

// On the thread of its observation, or of an iterator: what a loader's own thread does is no wait.
static bool is_loader(struct time_parts_run *of, size_t row)
{
  const struct store_spans *spans = &of->columns.spans;
  uint32_t observation;
  if (spans->level[row] == XSP_LEVEL_KERNEL || spans->kind[row] == XSP_KIND_EXECUTION ||
      !run_columns_observation(&of->columns, row, &observation))
    return false;
  uint32_t around = run_columns_row(&of->columns, of->run->observations[observation].span_id);
  return around != ROW_NONE && around != row &&
         (spans->track_id[around] == spans->track_id[row] || is_iterators(of, row)) &&
         finding_time_names_loader(&of->loaders, of->columns.store, spans->name[row], &of->found);
}

// A wait of the host that is recorded among executions is not work of the device.
static enum time_part part_of(struct time_parts_run *of, size_t row)
{
  const struct run_columns *columns = &of->columns;
  const struct store_spans *spans = &columns->spans;
  uint32_t category = spans->category[row];
  if (spans->kind[row] == XSP_KIND_EXECUTION && category != of->sync)
    return category == columns->memcpy || category == columns->memset ? TIME_COPIES : TIME_KERNELS;
  if (is_loader(of, row))
    return TIME_LOADER;
  if (spans->level[row] == XSP_LEVEL_KERNEL && category == of->api)
    return spans->kind[row] == XSP_KIND_LAUNCH ? TIME_LAUNCHES : TIME_CALLS;
  if (spans->level[row] == XSP_LEVEL_LAYER)
    return TIME_LAYERS;
  return spans->level[row] == XSP_LEVEL_MODEL || category == of->program ? TIME_PARTS : TIME_RANGES;
}

static void find_places(struct time_parts_run *of, const struct map *process_of_track, struct arena *arena)
{
  size_t count = of->run->observation_count;
  of->places = arena_alloc_array(arena, count + 1, sizeof *of->places);
  of->process_of = arena_alloc_array(arena, count + 1, sizeof *of->process_of);
  for (size_t k = 0, place = 0; k < count; k++) {
    uint32_t row = run_columns_row(&of->columns, of->run->observations[k].span_id);
    const uint64_t *process =
        row != ROW_NONE ? map_find(process_of_track, map_number(of->columns.spans.track_id[row])) : NULL;
    of->process_of[k] = process != NULL ? (uint32_t)*process : 0;
    of->places[k] = place;
    place += !of->run->observations[k].warmup;
  }
}

// Of its observation; else of its track, where its process has observations; else process_count, as that of a loader's worker.
static size_t process_of_row(const struct time_parts_run *of, const struct map *process_of_track,
                             const bool *is_observed, size_t row)
{
  uint32_t observation;
  if (run_columns_observation(&of->columns, row, &observation))
    return of->process_of[observation];
  const uint64_t *process = map_find(process_of_track, map_number(of->columns.spans.track_id[row]));
  return process != NULL && is_observed[*process] ? *process : of->process_count;
}

static void list_rows(struct time_parts_run *of, const struct map *process_of_track, struct arena *arena)
{
  size_t count = of->columns.spans.count, none = of->process_count;
  bool *is_observed = arena_alloc_array(arena, none + 1, sizeof *is_observed);
  uint32_t *process_of = arena_alloc_array(arena, count + 1, sizeof *process_of);
  of->rows = arena_alloc_array(arena, count + 1, sizeof *of->rows);
  of->first_row = arena_alloc_array(arena, none + 3, sizeof *of->first_row);
  for (size_t k = 0; k < of->run->observation_count; k++)
    is_observed[of->process_of[k]] = true;
  for (size_t i = 0; i < count; i++) {
    process_of[i] = (uint32_t)process_of_row(of, process_of_track, is_observed, i);
    of->first_row[process_of[i] + 2]++;
  }
  for (size_t i = 2; i < none + 3; i++) // first_row[process + 1] is where the next of it goes
    of->first_row[i] += of->first_row[i - 1];
  for (size_t i = 0; i < count; i++)
    of->rows[of->first_row[process_of[i] + 1]++] = (uint32_t)i;
}

enum status time_parts_load_rows(struct question *question, struct arena *arena, struct time_parts_run *of,
                                 struct error *err)
{
  struct store *store = question->view->store;
  const uint32_t wanted = STORE_BIT(STORE_START_NS) | STORE_BIT(STORE_DURATION_NS) | STORE_BIT(STORE_NAME) |
                          STORE_BIT(STORE_CATEGORY) | STORE_BIT(STORE_KIND) | STORE_BIT(STORE_FLAGS) |
                          STORE_BIT(STORE_TRACK_ID);
  struct store_track *tracks;
  size_t track_count;
  struct map process_of SCOPED(map_done) = {0}; // by track
  XSP_TRY(run_columns_load(question, of->run, wanted, arena, &of->columns, err));
  XSP_TRY(store_tracks(store, of->run->run->run_id, arena, &tracks, &track_count, err));
  XSP_TRY(run_processes_load(store, of->run->run->run_id, arena, &process_of, &of->process_count, err));
  for (size_t i = 0; i < track_count; i++) {
    if (tracks[i].clock != NULL)
      *map_at(&of->foreign, map_number((uint64_t)tracks[i].track_id), NULL) = 1;
    if (tracks[i].device_id != STORE_NONE)
      map_at(&of->devices, map_number((uint64_t)tracks[i].device_id), NULL);
  }
  of->api = run_columns_category(store, "api");
  of->sync = run_columns_category(store, "sync");
  of->program = run_columns_category(store, "program");
  const struct store_spans *spans = &of->columns.spans;
  of->process_count += of->process_count == 0; // of no track
  find_places(of, &process_of, arena);
  of->part_of = arena_alloc_array(arena, spans->count + 1, sizeof *of->part_of);
  for (size_t i = 0; i < spans->count; i++) {
    bool has_times =
        !(spans->flags[i] & STORE_SPAN_OPEN) && map_find(&of->foreign, map_number(spans->track_id[i])) == NULL;
    of->part_of[i] = (uint8_t)(has_times ? part_of(of, i) : TIME_PARTS);
    of->has_program |= spans->category[i] == of->program;
  }
  list_rows(of, &process_of, arena);
  return STATUS_OK;
}
