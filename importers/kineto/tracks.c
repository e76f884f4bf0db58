// SPDX-License-Identifier: Apache-2.0
// Where a Kineto file's events lie: (process, thread) on the host, (device, stream) on devices. Called once an event.
// Numbers may be written as numbers or as texts ("25738"), streams as "stream 7" too; what is not a number is a name.
#include "importers/kineto/kineto.h"

#include "base/hash.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

// ---- values
static struct text trim(struct text text)
{
  while (text.length > 0 && text.at[text.length - 1] == ' ')
    text.length--;
  return text;
}

static struct kineto_place read_place(struct kineto *kineto, const struct trace_value *value, bool is_stream)
{
  static const char prefix[] = "stream ";
  struct kineto_place place = {.kind = PLACE_NUMBER};
  if (value->type == TRACE_NONE || value->type == TRACE_NULL)
    return (struct kineto_place){.kind = PLACE_NONE};
  if (trace_int64(value, &place.value))
    return place;
  struct trace_value rest = *value;
  if (is_stream && value->type == TRACE_STRING && rest.raw.length > sizeof prefix - 1 &&
      memcmp(rest.raw.at, prefix, sizeof prefix - 1) == 0) {
    rest.raw.at += sizeof prefix - 1;
    rest.raw.length -= sizeof prefix - 1;
    rest.raw = trim(rest.raw);
    if (trace_int64(&rest, &place.value))
      return place;
  }
  return (struct kineto_place){.kind = PLACE_TEXT,
                               .value = import_string(kineto->import, value->raw.at, value->raw.length)};
}

// ---- the table
static bool is_same_place(struct kineto_place a, struct kineto_place b)
{
  return a.kind == b.kind && a.value == b.value;
}

static size_t slot_of(const struct kineto_tracks *tracks, enum kineto_track_kind kind,
                      const struct kineto_place place[2])
{
  uint64_t hash = (uint64_t)kind * 3 + (uint64_t)place[0].kind * 9 + (uint64_t)place[1].kind * 27;
  for (int i = 0; i < 2; i++)
    hash = hash_number(hash ^ (uint64_t)place[i].value, tracks->seed);
  return (size_t)hash & (tracks->slot_count - 1);
}

static struct kineto_track **find(const struct kineto_tracks *tracks, enum kineto_track_kind kind,
                                  const struct kineto_place place[2])
{
  size_t slot = slot_of(tracks, kind, place);
  for (;; slot = (slot + 1) & (tracks->slot_count - 1)) {
    const struct kineto_track *track = tracks->slots[slot];
    if (track == NULL ||
        (track->kind == kind && is_same_place(track->place[0], place[0]) && is_same_place(track->place[1], place[1])))
      return &tracks->slots[slot];
  }
}

static void grow(struct kineto_tracks *tracks)
{
  size_t slot_count = tracks->slot_count == 0 ? 256 : 2 * tracks->slot_count;
  if (tracks->slots == NULL)
    tracks->seed = hash_new_seed();
  free(tracks->slots);
  tracks->slots = memory_new(slot_count, sizeof(struct kineto_track *));
  tracks->slot_count = slot_count;
  for (struct kineto_track *track = tracks->first; track != NULL; track = track->next)
    *find(tracks, track->kind, track->place) = track;
}

static struct kineto_track *track_at(struct kineto *kineto, enum kineto_track_kind kind,
                                     const struct kineto_place place[2])
{
  struct kineto_tracks *tracks = &kineto->tracks;
  if (2 * tracks->count >= tracks->slot_count)
    grow(tracks);
  struct kineto_track **slot = find(tracks, kind, place);
  if (*slot != NULL)
    return *slot;
  struct kineto_track *track = arena_alloc(kineto->import->arena, sizeof *track);
  track->kind = kind;
  track->place[0] = place[0];
  track->place[1] = place[1];
  *(tracks->last == NULL ? &tracks->first : &tracks->last->next) = track;
  tracks->last = track;
  tracks->count++;
  return *slot = track;
}

// ---- by the raw values: nearly all events lie where another one did lately
static struct kineto_recent *recent_of(struct kineto_tracks *tracks, enum kineto_track_kind kind,
                                       const struct trace_value *first, const struct trace_value *second)
{
  size_t a = first->raw.length, b = second->raw.length;
  if (a + b > KINETO_RECENT_BYTES)
    return NULL;
  unsigned hash = (unsigned)kind + 7 * (unsigned)(a + b);
  hash += a > 0 ? 5 * (unsigned char)first->raw.at[a - 1] : 0;
  hash += b > 0 ? 3 * (unsigned char)second->raw.at[b - 1] : 0;
  hash += b > 1 ? 11 * (unsigned char)second->raw.at[b - 2] : 0;
  return &tracks->recent[hash % KINETO_RECENT];
}

static bool is_recent(const struct kineto_recent *recent, enum kineto_track_kind kind, const struct trace_value *first,
                      const struct trace_value *second)
{
  return recent->track != NULL && recent->kind == kind && recent->type[0] == first->type &&
         recent->type[1] == second->type && recent->length[0] == first->raw.length &&
         recent->length[1] == second->raw.length && memcmp(recent->bytes, first->raw.at, first->raw.length) == 0 &&
         memcmp(recent->bytes + first->raw.length, second->raw.at, second->raw.length) == 0;
}

static void set_recent(struct kineto_recent *recent, struct kineto_track *track, const struct trace_value *first,
                       const struct trace_value *second)
{
  recent->track = track;
  recent->kind = (uint8_t)track->kind;
  recent->type[0] = (uint8_t)first->type;
  recent->type[1] = (uint8_t)second->type;
  recent->length[0] = (uint8_t)first->raw.length;
  recent->length[1] = (uint8_t)second->raw.length;
  memcpy(recent->bytes, first->raw.at, first->raw.length);
  memcpy(recent->bytes + first->raw.length, second->raw.at, second->raw.length);
}

struct kineto_track *kineto_track(struct kineto *kineto, enum kineto_track_kind kind, const struct trace_event *event,
                                  const struct trace_value *first, const struct trace_value *second)
{
  static const char empty[1];
  struct trace_value pair[2] = {*first, *second};
  for (int i = 0; i < 2; i++)
    if (pair[i].type == TRACE_NONE || pair[i].type == TRACE_NULL)
      pair[i] = (struct trace_value){.raw = {empty, 0}};
  struct kineto_recent *recent = recent_of(&kineto->tracks, kind, &pair[0], &pair[1]);
  if (recent != NULL && is_recent(recent, kind, &pair[0], &pair[1]))
    return recent->track;
  bool is_device = kind == TRACK_DEVICE;
  const struct kineto_place place[2] = {read_place(kineto, &pair[0], false), read_place(kineto, &pair[1], is_device)};
  struct kineto_track *track = track_at(kineto, kind, place);
  if (track->named[0].kind == PLACE_NONE && track->named[1].kind == PLACE_NONE) {
    track->named[0] = read_place(kineto, &event->process_id, false);
    track->named[1] = read_place(kineto, &event->thread_id, false);
  }
  if (recent != NULL)
    set_recent(recent, track, &pair[0], &pair[1]);
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
  bool is_device = track->kind == TRACK_DEVICE;
  int64_t first = number_of(track->place[0]), second = number_of(track->place[1]);
  struct store_track row = {
      .host = kineto->host_name, // in files that name it, before the events
      .process_id = is_device ? STORE_NONE : first,
      .thread_id = is_device ? STORE_NONE : second,
      .device_id = is_device ? first : STORE_NONE,
      .stream_id = is_device ? second : STORE_NONE,
  };
  if (track->place[1].kind == PLACE_TEXT)
    row.name = import_text(kineto->import, (uint32_t)track->place[1].value, NULL);
  return import_track(kineto->import, kineto->run_id, &row, &track->track_id, err);
}

enum status kineto_track_names(struct kineto *kineto, struct error *err)
{
  for (struct kineto_track *track = kineto->tracks.first; track != NULL; track = track->next) {
    if (track->track_id == 0)
      continue;
    const struct kineto_track *named = *find(&kineto->tracks, TRACK_NAME, track->named);
    if (named == NULL || named->name == 0)
      continue;
    const char *name = import_text(kineto->import, named->name, NULL);
    XSP_TRY(import_track_name(kineto->import, kineto->run_id, track->track_id, name, err));
  }
  return STATUS_OK;
}

int64_t kineto_busiest_device(struct kineto *kineto)
{
  int64_t busiest = STORE_NONE;
  uint64_t most = 0;
  for (struct kineto_track *track = kineto->tracks.first; track != NULL; track = track->next) {
    if (track->kind != TRACK_DEVICE || track->place[0].kind != PLACE_NUMBER || track->kernel_count == 0)
      continue;
    const struct kineto_place place[2] = {track->place[0], {.kind = PLACE_NONE}};
    struct kineto_track *total = track_at(kineto, TRACK_TOTAL, place);
    total->kernel_count += track->kernel_count;
    if (total->kernel_count > most) {
      most = total->kernel_count;
      busiest = place[0].value;
    }
  }
  return busiest;
}

void kineto_tracks_done(struct kineto_tracks *tracks)
{
  free(tracks->slots); // tracks themselves lie in the import's arena
  tracks->slots = NULL;
}
