// SPDX-License-Identifier: Apache-2.0
// Where a Kineto file's events lie: (process, thread) on the host, (device, stream) on devices. Called once an event.
// Numbers may be written as numbers or as texts ("25738"), streams as "stream 7" too; what is not a number is a name.
#include "importers/kineto/kineto.h"

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
struct track_key {
  int64_t track_kind, kinds[2], values[2];
};

static struct track_key key_of(enum kineto_track_kind kind, const struct kineto_place place[2])
{
  return (struct track_key){kind, {place[0].kind, place[1].kind}, {place[0].value, place[1].value}};
}

static struct kineto_track *track_at(struct kineto *kineto, enum kineto_track_kind kind,
                                     const struct kineto_place place[2])
{
  struct kineto_tracks *tracks = &kineto->tracks;
  struct track_key key = key_of(kind, place);
  uint32_t id = interner_at(&tracks->keys, (const char *)&key, sizeof key);
  if (id < tracks->all.count)
    return tracks->all.items[id];
  struct kineto_track *track = arena_alloc(kineto->import->arena, sizeof *track);
  track->kind = kind;
  track->place[0] = place[0];
  track->place[1] = place[1];
  return *vector_add(&tracks->all) = track;
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
  struct kineto_tracks *tracks = &kineto->tracks;
  for (size_t i = 0; i < tracks->all.count; i++) {
    const struct kineto_track *track = tracks->all.items[i];
    struct track_key key = key_of(TRACK_NAME, track->named);
    uint32_t id;
    if (track->track_id == 0 || !interner_find(&tracks->keys, (const char *)&key, sizeof key, &id) ||
        tracks->all.items[id]->name == 0)
      continue;
    const char *name = import_text(kineto->import, tracks->all.items[id]->name, NULL);
    XSP_TRY(import_track_name(kineto->import, kineto->run_id, track->track_id, name, err));
  }
  return STATUS_OK;
}

int64_t kineto_busiest_device(struct kineto *kineto)
{
  int64_t busiest = STORE_NONE;
  uint64_t most = 0;
  for (size_t i = 0; i < kineto->tracks.all.count; i++) {
    const struct kineto_track *track = kineto->tracks.all.items[i];
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
  interner_done(&tracks->keys);
  vector_done(&tracks->all);
}
