// SPDX-License-Identifier: Apache-2.0
// Where a Kineto file's events lie: (process, thread) on the host, (device, stream) on devices. Called once an event.
// Numbers may be written as numbers or as texts ("25738"), streams as "stream 7" too; what is not a number is a name.
#include "importers/kineto/kineto.h"

#include "base/map.h"
#include "base/sorted.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

// ---- values
static struct kineto_place read_place(struct kineto *kineto, const struct trace_value *value, bool is_stream)
{
  static const char prefix[] = "stream ";
  struct kineto_place place = {.kind = PLACE_NUMBER};
  if (value->type == TRACE_NONE || value->type == TRACE_NULL)
    return (struct kineto_place){.kind = PLACE_NONE};
  if (trace_int64(value, &place.value))
    return place;
  if (is_stream && value->type == TRACE_STRING && slice_starts_with(value->raw, prefix) &&
      slice_int64(slice_trim(slice_after(value->raw, strlen(prefix))), &place.value))
    return place;
  return (struct kineto_place){.kind = PLACE_TEXT, .value = import_slice(kineto->import, value->raw)};
}

// "[TP00] 123", as SGLang merges ranks, or "rank0 123": the label without brackets, and the rest.
static bool cut_label(struct slice text, struct slice *ret_label, struct slice *ret_rest)
{
  if (slice_starts_with(text, "[")) {
    *ret_rest = slice_after(text, 1);
    if (!slice_cut(ret_rest, ']', ret_label) || ret_label->length == 0 || !slice_starts_with(*ret_rest, " "))
      return false;
    *ret_rest = slice_after(*ret_rest, 1);
    return true;
  }
  int64_t number;
  const char *space = text.length > 0 ? memrchr(text.data, ' ', text.length) : NULL;
  if (space == NULL || strncasecmp(text.data, "rank", strlen("rank")) != 0)
    return false;
  *ret_label = (struct slice){text.data, (size_t)(space - text.data)};
  *ret_rest = slice_after(text, ret_label->length + 1);
  return isdigit((unsigned char)space[-1]) && slice_int64(*ret_rest, &number);
}

// The label of a merged rank before a pid, or 0, and the pid.
static int64_t take_rank(struct kineto *kineto, const struct trace_value *pid, struct kineto_place *ret_place)
{
  struct slice rest, label;
  *ret_place = read_place(kineto, pid, false);
  if (pid->type != TRACE_STRING || !cut_label(pid->raw, &label, &rest))
    return 0;
  *ret_place = (struct kineto_place){.kind = PLACE_NUMBER};
  if (!slice_int64(rest, &ret_place->value))
    *ret_place = (struct kineto_place){.kind = PLACE_TEXT, .value = import_slice(kineto->import, rest)};
  return import_slice(kineto->import, label);
}

// ---- the table
static struct kineto_track *track_at(struct kineto_tracks *tracks, struct arena *arena,
                                     const struct kineto_track_key *key)
{
  uint32_t id = interner_at(&tracks->keys, (const char *)key, sizeof *key);
  if (id < tracks->all.count)
    return tracks->all.items[id];
  struct kineto_track *track = arena_alloc(arena, sizeof *track);
  track->key = *key;
  return *vector_add(&tracks->all) = track;
}

// Nearly all events lie where another one did lately.
struct kineto_track *kineto_track(struct kineto *kineto, enum kineto_track_kind kind, const struct trace_event *event,
                                  const struct trace_value *first, const struct trace_value *second)
{
  struct kineto_tracks *tracks = &kineto->tracks;
  struct kineto_place process;
  int64_t rank = take_rank(kineto, &event->process_id, &process);
  struct kineto_track_key key = {
      .kind = kind, .rank = rank, .place = {process, read_place(kineto, second, kind == TRACK_DEVICE)}};
  if (first != &event->process_id) {
    key.place[0] = read_place(kineto, first, false);
    bool is_other = process.kind == PLACE_NUMBER && key.place[0].kind == PLACE_NUMBER;
    key.process = is_other && process.value != key.place[0].value ? (int64_t)((uint64_t)process.value + 1) : 0;
  }
  uint64_t hash = (uint64_t)kind + 5 * (uint64_t)key.place[0].value + 11 * (uint64_t)key.place[1].value +
                  13 * (uint64_t)key.rank + 17 * (uint64_t)key.process;
  struct kineto_track **recent = &tracks->recent[hash % KINETO_RECENT];
  if (*recent != NULL && memcmp(&(*recent)->key, &key, sizeof key) == 0)
    return *recent;
  struct kineto_track *track = *recent = track_at(tracks, kineto->import->arena, &key);
  if (track->named[0].kind == PLACE_NONE && track->named[1].kind == PLACE_NONE) {
    track->named[0] = process;
    track->named[1] = read_place(kineto, &event->thread_id, false);
  }
  return track;
}

// ---- in the store
static int64_t number_of(struct kineto_place place)
{
  return place.kind == PLACE_NUMBER ? place.value : STORE_NONE;
}

enum status kineto_track_use(struct kineto *kineto, struct kineto_track *track, struct error *err)
{
  if (track->track_id != 0)
    return STATUS_OK;
  const struct kineto_place *place = track->key.place;
  bool is_device = track->key.kind == TRACK_DEVICE;
  int64_t first = number_of(place[0]), second = number_of(place[1]);
  struct store_track row = {
      .host = kineto->host_name, // in files that name it, before the events
      .process_id = is_device ? STORE_NONE : first,
      .thread_id = is_device ? STORE_NONE : second,
      .device_id = is_device ? first : STORE_NONE,
      .stream_id = is_device ? second : STORE_NONE,
  };
  if (place[1].kind == PLACE_TEXT)
    row.name = import_text(kineto->import, (uint32_t)place[1].value, NULL);
  return import_track(kineto->import, &row, &track->track_id, err);
}

// ---- ranks
struct rank {
  int64_t label, process_id, number; // number: in the order of the labels
  const char *text;                  // of the label
  bool shares_process;               // its number with another rank: each had the pids of its own container
};

SORTED_BY(compare_ranks, struct rank, RISING(process_id) ?: RISING(label))

// The ranks of the file and the process of each: the first that has spans on the host.
static struct rank *find_ranks(struct kineto *kineto, size_t *ret_count)
{
  struct map known = {0};
  struct rank *ranks = arena_alloc_array(kineto->import->arena, kineto->tracks.all.count + 1, sizeof *ranks);
  *ret_count = 0;
  for (size_t i = 0; i < kineto->tracks.all.count; i++) {
    const struct kineto_track *track = kineto->tracks.all.items[i];
    if (track->key.kind != TRACK_HOST || track->key.rank == 0 || track->track_id == 0 ||
        track->key.place[0].kind != PLACE_NUMBER)
      continue;
    uint64_t *place = map_at(&known, map_number((uint64_t)track->key.rank), NULL);
    if (*place == 0) {
      ranks[*ret_count] = (struct rank){.label = track->key.rank, .process_id = track->key.place[0].value};
      *place = ++*ret_count;
    }
  }
  map_done(&known);
  qsort(ranks, *ret_count, sizeof *ranks, compare_ranks);
  for (size_t i = 1; i < *ret_count; i++)
    if (ranks[i].process_id == ranks[i - 1].process_id)
      ranks[i].shares_process = ranks[i - 1].shares_process = true;
  return ranks;
}

// By the labels: "TP00" before "TP01", "rank2" before "rank10".
SORTED_BY(by_label, struct rank, strverscmp(a->text, b->text))

static void number_ranks(struct kineto *kineto, struct rank *ranks, size_t count)
{
  for (size_t i = 0; i < count; i++)
    ranks[i].text = import_text(kineto->import, (uint32_t)ranks[i].label, NULL);
  qsort(ranks, count, sizeof *ranks, by_label);
  for (size_t i = 0; i < count; i++) {
    bool is_same = i > 0 && by_label(&ranks[i - 1], &ranks[i]) == 0;
    ranks[i].number = is_same ? ranks[i - 1].number : (int64_t)i;
  }
}

// The file is of one rank.
static void put_rank(struct kineto *kineto)
{
  for (size_t i = 0; i < kineto->tracks.all.count; i++)
    if (kineto->tracks.all.items[i]->track_id != 0)
      import_track_rank(kineto->import, kineto->tracks.all.items[i]->track_id, &kineto->rank);
}

void kineto_track_ranks(struct kineto *kineto)
{
  struct import *import = kineto->import;
  size_t count;
  struct rank *ranks = find_ranks(kineto, &count);
  number_ranks(kineto, ranks, count);
  if (count == 0 && kineto->rank.world_size > 0)
    put_rank(kineto);
  struct map place_of = {0}; // label → its place in `ranks`, from 1
  for (size_t i = 0; i < count; i++)
    *map_at(&place_of, map_number((uint64_t)ranks[i].label), NULL) = i + 1;
  for (size_t i = 0; i < kineto->tracks.all.count; i++) {
    const struct kineto_track *track = kineto->tracks.all.items[i];
    const uint64_t *place = track->key.rank == 0 ? NULL : map_find(&place_of, map_number((uint64_t)track->key.rank));
    if (place == NULL || track->track_id == 0)
      continue;
    const struct rank *rank = &ranks[*place - 1];
    const char *host = kineto->host_name, *label = import_text(import, (uint32_t)rank->label, NULL);
    if (rank->shares_process)
      host = host == NULL ? label : arena_format(import->arena, "%s %s", host, label);
    import_track_process(import, track->track_id, host, rank->process_id);
    const struct store_rank number = {.rank = rank->number, .local_rank = -1, .world_size = (int64_t)count};
    import_track_rank(import, track->track_id, &number);
  }
  map_done(&place_of);
  if (count > 1)
    import_note(import, "%zu ranks were merged into this file: each is a process", count);
}

void kineto_track_names(struct kineto *kineto)
{
  struct kineto_tracks *tracks = &kineto->tracks;
  for (size_t i = 0; i < tracks->all.count; i++) {
    const struct kineto_track *track = tracks->all.items[i];
    const struct kineto_track_key key = {
        .kind = TRACK_NAME, .rank = track->key.rank, .place = {track->named[0], track->named[1]}};
    uint32_t id;
    const char *name = NULL;
    if (interner_find(&tracks->keys, (const char *)&key, sizeof key, &id) && tracks->all.items[id]->name != 0)
      name = import_text(kineto->import, tracks->all.items[id]->name, NULL);
    if (key.rank != 0) {
      const char *rank = import_text(kineto->import, (uint32_t)key.rank, NULL);
      name = name == NULL ? rank : arena_format(kineto->import->arena, "%s %s", rank, name);
    }
    if (track->track_id != 0 && name != NULL)
      import_track_name(kineto->import, track->track_id, name);
  }
}

int64_t kineto_busiest_device(struct kineto *kineto)
{
  int64_t busiest = STORE_NONE;
  uint64_t most = 0;
  for (size_t i = 0; i < kineto->tracks.all.count; i++) {
    const struct kineto_track *track = kineto->tracks.all.items[i];
    const struct kineto_track_key key = {.kind = TRACK_TOTAL, .place = {track->key.place[0]}};
    if (track->key.kind != TRACK_DEVICE || key.place[0].kind != PLACE_NUMBER || track->kernel_count == 0)
      continue;
    struct kineto_track *total = track_at(&kineto->tracks, kineto->import->arena, &key);
    total->kernel_count += track->kernel_count;
    if (total->kernel_count > most) {
      most = total->kernel_count;
      busiest = key.place[0].value;
    }
  }
  return busiest;
}

void kineto_tracks_done(struct kineto_tracks *tracks)
{
  for (size_t i = 0; i < tracks->all.count; i++) {
    call_thread_done(&tracks->all.items[i]->thread);
    vector_done(&tracks->all.items[i]->open);
    vector_done(&tracks->all.items[i]->allocations);
  }
  interner_done(&tracks->keys);
  vector_done(&tracks->all);
}
