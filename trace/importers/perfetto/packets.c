// SPDX-License-Identifier: Apache-2.0
// Packets of Perfetto's protos/perfetto/trace; see packets.h. Called by perfetto.c for each packet in the file's order.
#include "importers/perfetto/packets.h"

#include <inttypes.h>

enum packet_field {
  PACKET_FTRACE = 1,
  PACKET_CLOCK_SNAPSHOT = 6,
  PACKET_TIMESTAMP = 8,
  PACKET_SEQUENCE_ID = 10,
  PACKET_TRACK_EVENT = 11,
  PACKET_INTERNED_DATA = 12,
  PACKET_COMPRESSED = 50,
  PACKET_CLOCK_ID = 58,
  PACKET_DEFAULTS = 59,
  PACKET_TRACK_DESCRIPTOR = 60,
};
enum event_field {
  EVENT_CATEGORY_IIDS = 3,
  EVENT_ANNOTATIONS = 4,
  EVENT_LEGACY = 6,
  EVENT_TYPE = 9,
  EVENT_NAME_IID = 10,
  EVENT_TRACK = 11,
  EVENT_CATEGORIES = 22,
  EVENT_NAME = 23,
};
enum annotation_field {
  ANNOTATION_NAME_IID = 1,
  ANNOTATION_BOOL = 2,
  ANNOTATION_UINT = 3,
  ANNOTATION_INT = 4,
  ANNOTATION_DOUBLE = 5,
  ANNOTATION_STRING = 6,
  ANNOTATION_POINTER = 7,
  ANNOTATION_JSON = 9,
  ANNOTATION_NAME = 10,
  ANNOTATION_STRING_IID = 17,
};
static const unsigned interned_fields[PERFETTO_TEXTS] = {1, 2, 3, 29};

struct place { // of a packet
  uint64_t sequence;
  struct perfetto_sequence *defaults;
};

uint32_t perfetto_intern(struct perfetto_packets *packets, const struct wire_field *field)
{
  buf_clear(&packets->scratch);
  buf_utf8(&packets->scratch, field->bytes, field->length);
  return import_string(packets->import, packets->scratch.data, packets->scratch.length);
}

// ---- texts of a sequence ---------------------------------------------------------------------------------------------
static struct map_key text_key(uint64_t sequence, enum perfetto_text kind, uint64_t iid)
{
  return (struct map_key){sequence << 3 | (uint64_t)kind, iid};
}

uint32_t perfetto_find_text(const struct perfetto_packets *packets, uint64_t sequence, enum perfetto_text kind,
                            uint64_t iid)
{
  const uint64_t *text = map_find(&packets->texts, text_key(sequence, kind, iid));
  return text != NULL ? (uint32_t)*text : 0;
}

static bool read_interned(struct perfetto_packets *packets, uint64_t sequence, struct wire data)
{
  struct wire_field field, part;
  while (wire_next(&data, &field))
    for (unsigned kind = 0; kind < PERFETTO_TEXTS; kind++) {
      struct wire entry = wire_inside(&field);
      uint64_t iid = 0;
      uint32_t text = 0;
      if (!wire_is(&field, interned_fields[kind], WIRE_BYTES))
        continue;
      while (wire_next(&entry, &part)) {
        iid = wire_is(&part, 1, WIRE_VARINT) ? part.value : iid;
        text = wire_is(&part, 2, WIRE_BYTES) ? perfetto_intern(packets, &part) : text;
      }
      if (entry.problem != NULL)
        return false;
      *map_at(&packets->texts, text_key(sequence, (enum perfetto_text)kind, iid), NULL) = text;
    }
  return data.problem == NULL;
}

// ---- tracks, clocks, defaults ----------------------------------------------------------------------------------------
static bool read_thread(struct perfetto_packets *packets, struct wire message, unsigned name_field,
                        struct perfetto_track *track)
{
  struct wire_field field;
  while (wire_next(&message, &field)) {
    if (wire_is(&field, 1, WIRE_VARINT))
      track->process_id = (int32_t)field.value;
    if (wire_is(&field, 2, WIRE_VARINT) && name_field == 5) // of a thread
      track->thread_id = (int64_t)field.value;
    if (wire_is(&field, name_field, WIRE_BYTES) && field.length > 0)
      track->name = perfetto_intern(packets, &field);
  }
  return message.problem == NULL;
}

void perfetto_keep_track(struct perfetto_packets *packets, uint64_t uuid, const struct perfetto_track *track)
{
  uint64_t *place = map_at(&packets->track_of, map_number(uuid), NULL);
  if (*place == 0) {
    *vector_add(&packets->tracks) = *track;
    *place = packets->tracks.count;
    return;
  }
  struct perfetto_track *known = &packets->tracks.items[*place - 1];
  known->name = track->name != 0 ? track->name : known->name;
  known->parent = track->parent != 0 ? track->parent : known->parent;
  known->process_id = track->process_id != STORE_NONE ? track->process_id : known->process_id;
  known->thread_id = track->thread_id != STORE_NONE ? track->thread_id : known->thread_id;
}

static bool read_track(struct perfetto_packets *packets, struct wire descriptor)
{
  struct perfetto_track track = {.process_id = STORE_NONE, .thread_id = STORE_NONE};
  struct wire_field field;
  uint64_t uuid = 0;
  uint32_t name = 0;
  bool is_read = true;
  while (is_read && wire_next(&descriptor, &field)) {
    uuid = wire_is(&field, 1, WIRE_VARINT) ? field.value : uuid;
    name = wire_is(&field, 2, WIRE_BYTES) || wire_is(&field, 10, WIRE_BYTES) ? perfetto_intern(packets, &field) : name;
    track.parent = wire_is(&field, 5, WIRE_VARINT) ? field.value : track.parent;
    if (wire_is(&field, 3, WIRE_BYTES))
      is_read = read_thread(packets, wire_inside(&field), 6, &track);
    if (wire_is(&field, 4, WIRE_BYTES))
      is_read = read_thread(packets, wire_inside(&field), 5, &track);
  }
  track.name = name != 0 ? name : track.name;
  perfetto_keep_track(packets, uuid, &track);
  return is_read && descriptor.problem == NULL;
}

const struct perfetto_track *perfetto_find_track(const struct perfetto_packets *packets, uint64_t uuid)
{
  const uint64_t *place = map_find(&packets->track_of, map_number(uuid));
  return place != NULL ? &packets->tracks.items[*place - 1] : NULL;
}

static bool read_defaults(struct wire defaults, struct perfetto_sequence *sequence)
{
  struct wire_field field, part;
  while (wire_next(&defaults, &field)) {
    struct wire event = wire_inside(&field);
    sequence->clock = wire_is(&field, 58, WIRE_VARINT) ? field.value : sequence->clock;
    while (wire_is(&field, 11, WIRE_BYTES) && wire_next(&event, &part))
      sequence->track = wire_is(&part, EVENT_TRACK, WIRE_VARINT) ? part.value : sequence->track;
    if (event.problem != NULL)
      return false;
  }
  return defaults.problem == NULL;
}

static struct perfetto_sequence *find_sequence(struct perfetto_packets *packets, uint64_t id)
{
  uint64_t *place = map_at(&packets->sequence_of, map_number(id), NULL);
  if (*place == 0) {
    *vector_add(&packets->sequences) = (struct perfetto_sequence){0};
    *place = packets->sequences.count;
  }
  return &packets->sequences.items[*place - 1];
}

// ---- events ----------------------------------------------------------------------------------------------------------
// What no tag holds as a number, and addresses.
static uint32_t intern_number(struct perfetto_packets *packets, const struct wire_field *field)
{
  buf_clear(&packets->scratch);
  buf_format(&packets->scratch, field->number == ANNOTATION_POINTER ? "0x%" PRIx64 : "%" PRIu64, field->value);
  return import_string(packets->import, packets->scratch.data, packets->scratch.length);
}

// False: the value is of a kind that is no tag.
static bool take_value(struct perfetto_packets *packets, uint64_t sequence, const struct wire_field *field,
                       struct store_tag *tag)
{
  struct store_tag before = *tag;
  bool is_large = field->number == ANNOTATION_POINTER || (field->number == ANNOTATION_UINT && field->value > INT64_MAX);
  tag->type = STORE_INT;
  tag->value.integer = (int64_t)field->value;
  if (field->type == WIRE_VARINT && is_large) {
    tag->type = STORE_TEXT;
    tag->value.string = intern_number(packets, field);
    return true;
  }
  if (field->type == WIRE_VARINT &&
      (field->number == ANNOTATION_BOOL || field->number == ANNOTATION_UINT || field->number == ANNOTATION_INT))
    return true;
  if (wire_is(field, ANNOTATION_DOUBLE, WIRE_FIXED64)) {
    memcpy(&tag->value.real, &field->value, sizeof tag->value.real);
    tag->type = STORE_DOUBLE;
    return tag->value.real - tag->value.real == 0;
  }
  tag->type = STORE_TEXT;
  if (wire_is(field, ANNOTATION_STRING_IID, WIRE_VARINT)) {
    tag->value.string = perfetto_find_text(packets, sequence, PERFETTO_STRING, field->value);
    return true;
  }
  if (wire_is(field, ANNOTATION_STRING, WIRE_BYTES) || wire_is(field, ANNOTATION_JSON, WIRE_BYTES)) {
    tag->value.string = perfetto_intern(packets, field);
    return true;
  }
  *tag = before;
  return before.type != 0;
}

static bool read_annotation(struct perfetto_packets *packets, uint64_t sequence, struct wire message,
                            struct perfetto_event *event)
{
  struct store_tag tag = {0};
  struct wire_field field;
  bool has_value = false;
  while (wire_next(&message, &field)) {
    if (wire_is(&field, ANNOTATION_NAME_IID, WIRE_VARINT))
      tag.key = perfetto_find_text(packets, sequence, PERFETTO_KEY, field.value);
    else if (wire_is(&field, ANNOTATION_NAME, WIRE_BYTES))
      tag.key = perfetto_intern(packets, &field);
    else
      has_value = take_value(packets, sequence, &field, &tag);
  }
  if (has_value && tag.key != 0)
    *vector_add(&event->tags) = tag;
  packets->untaken += !has_value;
  return message.problem == NULL;
}

static void add_category(struct perfetto_event *event, uint32_t category)
{
  if (category != 0 && event->category_count < PERFETTO_CATEGORIES)
    event->categories[event->category_count++] = category;
}

static bool read_event(struct perfetto_packets *packets, const struct place *place, struct wire message,
                       struct perfetto_event *event)
{
  struct wire_field field, legacy = {0};
  bool is_read = true;
  event->track = place->defaults->track;
  while (is_read && wire_next(&message, &field)) {
    if (wire_is(&field, EVENT_TYPE, WIRE_VARINT))
      event->type = field.value;
    else if (wire_is(&field, EVENT_TRACK, WIRE_VARINT))
      event->track = field.value;
    else if (wire_is(&field, EVENT_NAME_IID, WIRE_VARINT))
      event->name = perfetto_find_text(packets, place->sequence, PERFETTO_NAME, field.value);
    else if (wire_is(&field, EVENT_NAME, WIRE_BYTES))
      event->name = perfetto_intern(packets, &field);
    else if (wire_is(&field, EVENT_CATEGORY_IIDS, WIRE_VARINT))
      add_category(event, perfetto_find_text(packets, place->sequence, PERFETTO_CATEGORY, field.value));
    else if (wire_is(&field, EVENT_CATEGORIES, WIRE_BYTES))
      add_category(event, perfetto_intern(packets, &field));
    else if (wire_is(&field, EVENT_ANNOTATIONS, WIRE_BYTES))
      is_read = read_annotation(packets, place->sequence, wire_inside(&field), event);
    else if (wire_is(&field, EVENT_LEGACY, WIRE_BYTES))
      legacy = field;
  }
  if (is_read && message.problem == NULL && event->type == 0 && legacy.number != 0)
    is_read = perfetto_legacy(packets, place->sequence, wire_inside(&legacy), event);
  return is_read && message.problem == NULL;
}

static const char *why_none(const struct perfetto_event *event)
{
  if (event->type == PERFETTO_INSTANT || event->type == PERFETTO_COUNTER)
    return event->type == PERFETTO_INSTANT ? "instant" : "counter";
  return event->type != PERFETTO_BEGIN && event->type != PERFETTO_END ? "unknown type" : NULL;
}

struct parts { // of a packet; number 0: it has none
  struct wire_field interned, defaults, body;
  uint64_t time, clock;
  bool has_time;
};

// Only one of the bodies is in a packet, but texts and defaults may be in any.
static struct parts take_apart(struct wire *packet, uint64_t *ret_sequence)
{
  struct parts parts = {0};
  struct wire_field field;
  while (wire_next(packet, &field)) {
    if (wire_is(&field, PACKET_TIMESTAMP, WIRE_VARINT)) {
      parts.time = field.value;
      parts.has_time = true;
    }
    parts.clock = wire_is(&field, PACKET_CLOCK_ID, WIRE_VARINT) ? field.value : parts.clock;
    *ret_sequence = wire_is(&field, PACKET_SEQUENCE_ID, WIRE_VARINT) ? field.value : *ret_sequence;
    if (wire_is(&field, PACKET_INTERNED_DATA, WIRE_BYTES))
      parts.interned = field;
    else if (wire_is(&field, PACKET_DEFAULTS, WIRE_BYTES))
      parts.defaults = field;
    else if (wire_is(&field, PACKET_CLOCK_SNAPSHOT, WIRE_BYTES) || wire_is(&field, PACKET_TRACK_EVENT, WIRE_BYTES) ||
             wire_is(&field, PACKET_TRACK_DESCRIPTOR, WIRE_BYTES) || wire_is(&field, PACKET_COMPRESSED, WIRE_BYTES) ||
             wire_is(&field, PACKET_FTRACE, WIRE_BYTES))
      parts.body = field;
  }
  return parts;
}

bool perfetto_packet(struct perfetto_packets *packets, struct wire *packet, struct perfetto_event *event,
                     const char **ret_reason)
{
  struct place place = {0};
  const char *why_no_time = NULL;
  const struct parts parts = take_apart(packet, &place.sequence);
  place.defaults = find_sequence(packets, place.sequence);
  bool is_described = parts.interned.number != 0 || parts.defaults.number != 0, is_read = true;
  *ret_reason = is_described ? "" : "another packet";
  if (parts.interned.number != 0) // before what refers to it
    is_read = read_interned(packets, place.sequence, wire_inside(&parts.interned));
  if (parts.defaults.number != 0)
    is_read &= read_defaults(wire_inside(&parts.defaults), place.defaults);
  if (parts.body.number != PACKET_CLOCK_SNAPSHOT && (parts.has_time || parts.body.number == PACKET_TRACK_EVENT))
    why_no_time =
        perfetto_clocks_time(&packets->clocks, place.sequence, parts.clock != 0 ? parts.clock : place.defaults->clock,
                             parts.time, &event->time_ns);
  switch ((enum packet_field)parts.body.number) {
  case PACKET_CLOCK_SNAPSHOT:
    is_read &= perfetto_clocks_snapshot(&packets->clocks, place.sequence, wire_inside(&parts.body));
    *ret_reason = "";
    break;
  case PACKET_TRACK_DESCRIPTOR:
    is_read &= read_track(packets, wire_inside(&parts.body));
    *ret_reason = "";
    break;
  case PACKET_TRACK_EVENT:
    is_read &= read_event(packets, &place, wire_inside(&parts.body), event);
    *ret_reason = why_none(event);
    *ret_reason = *ret_reason != NULL ? *ret_reason : why_no_time;
    break;
  case PACKET_COMPRESSED:
    *ret_reason = "compressed packets";
    break;
  case PACKET_FTRACE:
    *ret_reason = "kernel's events (ftrace)";
    break;
  default:
    break;
  }
  if (!is_read)
    (void)wire_fail(packet, "a message in this packet is damaged");
  return packet->problem == NULL;
}

void perfetto_packets_done(struct perfetto_packets *packets)
{
  map_done(&packets->texts);
  map_done(&packets->track_of);
  map_done(&packets->sequence_of);
  map_done(&packets->legacy_groups);
  map_done(&packets->legacy_tracks);
  vector_done(&packets->tracks);
  vector_done(&packets->sequences);
  perfetto_clocks_done(&packets->clocks);
  buf_done(&packets->scratch);
}
