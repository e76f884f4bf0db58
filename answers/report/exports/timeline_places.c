// SPDX-License-Identifier: Apache-2.0
// Where a timeline draws tracks: processes, thread ids, and tracks for spans whose track the file does not describe.
// Called by timeline.c; timeline_lanes.c asks for further thread ids. Time and memory are linear in the file's tracks.
#include "report/exports/timeline.h"

#include "base/interner.h"
#include "base/sorted.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_MADE_UP_PID 1000000000
#define FIRST_MADE_UP_TID INT64_C(8000000) // Linux thread ids end at 2^22

// ---- tracks ----------------------------------------------------------------------------------------------------------
size_t timeline_find_track(const struct store_track *tracks, size_t count, int64_t track_id)
{
  if (count == 0)
    return count;
  size_t at = sorted_lower_bound_i64(track_id, &tracks->track_id, count, sizeof *tracks);
  return at < count && tracks[at].track_id == track_id ? at : count;
}

static bool same_host(const char *a, const char *b)
{
  return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

// What a track has that the file does not describe: the run's process where there is only one.
static struct store_track unknown_track(const struct timeline_run_facts *facts)
{
  struct store_track track = {
      .process_id = STORE_NONE, .thread_id = STORE_NONE, .device_id = STORE_NONE, .stream_id = STORE_NONE};
  for (size_t i = 0; i < facts->track_count; i++)
    if (facts->tracks[i].process_id != facts->tracks[0].process_id ||
        !same_host(facts->tracks[i].host, facts->tracks[0].host))
      return track;
  if (facts->track_count > 0) {
    track.process_id = facts->tracks[0].process_id;
    track.host = facts->tracks[0].host;
  }
  return track;
}

SORTED_BY(by_track_id, struct store_track, RISING(track_id))

static void add_tracks(struct timeline *timeline, struct timeline_run_facts *facts, int64_t *ids, size_t count)
{
  size_t total = facts->track_count;
  struct store_track unknown = unknown_track(facts);
  struct store_track *tracks = arena_alloc_array(&timeline->arena, total + count, sizeof *tracks);
  if (total > 0)
    memcpy(tracks, facts->tracks, total * sizeof *tracks);
  qsort(ids, count, sizeof *ids, sorted_compare_i64);
  for (size_t i = 0; i < count; i++) {
    unknown.track_id = ids[i];
    if (i == 0 || ids[i] != ids[i - 1])
      tracks[total++] = unknown;
  }
  qsort(tracks, total, sizeof *tracks, by_track_id);
  facts->tracks = tracks;
  facts->track_count = total;
}

void timeline_describe_tracks(struct timeline *timeline, struct timeline_run_facts *facts,
                              const struct store_spans *spans)
{
  VECTOR(int64_t) missing SCOPED(vector_end) = {0};
  for (size_t row = 0; row < spans->count; row++) {
    uint32_t id = spans->track_id[row];
    if (row > 0 && id == spans->track_id[row - 1])
      continue;
    if (timeline_find_track(facts->tracks, facts->track_count, id) == facts->track_count)
      *vector_add(&missing) = id;
  }
  if (missing.count > 0)
    add_tracks(timeline, facts, missing.items, missing.count);
}

// ---- processes -------------------------------------------------------------------------------------------------------
// Numbers processes. Tracks of two runs share one where pid and host are the same. A run that counts from its own zero
// shares none.
struct processes {
  struct interner keys; // a process's number: its place in timeline.processes
  struct map pids;      // that are taken
  int32_t next_pid;     // made up
  bool name_hosts;
};

static uint32_t process_number(struct processes *processes, const struct store_run *run,
                               const struct store_track *track)
{
  struct arena arena SCOPED(arena_done) = {0};
  bool is_shared = run->epoch_is_unix && track->process_id != STORE_NONE;
  const char *key = arena_format(&arena, "%" PRId64 " %" PRId64 " %s%s", is_shared ? 0 : run->run_id, track->process_id,
                                 track->host != NULL ? "on " : "", track->host != NULL ? track->host : "");
  return interner_at(&processes->keys, key, strlen(key));
}

// The source's pid, unless another process has it; else a made-up one.
static int32_t choose_pid(struct processes *processes, int64_t wanted)
{
  bool is_free = false;
  if (wanted > 0 && wanted < FIRST_MADE_UP_PID)
    (void)map_at(&processes->pids, map_number((uint64_t)wanted), &is_free);
  return is_free ? (int32_t)wanted : processes->next_pid++;
}

static const char *experiment_name(const struct timeline *timeline, int64_t experiment_id)
{
  const struct store_experiment *all = timeline->experiments;
  size_t count = timeline->experiment_count;
  size_t at = count == 0 ? 0 : sorted_lower_bound_i64(experiment_id, &all->experiment_id, count, sizeof *all);
  bool has_name = at < count && all[at].experiment_id == experiment_id && all[at].name != NULL;
  return has_name ? all[at].name : "experiment";
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

static size_t find_process(struct timeline *timeline, struct processes *processes, const struct store_run *run,
                           const struct store_track *track)
{
  uint32_t number = process_number(processes, run, track);
  struct timeline_process *process = &timeline->processes[number];
  if (number == timeline->process_count) {
    const char *name = experiment_name(timeline, run->experiment_id);
    process->pid = choose_pid(processes, track->process_id);
    process->name = processes->name_hosts && track->host != NULL
                        ? arena_format(&timeline->arena, "%s on %s", name, track->host)
                        : name;
    timeline->process_count++;
  }
  name_levels(timeline, process, run);
  return number;
}

// ---- threads ---------------------------------------------------------------------------------------------------------
int64_t timeline_new_tid(struct timeline *timeline, size_t process)
{
  while (map_find(&timeline->tids, (struct map_key){process, (uint64_t)timeline->next_tid}) != NULL)
    timeline->next_tid++;
  return timeline->next_tid++;
}

// Takes the source's thread id for a track. False: viewers cannot have it.
static bool take_tid(struct timeline *timeline, size_t run, const struct store_track *track,
                     struct timeline_place *place)
{
  bool is_thread = track->thread_id != STORE_NONE && track->device_id == STORE_NONE && track->stream_id == STORE_NONE;
  if (!is_thread || track->clock != NULL || track->thread_id < 0 || track->thread_id > INT32_MAX)
    return false;
  uint64_t *owner = map_at(&timeline->tids, (struct map_key){place->process, (uint64_t)track->thread_id}, NULL);
  if (*owner == run + 1)
    return false;
  *owner = run + 1;
  place->tid = track->thread_id;
  place->is_thread = true;
  return true;
}

static void find_tids(struct timeline *timeline)
{
  timeline->next_tid = FIRST_MADE_UP_TID;
  for (size_t i = 0; i < timeline->run_count; i++) {
    struct timeline_run_facts *facts = &timeline->run_facts[i];
    for (size_t j = 0; j < facts->track_count; j++)
      (void)take_tid(timeline, i, &facts->tracks[j], &facts->places[j]);
  }
  for (size_t i = 0; i < timeline->run_count; i++) // once all threads have theirs
    for (size_t j = 0; j < timeline->run_facts[i].track_count; j++) {
      struct timeline_place *place = &timeline->run_facts[i].places[j];
      if (!place->is_thread)
        place->tid = timeline_new_tid(timeline, place->process);
    }
}

void timeline_find_places(struct timeline *timeline)
{
  struct processes processes = {.next_pid = FIRST_MADE_UP_PID, .name_hosts = has_several_hosts(timeline)};
  size_t most = 0;
  for (size_t i = 0; i < timeline->run_count; i++)
    most += timeline->run_facts[i].track_count;
  timeline->processes = arena_alloc_array(&timeline->arena, most, sizeof *timeline->processes);
  for (size_t i = 0; i < timeline->run_count; i++) {
    struct timeline_run_facts *facts = &timeline->run_facts[i];
    facts->places = arena_alloc_array(&timeline->arena, facts->track_count, sizeof *facts->places);
    for (size_t j = 0; j < facts->track_count; j++)
      facts->places[j].process = find_process(timeline, &processes, &timeline->runs[i], &facts->tracks[j]);
  }
  map_done(&processes.pids);
  interner_done(&processes.keys);
  find_tids(timeline);
}
