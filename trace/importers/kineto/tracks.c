// SPDX-License-Identifier: Apache-2.0
// Where a Kineto file's events lie: (process, thread) on the host, (device, stream) on devices. Called once an event.
// Numbers may be written as numbers or as texts ("25738"), streams as "stream 7" too; what is not a number is a name.
#include "importers/kineto/kineto.h"

#include <string.h>

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
  const struct kineto_track_key key = {
      kind, {read_place(kineto, first, false), read_place(kineto, second, kind == TRACK_DEVICE)}};
  uint64_t hash = (uint64_t)kind + 5 * (uint64_t)key.place[0].value + 11 * (uint64_t)key.place[1].value;
  struct kineto_track **recent = &tracks->recent[hash % KINETO_RECENT];
  if (*recent != NULL && memcmp(&(*recent)->key, &key, sizeof key) == 0)
    return *recent;
  struct kineto_track *track = *recent = track_at(tracks, kineto->import->arena, &key);
  if (track->named[0].kind == PLACE_NONE && track->named[1].kind == PLACE_NONE) {
    track->named[0] = read_place(kineto, &event->process_id, false);
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

void kineto_track_names(struct kineto *kineto)
{
  struct kineto_tracks *tracks = &kineto->tracks;
  for (size_t i = 0; i < tracks->all.count; i++) {
    const struct kineto_track *track = tracks->all.items[i];
    const struct kineto_track_key key = {TRACK_NAME, {track->named[0], track->named[1]}};
    uint32_t id;
    if (track->track_id == 0 || !interner_find(&tracks->keys, (const char *)&key, sizeof key, &id) ||
        tracks->all.items[id]->name == 0)
      continue;
    const char *name = import_text(kineto->import, tracks->all.items[id]->name, NULL);
    import_track_name(kineto->import, track->track_id, name);
  }
}

int64_t kineto_busiest_device(struct kineto *kineto)
{
  int64_t busiest = STORE_NONE;
  uint64_t most = 0;
  for (size_t i = 0; i < kineto->tracks.all.count; i++) {
    const struct kineto_track *track = kineto->tracks.all.items[i];
    const struct kineto_track_key key = {TRACK_TOTAL, {track->key.place[0]}};
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
    vector_done(&tracks->all.items[i]->allocations);
  }
  interner_done(&tracks->keys);
  vector_done(&tracks->all);
}
