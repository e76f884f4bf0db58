// SPDX-License-Identifier: Apache-2.0
// Perfetto's trace (.pftrace): slices of tracks as spans. What `xsp export --to perfetto` wrote comes back with its levels,
// kinds, correlation ids and tags; slices of others get their level by their name. See docs/importers.md.
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

struct slice_stack { // of one track
  uint32_t track_id;
  VECTOR(size_t) open; // places in `spans`
};
struct reading {
  struct import *import;
  struct perfetto_packets packets;
  struct perfetto_event event;
  struct map stack_of; // uuid → place in `stacks` + 1
  VECTOR(struct slice_stack) stacks;
  VECTOR(struct store_span) spans; // in the order in which they begin
  struct import_exported exported;
};

// ---- tracks ----------------------------------------------------------------------------------------------------------
static enum status add_track(struct reading *reading, uint64_t uuid, bool is_own, uint32_t *ret_track_id,
                             struct error *err)
{
  struct store_track row = IMPORT_NO_PLACE;
  const struct perfetto_track *track = perfetto_find_track(&reading->packets, uuid);
  if (track != NULL && track->name != 0)
    row.name = import_text(reading->import, track->name, NULL);
  for (unsigned i = 0; i < 16 && track != NULL; i++) { // its own place, else its parents'
    row.process_id = row.process_id == STORE_NONE ? track->process_id : row.process_id;
    row.thread_id = row.thread_id == STORE_NONE ? track->thread_id : row.thread_id;
    track = track->parent != 0 ? perfetto_find_track(&reading->packets, track->parent) : NULL;
  }
  if (is_own && row.process_id >= IMPORT_MADE_UP_PID)
    row.process_id = STORE_NONE;
  return import_track(reading->import, &row, ret_track_id, err);
}

static enum status find_stack(struct reading *reading, uint64_t uuid, bool is_own, struct slice_stack **ret_stack,
                              struct error *err)
{
  uint64_t *place = map_at(&reading->stack_of, map_number(uuid), NULL);
  if (*place == 0) {
    uint32_t track_id = 0;
    XSP_TRY(add_track(reading, uuid, is_own, &track_id, err));
    vector_add(&reading->stacks)->track_id = track_id;
    *place = reading->stacks.count;
  }
  *ret_stack = &reading->stacks.items[*place - 1];
  return STATUS_OK;
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

static enum status begin_slice(struct reading *reading, struct error *err)
{
  const struct perfetto_event *event = &reading->event;
  struct slice_stack *stack;
  struct store_span span = {.span_id = import_exported_id(&reading->exported, own_number(reading)),
                            .start_ns = event->time_ns,
                            .name = event->name,
                            .kind = XSP_KIND_SYNC};
  bool is_own = take_level(reading, &span);
  if (!is_own)
    level_by_name(reading, &span);
  XSP_TRY(find_stack(reading, event->track, is_own, &stack, err));
  span.track_id = stack->track_id;
  span.flags |= STORE_SPAN_OPEN;
  take_tags(reading, is_own, &span);
  *vector_add(&stack->open) = reading->spans.count;
  *vector_add(&reading->spans) = span;
  return STATUS_OK;
}

static enum status end_slice(struct reading *reading, struct error *err)
{
  struct slice_stack *stack;
  XSP_TRY(find_stack(reading, reading->event.track, false, &stack, err));
  if (stack->open.count == 0) {
    import_skip(reading->import, "end without a beginning");
    return STATUS_OK;
  }
  struct store_span *span = &reading->spans.items[stack->open.items[--stack->open.count]];
  import_joined(reading->import);
  if (reading->event.time_ns >= span->start_ns) { // both are at least 0
    span->duration_ns = reading->event.time_ns - span->start_ns;
    span->flags &= (uint8_t)~STORE_SPAN_OPEN;
  }
  return STATUS_OK;
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
  reading->event.category_count = reading->event.tags.count = 0;
  if (!perfetto_packet(&reading->packets, &packet, &reading->event, &reason))
    return import_broken(import, err, offset, "%s", packet.problem);
  import->input->at += length;
  if (reason != NULL && reason[0] != 0)
    import_skip(import, reason);
  if (reason != NULL)
    return STATUS_OK;
  return reading->event.type == PERFETTO_BEGIN ? begin_slice(reading, err) : end_slice(reading, err);
}

static enum status read_packets(struct reading *reading, int64_t run_id, struct error *err)
{
  struct import *import = reading->import;
  uint64_t open = 0;
  int64_t most_ns = 0, epoch_ns, ignored;
  for (;;) {
    XSP_TRY(import_wire_need(import, 1, err));
    if (import->input->at == import->input->end)
      break;
    XSP_TRY(read_packet(reading, err));
  }
  for (size_t i = 0; i < reading->spans.count; i++) {
    struct store_span *span = &reading->spans.items[i];
    import_exported_put(&reading->exported, span);
    (void)import_exported_next(&reading->exported, true, span);
    most_ns = span->start_ns + span->duration_ns > most_ns ? span->start_ns + span->duration_ns : most_ns;
    open += (span->flags & STORE_SPAN_OPEN) != 0;
    XSP_TRY(import_span(import, span, err));
  }
  if (open > 0)
    import_note(import, "%" PRIu64 " slices did not end, or before they began", open);
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
  enum status status = read_packets(&reading, run_id, err);
  for (size_t i = 0; i < reading.stacks.count; i++)
    vector_done(&reading.stacks.items[i].open);
  vector_done(&reading.stacks);
  vector_done(&reading.spans);
  vector_done(&reading.event.tags);
  map_done(&reading.stack_of);
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
