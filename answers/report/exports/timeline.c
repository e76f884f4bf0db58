// SPDX-License-Identifier: Apache-2.0
// The file's side of a timeline: where time begins, loading one run. timeline_places.c finds processes and threads,
// timeline_lanes.c lays the lanes.
#include "report/exports/timeline.h"

#include "base/sorted.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// ---- time ------------------------------------------------------------------------------------------------------------
static bool has_foreign_clock(const struct timeline_run_facts *facts, uint32_t track_id)
{
  size_t place = timeline_find_track(facts->tracks, facts->track_count, track_id);
  return place < facts->track_count && facts->tracks[place].clock != NULL;
}

// Earliest start on a track that is drawn; INT64_MAX: none.
static int64_t earliest(const struct timeline_run_facts *facts, const struct store_spans *spans)
{
  int64_t first_ns = INT64_MAX;
  for (size_t row = 0; row < spans->count; row++)
    if (spans->start_ns[row] < first_ns && !has_foreign_clock(facts, spans->track_id[row]))
      first_ns = spans->start_ns[row];
  return first_ns;
}

static enum status run_first(struct timeline *timeline, size_t index, int64_t *ret_first_ns, struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct store_spans spans;
  struct timeline_run_facts *facts = &timeline->run_facts[index];
  uint32_t columns =
      STORE_BIT(STORE_START_NS) | STORE_BIT(STORE_TRACK_ID) | STORE_BIT(STORE_LEVEL) | STORE_BIT(STORE_CATEGORY);
  XSP_TRY(store_load_spans(timeline->store, timeline->runs[index].run_id, columns, &arena, &spans, err));
  timeline_describe_tracks(timeline, facts, &spans);
  timeline_see_roles(timeline, facts, &spans);
  *ret_first_ns = earliest(facts, &spans);
  facts->span_count = spans.count;
  facts->first_ns = *ret_first_ns != INT64_MAX ? *ret_first_ns : 0;
  return STATUS_OK;
}

static enum status find_first(struct timeline *timeline, struct error *err)
{
  int64_t first[2] = {INT64_MAX, INT64_MAX}; // of runs that count from their own zero, and from the Unix epoch
  for (size_t i = 0; i < timeline->run_count; i++) {
    int64_t run_first_ns = INT64_MAX;
    XSP_TRY(run_first(timeline, i, &run_first_ns, err));
    int64_t *kept = &first[timeline->runs[i].epoch_is_unix];
    *kept = run_first_ns < *kept ? run_first_ns : *kept;
  }
  timeline->has_unix_time = first[1] != INT64_MAX;
  timeline->first_ns = timeline->has_unix_time ? first[1] : first[0] != INT64_MAX ? first[0] : 0;
  return STATUS_OK;
}

enum status timeline_open(struct store *store, struct timeline *ret_timeline, struct error *err)
{
  struct timeline *timeline = ret_timeline;
  *timeline = (struct timeline){.store = store};
  XSP_TRY(store_experiments(store, &timeline->arena, &timeline->experiments, &timeline->experiment_count, err));
  XSP_TRY(store_runs(store, &timeline->arena, &timeline->runs, &timeline->run_count, err));
  timeline->run_facts = arena_alloc_array(&timeline->arena, timeline->run_count, sizeof *timeline->run_facts);
  for (size_t i = 0; i < timeline->run_count; i++)
    XSP_TRY(store_tracks(store, timeline->runs[i].run_id, &timeline->arena, &timeline->run_facts[i].tracks,
                         &timeline->run_facts[i].track_count, err));
  XSP_TRY(find_first(timeline, err));
  timeline_find_places(timeline);
  return timeline_find_roles(timeline, err);
}

void timeline_done(struct timeline *timeline)
{
  map_done(&timeline->tids);
  arena_done(&timeline->arena);
}

// ---- one run ---------------------------------------------------------------------------------------------------------
static const char *track_name(const struct store_track *track, struct arena *arena)
{
  if (track->name != NULL && track->name[0] != 0)
    return track->name;
  if (track->device_id != STORE_NONE && track->stream_id != STORE_NONE)
    return arena_format(arena, "device %" PRId64 " stream %" PRId64, track->device_id, track->stream_id);
  if (track->thread_id != STORE_NONE && track->device_id == STORE_NONE && track->stream_id == STORE_NONE)
    return arena_format(arena, "thread %" PRId64, track->thread_id);
  return track->track_id == 0 ? "no thread" : arena_format(arena, "track %" PRId64, track->track_id);
}

static void lay_tracks(const struct timeline_run_facts *facts, struct arena *arena, struct timeline_run *run)
{
  run->track_count = facts->track_count;
  run->tracks = arena_alloc_array(arena, run->track_count, sizeof *run->tracks);
  for (size_t i = 0; i < run->track_count; i++) {
    const struct timeline_place *place = &facts->places[i];
    const struct store_track *track = &facts->tracks[i];
    run->tracks[i] = (struct timeline_track){track, place->process, place->tid, track_name(track, arena), place->role};
  }
}

enum status timeline_load(struct timeline *timeline, size_t index, uint32_t columns, struct arena *arena,
                          struct timeline_run *ret_run, struct error *err)
{
  const struct store_run *run = &timeline->runs[index];
  *ret_run = (struct timeline_run){.run = run};
  columns |= TIMELINE_COLUMNS;
  XSP_TRY(store_load_spans(timeline->store, run->run_id, columns, arena, &ret_run->spans, err));
  XSP_TRY(store_load_derived_columns(timeline->store, run->run_id, columns, arena, &ret_run->derived, err));
  lay_tracks(&timeline->run_facts[index], arena, ret_run);
  int64_t first_ns = earliest(&timeline->run_facts[index], &ret_run->spans);
  if (!run->epoch_is_unix && first_ns != INT64_MAX &&
      __builtin_sub_overflow(timeline->first_ns, first_ns, &ret_run->shift_ns))
    return error_set(err, STATUS_INPUT, "cannot lay out the timeline", store_path(timeline->store), NULL,
                     "run %lld has times that lie more than 292 years apart", (long long)run->run_id);
  XSP_TRY(timeline_load_counters(timeline, arena, ret_run, err));
  return timeline_lay_lanes(timeline, arena, ret_run, err);
}

// Not where ids have gaps.
static void index_tags(struct arena *arena, struct timeline_run *run)
{
  size_t count = run->spans.count, at = 0;
  const int64_t *ids = run->spans.span_id;
  for (size_t row = 0; row < count; row++)
    if ((uint64_t)ids[row] != (uint64_t)ids[0] + row)
      return;
  if (count == 0 || run->tag_count == 0 || run->tag_count > UINT32_MAX)
    return;
  run->tag_starts = arena_alloc_array(arena, count + 1, sizeof *run->tag_starts);
  for (size_t row = 0; row <= count; row++) {
    while (at < run->tag_count &&
           (row < count ? run->tags[at].span_id < ids[row] : run->tags[at].span_id <= ids[count - 1]))
      at++;
    run->tag_starts[row] = (uint32_t)at;
  }
}

enum status timeline_load_tags(struct timeline *timeline, struct arena *arena, struct timeline_run *run,
                               struct error *err)
{
  XSP_TRY(store_load_tags(timeline->store, run->run->run_id, arena, &run->tags, &run->tag_count, err));
  timeline_sort_tags(run->tags, run->tag_count);
  index_tags(arena, run);
  return STATUS_OK;
}

uint64_t timeline_time(const struct timeline *timeline, const struct timeline_run *run, int64_t time_ns)
{
  return (uint64_t)time_ns + (uint64_t)run->shift_ns - (uint64_t)timeline->first_ns;
}

void timeline_json_text(struct json_writer *json, struct store *store, uint32_t string)
{
  size_t length = 0;
  const char *text = store_text(store, string, &length);
  json_string_n(json, text, length);
}

ROWS_SORTED_BY(by_span_id, uint32_t, int64_t, ORDER(of[a], of[b]))

uint32_t *timeline_order_by_id(const struct timeline_run *run, struct arena *arena)
{
  uint32_t *by_id = arena_alloc_array(arena, run->spans.count, sizeof *by_id);
  bool is_sorted = true;
  for (size_t i = 0; i < run->spans.count; i++) {
    by_id[i] = (uint32_t)i;
    is_sorted = is_sorted && (i == 0 || run->spans.span_id[i] > run->spans.span_id[i - 1]);
  }
  if (!is_sorted)
    qsort_r(by_id, run->spans.count, sizeof *by_id, by_span_id, run->spans.span_id);
  return by_id;
}

uint32_t timeline_row_of(const struct timeline_run *run, const uint32_t *by_id, int64_t span_id)
{
  if (span_id == 0 || run->spans.count == 0)
    return TIMELINE_NO_ROW;
  uint64_t likely = (uint64_t)span_id - (uint64_t)run->spans.span_id[by_id[0]];
  if (likely < run->spans.count && run->spans.span_id[by_id[likely]] == span_id)
    return by_id[likely];
  size_t at = timeline_lower_bound(run->spans.span_id, by_id, run->spans.count, span_id);
  return at < run->spans.count && run->spans.span_id[by_id[at]] == span_id ? by_id[at] : TIMELINE_NO_ROW;
}
