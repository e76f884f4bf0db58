// SPDX-License-Identifier: Apache-2.0
// The file's side of a timeline: its processes, where time begins, loading one run. timeline_lanes.c lays the lanes.
#include "report/exports/timeline.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- processes -------------------------------------------------------------------------------------------------------
// Tracks of two runs share a process where pid, host and clock are the same. A run that counts from its own zero shares
// none.
struct process_key {
  int64_t run_id; // 0: shared between runs
  int64_t process_id;
  const char *host;
};

static bool same_key(const struct process_key *a, const struct process_key *b)
{
  bool same_host = (a->host == NULL) == (b->host == NULL) && (a->host == NULL || strcmp(a->host, b->host) == 0);
  return a->run_id == b->run_id && a->process_id == b->process_id && same_host;
}

static const char *experiment_name(const struct timeline *timeline, int64_t experiment_id)
{
  for (size_t i = 0; i < timeline->experiment_count; i++)
    if (timeline->experiments[i].experiment_id == experiment_id && timeline->experiments[i].name != NULL)
      return timeline->experiments[i].name;
  return "experiment";
}

// The source's pid, unless another process has it; else a made-up one.
static int32_t choose_pid(const struct timeline *timeline, int64_t wanted)
{
  int32_t made_up = 1000000000;
  bool taken = wanted <= 0 || wanted >= made_up;
  for (size_t i = 0; i < timeline->process_count; i++) {
    taken |= timeline->processes[i].pid == wanted;
    if (timeline->processes[i].pid >= made_up)
      made_up = timeline->processes[i].pid + 1;
  }
  return taken ? made_up : (int32_t)wanted;
}

// Appends the run's level set to the process's name, once.
static void name_levels(struct timeline *timeline, struct timeline_process *process, const struct store_run *run)
{
  char levels[LEVEL_SET_TEXT_SIZE + 2] = " ";
  level_set_format(run->levels, levels + 1);
  if (levels[1] == 0)
    return;
  size_t length = strlen(levels);
  for (const char *at = process->name; (at = strstr(at, levels)) != NULL; at++)
    if (at[length] == 0 || at[length] == ',')
      return;
  const char *separator = strstr(process->name, ":") != NULL ? "," : ":";
  process->name = arena_format(&timeline->arena, "%s%s%s", process->name, separator, levels);
}

// A host is worth naming only where there are several.
static bool has_several_hosts(const struct timeline *timeline)
{
  const char *first = NULL;
  for (size_t i = 0; i < timeline->run_count; i++)
    for (size_t j = 0; j < timeline->run_facts[i].track_count; j++) {
      const char *host = timeline->run_facts[i].tracks[j].host;
      if (host != NULL && first != NULL && strcmp(host, first) != 0)
        return true;
      first = host != NULL ? host : first;
    }
  return false;
}

static const char *process_name(struct timeline *timeline, const struct store_run *run, const char *host)
{
  const char *name = experiment_name(timeline, run->experiment_id);
  return host != NULL ? arena_format(&timeline->arena, "%s on %s", name, host) : name;
}

static void find_processes(struct timeline *timeline)
{
  size_t most = 0;
  for (size_t i = 0; i < timeline->run_count; i++)
    most += timeline->run_facts[i].track_count;
  bool name_hosts = has_several_hosts(timeline);
  struct process_key *keys = arena_alloc_array(&timeline->arena, most, sizeof *keys);
  timeline->processes = arena_alloc_array(&timeline->arena, most, sizeof *timeline->processes);
  for (size_t i = 0; i < timeline->run_count; i++) {
    const struct store_run *run = &timeline->runs[i];
    struct timeline_run_facts *facts = &timeline->run_facts[i];
    facts->track_processes = arena_alloc_array(&timeline->arena, facts->track_count, sizeof(size_t));
    for (size_t j = 0; j < facts->track_count; j++) {
      const struct store_track *track = &facts->tracks[j];
      bool is_shared = run->epoch_is_unix && track->process_id != STORE_NONE;
      struct process_key key = {is_shared ? 0 : run->run_id, track->process_id, track->host};
      size_t process = 0;
      while (process < timeline->process_count && !same_key(&keys[process], &key))
        process++;
      if (process == timeline->process_count) {
        timeline->processes[process] = (struct timeline_process){
            choose_pid(timeline, track->process_id), process_name(timeline, run, name_hosts ? track->host : NULL)};
        keys[timeline->process_count++] = key;
      }
      name_levels(timeline, &timeline->processes[process], run);
      facts->track_processes[j] = process;
    }
  }
}

// ---- time ------------------------------------------------------------------------------------------------------------
static bool has_foreign_clock(const struct timeline_run_facts *facts, uint32_t track_id)
{
  for (size_t i = 0; i < facts->track_count; i++)
    if (facts->tracks[i].track_id == track_id)
      return facts->tracks[i].clock != NULL;
  return false;
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
  struct arena arena = {0};
  struct store_spans spans;
  struct timeline_run_facts *facts = &timeline->run_facts[index];
  uint32_t columns = STORE_BIT(STORE_START_NS) | STORE_BIT(STORE_TRACK_ID);
  enum status status = store_load_spans(timeline->store, timeline->runs[index].run_id, columns, &arena, &spans, err);
  if (status == STATUS_OK) {
    *ret_first_ns = earliest(facts, &spans);
    facts->span_count = spans.count;
    facts->first_ns = *ret_first_ns != INT64_MAX ? *ret_first_ns : 0;
  }
  arena_done(&arena);
  return status;
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
  find_processes(timeline);
  return find_first(timeline, err);
}

void timeline_done(struct timeline *timeline)
{
  arena_done(&timeline->arena);
}

// ---- one run ---------------------------------------------------------------------------------------------------------
#define FIRST_MADE_UP_TID INT64_C(8000000) // Linux thread ids end at 2^22

static const char *track_name(const struct store_track *track, bool is_thread, struct arena *arena)
{
  if (track->name != NULL && track->name[0] != 0)
    return track->name;
  if (is_thread)
    return arena_format(arena, "thread %" PRId64, track->thread_id);
  if (track->device_id != STORE_NONE && track->stream_id != STORE_NONE)
    return arena_format(arena, "device %" PRId64 " stream %" PRId64, track->device_id, track->stream_id);
  return arena_format(arena, "track %" PRId64, track->track_id);
}

static void lay_tracks(struct timeline *timeline, size_t index, struct arena *arena, struct timeline_run *run)
{
  const struct timeline_run_facts *facts = &timeline->run_facts[index];
  run->track_count = facts->track_count;
  run->tracks = arena_alloc_array(arena, run->track_count, sizeof *run->tracks);
  size_t earlier = 0; // tracks of earlier runs
  for (size_t i = 0; i < index; i++)
    earlier += timeline->run_facts[i].track_count;
  for (size_t i = 0; i < run->track_count; i++) {
    const struct store_track *track = &facts->tracks[i];
    bool is_thread = track->thread_id != STORE_NONE && track->device_id == STORE_NONE && track->stream_id == STORE_NONE;
    run->tracks[i] = (struct timeline_track){
        .track = track,
        .process = facts->track_processes[i],
        .is_thread = is_thread,
        .tid = is_thread ? track->thread_id : FIRST_MADE_UP_TID + (int64_t)(earlier + i),
        .name = track_name(track, is_thread, arena),
    };
  }
}

enum status timeline_load(struct timeline *timeline, size_t index, struct arena *arena, struct timeline_run *ret_run,
                          struct error *err)
{
  const struct store_run *run = &timeline->runs[index];
  *ret_run = (struct timeline_run){.run = run};
  XSP_TRY(store_load_spans(timeline->store, run->run_id, STORE_ALL_BASE, arena, &ret_run->spans, err));
  XSP_TRY(store_load_derived(timeline->store, run->run_id, arena, &ret_run->derived, err));
  XSP_TRY(store_load_tags(timeline->store, run->run_id, arena, &ret_run->tags, &ret_run->tag_count, err));
  lay_tracks(timeline, index, arena, ret_run);
  int64_t first_ns = earliest(&timeline->run_facts[index], &ret_run->spans);
  if (!run->epoch_is_unix && first_ns != INT64_MAX &&
      __builtin_sub_overflow(timeline->first_ns, first_ns, &ret_run->shift_ns))
    return error_set(err, STATUS_INPUT, "cannot lay out the timeline", store_path(timeline->store), NULL,
                     "run %lld has times that lie more than 292 years apart", (long long)run->run_id);
  return timeline_lay_lanes(arena, ret_run, err);
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

static int by_span_id(const void *left, const void *right, void *context)
{
  const int64_t *ids = context;
  int64_t a = ids[*(const uint32_t *)left], b = ids[*(const uint32_t *)right];
  return (a > b) - (a < b);
}

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
  if (span_id == 0)
    return TIMELINE_NO_ROW;
  size_t at = timeline_lower_bound(run->spans.span_id, by_id, run->spans.count, span_id);
  return at < run->spans.count && run->spans.span_id[by_id[at]] == span_id ? by_id[at] : TIMELINE_NO_ROW;
}
