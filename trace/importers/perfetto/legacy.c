// SPDX-License-Identifier: Apache-2.0
// Events as Chrome's trace format has them, within track events (TrackEvent.legacy_event): a phase, as B and E, and the id of what is
// asynchronous. Called by packets.c for events without a type. Tracks that such events mean by ids are made up here.
#include "importers/perfetto/packets.h"

enum legacy_field {
  LEGACY_NAME_IID = 1,
  LEGACY_PHASE = 2,
  LEGACY_DURATION_US = 3,
  LEGACY_UNSCOPED_ID = 6,
  LEGACY_SCOPE = 7,
  LEGACY_LOCAL_ID = 10,
  LEGACY_GLOBAL_ID = 11,
  LEGACY_PID = 18,
  LEGACY_TID = 19,
};
struct legacy {
  uint64_t phase, id;
  int64_t duration_us, process_id, thread_id;
  uint32_t scope;
  bool is_local; // its id counts within the process
};

// ---- tracks ----------------------------------------------------------------------------------------------------------
#define MADE_UP_FROM (UINT64_C(0x5853) << 48) // uuids of files are random
enum group_kind { GROUP_SEQUENCES, GROUP_THREADS, GROUP_IDS };

static int64_t process_of(const struct perfetto_packets *packets, uint64_t uuid)
{
  const struct perfetto_track *track = perfetto_find_track(packets, uuid);
  for (unsigned i = 0; i < 16 && track != NULL && track->process_id == STORE_NONE && track->parent != 0; i++)
    track = perfetto_find_track(packets, track->parent);
  return track != NULL ? track->process_id : STORE_NONE;
}

// The track `number` of a group, which is made on first use.
static uint64_t track_in(struct perfetto_packets *packets, struct map_key group, uint64_t number,
                         const struct perfetto_track *made)
{
  uint64_t *place = map_at(&packets->legacy_groups, group, NULL);
  *place = *place == 0 ? packets->legacy_groups.count : *place;
  uint64_t *uuid = map_at(&packets->legacy_tracks, (struct map_key){*place, number}, NULL);
  if (*uuid == 0) {
    *uuid = MADE_UP_FROM + packets->legacy_tracks.count;
    perfetto_keep_track(packets, *uuid, made);
  }
  return *uuid;
}

// On its thread: that of its track, that which it names, or, in the first files, that of its sequence.
static void find_thread(struct perfetto_packets *packets, uint64_t sequence, const struct legacy *legacy,
                        struct perfetto_event *event)
{
  struct perfetto_track made = {.process_id = legacy->process_id, .thread_id = legacy->thread_id};
  if (made.process_id == STORE_NONE)
    made.process_id = process_of(packets, event->track);
  struct map_key group = {GROUP_THREADS, (uint64_t)made.process_id};
  if (legacy->thread_id != STORE_NONE)
    event->track = track_in(packets, group, (uint64_t)legacy->thread_id, &made);
  else if (event->track == 0)
    event->track = track_in(packets, (struct map_key){GROUP_SEQUENCES, 0}, sequence, &made);
}

// What has one category, scope and id is on one track.
static void find_id(struct perfetto_packets *packets, const struct legacy *legacy, struct perfetto_event *event)
{
  uint32_t category = event->category_count > 0 ? event->categories[0] : 0;
  struct perfetto_track made = {.name = category, .process_id = legacy->process_id, .thread_id = STORE_NONE};
  if (made.process_id == STORE_NONE)
    made.process_id = process_of(packets, event->track);
  struct map_key group = {GROUP_IDS + (legacy->is_local ? (uint64_t)made.process_id << 2 : 0),
                          (uint64_t)category << 32 | legacy->scope};
  event->track = track_in(packets, group, legacy->id, &made);
}

// ---- events ----------------------------------------------------------------------------------------------------------
static bool read_legacy(struct perfetto_packets *packets, uint64_t sequence, struct wire message,
                        struct legacy *ret_legacy, struct perfetto_event *event)
{
  struct legacy legacy = {.duration_us = -1, .process_id = STORE_NONE, .thread_id = STORE_NONE};
  struct wire_field field;
  while (wire_next(&message, &field)) {
    if (wire_is(&field, LEGACY_SCOPE, WIRE_BYTES))
      legacy.scope = perfetto_intern(packets, &field);
    if (field.type != WIRE_VARINT)
      continue;
    if (field.number == LEGACY_NAME_IID && event->name == 0)
      event->name = perfetto_find_text(packets, sequence, PERFETTO_NAME, field.value);
    else if (field.number == LEGACY_PHASE)
      legacy.phase = field.value;
    else if (field.number == LEGACY_DURATION_US)
      legacy.duration_us = (int64_t)field.value;
    else if (field.number == LEGACY_PID)
      legacy.process_id = (int32_t)field.value;
    else if (field.number == LEGACY_TID)
      legacy.thread_id = (int32_t)field.value;
    if (field.number == LEGACY_UNSCOPED_ID || field.number == LEGACY_LOCAL_ID || field.number == LEGACY_GLOBAL_ID) {
      legacy.id = field.value;
      legacy.is_local = field.number == LEGACY_LOCAL_ID;
    }
  }
  *ret_legacy = legacy;
  return message.problem == NULL;
}

// An event without a duration, or with one beyond 64 bits, never ended.
static void make_complete(const struct legacy *legacy, struct perfetto_event *event)
{
  int64_t end_ns;
  event->is_complete = true;
  if (legacy->duration_us < 0 || __builtin_mul_overflow(legacy->duration_us, 1000, &event->duration_ns) ||
      __builtin_add_overflow(event->time_ns, event->duration_ns, &end_ns))
    event->duration_ns = -1;
}

bool perfetto_legacy(struct perfetto_packets *packets, uint64_t sequence, struct wire message,
                     struct perfetto_event *event)
{
  static const struct {
    char phase;
    bool is_async;
    enum perfetto_type type;
  } phases[] = {{'B', false, PERFETTO_BEGIN},   {'E', false, PERFETTO_END},     {'X', false, PERFETTO_BEGIN},
                {'b', true, PERFETTO_BEGIN},    {'e', true, PERFETTO_END},      {'S', true, PERFETTO_BEGIN},
                {'F', true, PERFETTO_END},      {'n', true, PERFETTO_INSTANT},  {'T', true, PERFETTO_INSTANT},
                {'p', true, PERFETTO_INSTANT},  {'I', false, PERFETTO_INSTANT}, {'i', false, PERFETTO_INSTANT},
                {'R', false, PERFETTO_INSTANT}, {'C', false, PERFETTO_COUNTER}};
  struct legacy legacy;
  if (!read_legacy(packets, sequence, message, &legacy, event))
    return false;
  for (size_t i = 0; i < sizeof phases / sizeof phases[0]; i++) {
    if (legacy.phase != (uint64_t)phases[i].phase)
      continue;
    event->type = phases[i].type;
    if (event->type != PERFETTO_BEGIN && event->type != PERFETTO_END)
      return true;
    event->ends_by_name = true;
    if (phases[i].is_async)
      find_id(packets, &legacy, event);
    else
      find_thread(packets, sequence, &legacy, event);
    if (legacy.phase == 'X')
      make_complete(&legacy, event);
  }
  return true;
}
