// SPDX-License-Identifier: Apache-2.0
// Perfetto's trace (.pftrace): slices of tracks as spans. What `xsp export --to perfetto` wrote comes back with its levels,
// kinds, correlation ids and tags; slices of others get their level by their name. See docs/importers.md.
#include "base/sorted.h"
#include "format/level.h"
#include "format/range.h"
#include "importers/exported.h"
#include "importers/import_wire.h"
#include "importers/perfetto/packets.h"

#include <inttypes.h>

#define PACKET_BYTES_MOST ((uint64_t)64 << 20)
#define PACKET_KEY WIRE_KEY(1, WIRE_BYTES)

// Packets begin with field 1; what is in the first must be of a packet.
static int recognize(struct slice head, bool is_all)
{
  struct wire wire = wire_over(head.data, head.length);
  struct wire_field packet, field;
  unsigned known = 0;
  for (unsigned i = 0; i < 8 && wire_next(&wire, &packet); i++) {
    if (!wire_is(&packet, 1, WIRE_BYTES))
      return 0;
    struct wire inside = wire_inside(&packet);
    while (wire_next(&inside, &field)) {
      known += wire_is(&field, 60, WIRE_BYTES) || wire_is(&field, 11, WIRE_BYTES) || wire_is(&field, 10, WIRE_VARINT) ||
               wire_is(&field, 8, WIRE_VARINT);
      if (field.number == 1 && field.type == WIRE_BYTES && field.length > 0 && field.bytes[0] == '/')
        return 0; // TensorFlow's
    }
    if (inside.problem != NULL)
      return 0;
  }
  return known >= 2 ? 3 : 0;
}

#define NO_SPAN SIZE_MAX
struct mark { // where a slice begins, or one ends
  int64_t time_ns;
  size_t order, span;       // in the file; in `spans`, NO_SPAN: an end
  size_t first_tag;         // of an end, in `end_tags`
  uint32_t tag_count, name; // of these; of an end: of what it ends, 0: of the innermost
};
struct slice_track {
  uint64_t uuid;
  bool is_own, is_unsorted;
  uint32_t track_id; // at the end, when all descriptors are known
  VECTOR(struct mark) marks;
};
struct reading {
  struct import *import;
  struct perfetto_packets packets;
  struct perfetto_event event;
  struct map place_of; // uuid → place in `tracks` + 1
  VECTOR(struct slice_track) tracks;
  VECTOR(struct store_span) spans; // in the order in which they begin in the file; track_id: place in `tracks`
  VECTOR(struct store_tag) end_tags;
  VECTOR(size_t) open; // places in `spans`, of the track that is paired
  struct import_exported exported;
};

// ---- tracks ----------------------------------------------------------------------------------------------------------
static enum status add_track(struct reading *reading, struct slice_track *slices, struct error *err)
{
  struct store_track row = IMPORT_NO_PLACE;
  const struct perfetto_track *track = perfetto_find_track(&reading->packets, slices->uuid);
  if (track != NULL && track->name != 0)
    row.name = import_text(reading->import, track->name, NULL);
  for (unsigned i = 0; i < 16 && track != NULL; i++) { // its own place, else its parents'
    row.process_id = row.process_id == STORE_NONE ? track->process_id : row.process_id;
    row.thread_id = row.thread_id == STORE_NONE ? track->thread_id : row.thread_id;
    track = track->parent != 0 ? perfetto_find_track(&reading->packets, track->parent) : NULL;
  }
  if (slices->is_own && row.process_id >= IMPORT_MADE_UP_PID)
    row.process_id = STORE_NONE;
  return import_track(reading->import, &row, &slices->track_id, err);
}

static size_t find_place(struct reading *reading, uint64_t uuid, bool is_own)
{
  uint64_t *place = map_at(&reading->place_of, map_number(uuid), NULL);
  if (*place == 0) {
    *vector_add(&reading->tracks) = (struct slice_track){.uuid = uuid, .is_own = is_own};
    *place = reading->tracks.count;
  }
  return (size_t)*place - 1;
}

static struct mark *add_mark(struct slice_track *track, int64_t time_ns, size_t span)
{
  size_t order = track->marks.count;
  struct mark *mark = vector_add(&track->marks);
  *mark = (struct mark){.time_ns = time_ns, .order = order, .span = span};
  track->is_unsorted |= order > 0 && mark[-1].time_ns > time_ns;
  return mark;
}

// ---- slices ----------------------------------------------------------------------------------------------------------
static bool take_level(struct reading *reading, struct store_span *span)
{
  bool has_level = false;
  for (size_t i = 0; i < reading->event.category_count; i++) {
    size_t length;
    unsigned level;
    const char *text = import_text(reading->import, reading->event.categories[i], &length);
    if (!has_level && level_from_name(text, length, &level)) {
      span->level = (uint8_t)level;
      has_level = true;
    } else if (span->category == 0) {
      span->category = reading->event.categories[i];
    }
  }
  return has_level;
}

// Of others: an operator or a range, by its name.
static void level_by_name(struct reading *reading, struct store_span *span)
{
  size_t length;
  const char *text = import_text(reading->import, span->name, &length);
  struct range range;
  range_read(NULL, text, length, reading->import->options->model_range, &range);
  span->level = (uint8_t)range.level;
  span->flags = range.is_step ? STORE_SPAN_STEP : 0;
  span->name = import_string(reading->import, range.name, range.name_length);
}

// What xsp's own export writes as annotations is the span's; the rest are tags.
static void take_tags(struct reading *reading, bool is_own, struct store_span *span)
{
  for (size_t i = 0; i < reading->event.tags.count; i++) {
    struct store_tag tag = reading->event.tags.items[i];
    if (is_own && import_exported_take(reading->import, &reading->exported, i == 0, &tag, span))
      continue;
    tag.span_id = span->span_id;
    if (tag.type != STORE_TEXT || tag.value.string != 0)
      import_tag(reading->import, &tag);
  }
}

// What xsp's own export calls the slice; 0: nothing.
static int64_t own_number(const struct reading *reading)
{
  for (size_t i = 0; i < reading->event.tags.count; i++) {
    const struct store_tag *tag = &reading->event.tags.items[i];
    if (tag->key == reading->exported.span && tag->type == STORE_INT)
      return tag->value.integer;
  }
  return 0;
}

static void begin_slice(struct reading *reading)
{
  const struct perfetto_event *event = &reading->event;
  struct store_span span = {.span_id = import_exported_id(&reading->exported, own_number(reading)),
                            .start_ns = event->time_ns,
                            .name = event->name,
                            .kind = XSP_KIND_SYNC};
  bool is_own = take_level(reading, &span);
  if (!is_own)
    level_by_name(reading, &span);
  size_t place = find_place(reading, event->track, is_own);
  span.track_id = (uint32_t)place;
  span.flags |= STORE_SPAN_OPEN;
  take_tags(reading, is_own, &span);
  if (!event->is_complete) {
    (void)add_mark(&reading->tracks.items[place], event->time_ns, reading->spans.count);
  } else if (event->duration_ns >= 0) {
    span.duration_ns = event->duration_ns;
    span.flags &= (uint8_t)~STORE_SPAN_OPEN;
  }
  *vector_add(&reading->spans) = span;
}

static void end_slice(struct reading *reading)
{
  const struct perfetto_event *event = &reading->event;
  size_t place = find_place(reading, event->track, false);
  struct mark *mark = add_mark(&reading->tracks.items[place], event->time_ns, NO_SPAN);
  mark->first_tag = reading->end_tags.count;
  mark->tag_count = (uint32_t)event->tags.count; // a packet has at most 64 MiB
  mark->name = event->ends_by_name ? event->name : 0;
  for (size_t i = 0; i < event->tags.count; i++)
    *vector_add(&reading->end_tags) = event->tags.items[i];
}

// ---- pairs -----------------------------------------------------------------------------------------------------------
SORTED_BY(compare_marks, struct mark, RISING(time_ns) ?: RISING(order))

static void end_span(struct reading *reading, const struct mark *end, struct store_span *span)
{
  span->duration_ns = end->time_ns - span->start_ns; // both are at least 0
  span->flags &= (uint8_t)~STORE_SPAN_OPEN;
  import_joined(reading->import);
  for (size_t i = 0; i < end->tag_count; i++) {
    struct store_tag tag = reading->end_tags.items[end->first_tag + i];
    tag.span_id = span->span_id;
    if (tag.type != STORE_TEXT || tag.value.string != 0)
      import_tag(reading->import, &tag);
  }
}

#define OPEN_SEEN_MOST 64u // a search through all would be quadratic

// The place in `open` of what a mark ends: the innermost by its name, if it has one. SIZE_MAX: nothing.
static size_t find_open(const struct reading *reading, const struct mark *mark)
{
  size_t count = reading->open.count;
  for (size_t i = 0; i < count && i < OPEN_SEEN_MOST; i++)
    if (mark->name == 0 || reading->spans.items[reading->open.items[count - 1 - i]].name == mark->name)
      return count - 1 - i;
  return SIZE_MAX;
}

// By time, as several sequences of packets may write to a track; at equal times in the order of the file.
static void pair_up(struct reading *reading, struct slice_track *track)
{
  reading->open.count = 0;
  if (track->is_unsorted)
    vector_sort(&track->marks, compare_marks);
  for (size_t i = 0; i < track->marks.count; i++) {
    const struct mark *mark = &track->marks.items[i];
    if (mark->span != NO_SPAN) {
      *vector_add(&reading->open) = mark->span;
      continue;
    }
    size_t place = find_open(reading, mark);
    if (place == SIZE_MAX) {
      import_skip(reading->import, "end without a beginning");
      continue;
    }
    size_t *open = &reading->open.items[place];
    end_span(reading, mark, &reading->spans.items[*open]);
    memmove(open, open + 1, (--reading->open.count - place) * sizeof *open);
  }
}

// ---- the file --------------------------------------------------------------------------------------------------------
static enum status read_packet(struct reading *reading, struct error *err)
{
  struct import *import = reading->import;
  uint64_t key, length;
  XSP_TRY(import_wire_number(import, &key, err));
  if (key != PACKET_KEY)
    return import_wire_skip(import, key, WIRE_TO_THE_END, err);
  uint64_t offset = import_wire_offset(import);
  XSP_TRY(import_wire_length(import, WIRE_TO_THE_END, &length, err));
  if (length > PACKET_BYTES_MOST)
    return import_broken(import, err, offset, "a packet is larger than 64 MiB");
  XSP_TRY(import_wire_need_all(import, length, err));
  struct wire packet = wire_over(import->input->at, (size_t)length);
  const char *reason;
  reading->event.type = 0;
  reading->event.name = 0;
  reading->event.is_complete = reading->event.ends_by_name = false;
  reading->event.category_count = reading->event.tags.count = 0;
  if (!perfetto_packet(&reading->packets, &packet, &reading->event, &reason))
    return import_broken(import, err, offset, "%s", packet.problem);
  import->input->at += length;
  if (reason != NULL && reason[0] != 0)
    import_skip(import, reason);
  if (reason != NULL)
    return STATUS_OK;
  (reading->event.type == PERFETTO_BEGIN ? begin_slice : end_slice)(reading);
  return STATUS_OK;
}

static enum status read_packets(struct reading *reading, struct error *err)
{
  struct import *import = reading->import;
  for (;;) {
    XSP_TRY(import_wire_need(import, 1, err));
    if (import->input->at == import->input->end)
      return STATUS_OK;
    XSP_TRY(read_packet(reading, err));
  }
}

static enum status put_all(struct reading *reading, int64_t run_id, struct error *err)
{
  struct import *import = reading->import;
  uint64_t open = 0;
  int64_t most_ns = 0, epoch_ns, ignored;
  for (size_t i = 0; i < reading->tracks.count; i++) {
    pair_up(reading, &reading->tracks.items[i]);
    XSP_TRY(add_track(reading, &reading->tracks.items[i], err));
  }
  for (size_t i = 0; i < reading->spans.count; i++) {
    struct store_span *span = &reading->spans.items[i];
    span->track_id = reading->tracks.items[span->track_id].track_id;
    import_exported_put(&reading->exported, span);
    (void)import_exported_next(&reading->exported, true, span);
    most_ns = span->start_ns + span->duration_ns > most_ns ? span->start_ns + span->duration_ns : most_ns;
    open += (span->flags & STORE_SPAN_OPEN) != 0;
    XSP_TRY(import_span(import, span, err));
  }
  if (open > 0)
    import_note(import, "%" PRIu64 " slices did not end", open);
  if (reading->packets.untaken > 0)
    import_note(import, "%" PRIu64 " debug annotations are objects, lists or no numbers: they are no tags",
                reading->packets.untaken);
  bool is_unix = perfetto_clocks_epoch(&reading->packets.clocks, &epoch_ns) &&
                 !__builtin_add_overflow(most_ns, epoch_ns, &ignored);
  import_run_set(import, &(struct store_run){.run_id = run_id, .epoch_is_unix = is_unix});
  import_run_shift(import, is_unix ? epoch_ns : 0);
  return STATUS_OK;
}

static enum status read_file(struct import *import, struct error *err)
{
  struct reading reading = {.import = import, .packets.import = import};
  int64_t run_id = import_run(import, &(struct store_run){0});
  import_exported_make(import, &reading.exported);
  enum status status = read_packets(&reading, err);
  if (status == STATUS_OK)
    status = put_all(&reading, run_id, err);
  for (size_t i = 0; i < reading.tracks.count; i++)
    vector_done(&reading.tracks.items[i].marks);
  vector_done(&reading.tracks);
  vector_done(&reading.spans);
  vector_done(&reading.end_tags);
  vector_done(&reading.open);
  vector_done(&reading.event.tags);
  map_done(&reading.place_of);
  import_exported_done(&reading.exported);
  perfetto_packets_done(&reading.packets);
  return status;
}

const struct importer importer_perfetto = {
    .name = "perfetto",
    .summary = "Perfetto's traces (.pftrace), also those that xsp exported",
    .recognize = recognize,
    .read = read_file,
};
