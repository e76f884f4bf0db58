// SPDX-License-Identifier: Apache-2.0
// Tracks of trace events by process and thread; see trace_events.h.
#include "importers/trace_events/trace_events.h"

#include <inttypes.h>
#include <string.h>

// A process or thread as an id of a text: 12 and "12" are the same, as in viewers of such files.
static uint32_t id_text(struct import *import, const struct trace_value *value)
{
  if (value->type == TRACE_NONE || value->type == TRACE_NULL)
    return 0;
  return import_slice(import, value->raw);
}

static enum status add_track(struct import *import, const struct trace_event *event, uint32_t pid, uint32_t tid,
                             uint32_t *ret_track_id, struct error *err)
{
  struct store_track row = IMPORT_NO_PLACE;
  if (!trace_int64(&event->process_id, &row.process_id) && pid != 0)
    row.name = import_text(import, pid, NULL);
  if (!trace_int64(&event->thread_id, &row.thread_id) && tid != 0)
    row.name = import_text(import, tid, NULL);
  return import_track(import, &row, ret_track_id, err);
}

enum status import_event_track(struct event_tracks *tracks, const struct trace_event *event, uint32_t *ret_track_id,
                               struct error *err)
{
  uint32_t pid = id_text(tracks->import, &event->process_id), tid = id_text(tracks->import, &event->thread_id);
  *ret_track_id = tracks->last_track;
  if (tracks->last_track != 0 && pid == tracks->last_pid && tid == tracks->last_tid)
    return STATUS_OK;
  uint64_t *track = map_at(&tracks->tracks, (struct map_key){pid, tid}, NULL);
  if (*track == 0) {
    XSP_TRY(add_track(tracks->import, event, pid, tid, ret_track_id, err));
    *track = *ret_track_id;
  }
  *ret_track_id = (uint32_t)*track;
  tracks->last_pid = pid;
  tracks->last_tid = tid;
  tracks->last_track = *ret_track_id;
  return STATUS_OK;
}

const char *trace_phase_reason(char phase)
{
  static const struct {
    const char *phases, *reason;
  } rows[] = {
      {"XBEbeSFM", NULL}, {"iIRnTp", "instant"}, {"C", "counter"},      {"stf", "flow"},
      {"P", "sample"},    {"NOD", "object"},     {"vV", "memory dump"}, {"c", "clock"},
  };
  if (phase == 0)
    return "no phase";
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    if (strchr(rows[i].phases, phase) != NULL)
      return rows[i].reason;
  return "unknown phase";
}

// With a point or an exponent: meant as a real number.
static bool is_fraction(struct slice number)
{
  for (size_t i = 0; i < number.length; i++)
    if (number.data[i] == '.' || number.data[i] == 'e' || number.data[i] == 'E')
      return true;
  return false;
}

bool import_event_scalar(struct import *import, const struct trace_value *value, struct store_tag *ret_tag)
{
  ret_tag->type = STORE_INT;
  if (value->type == TRACE_TRUE || value->type == TRACE_FALSE) {
    ret_tag->value.integer = value->type == TRACE_TRUE;
    return true;
  }
  if (value->type != TRACE_NUMBER)
    return false;
  if (trace_int64(value, &ret_tag->value.integer))
    return true;
  bool is_real = is_fraction(value->raw) && trace_double(value, &ret_tag->value.real);
  ret_tag->type = is_real ? STORE_DOUBLE : STORE_TEXT;
  if (!is_real)
    ret_tag->value.string = import_slice(import, value->raw);
  return true;
}

bool import_event_tag_scalar(struct import *import, int64_t span_id, uint32_t key, const struct trace_value *value)
{
  struct store_tag tag = {.span_id = span_id, .key = key};
  if (import_event_scalar(import, value, &tag)) {
    import_tag(import, &tag);
    return true;
  }
  return value->type == TRACE_NULL || value->type == TRACE_NONE;
}

void import_note_ending(struct import *import, const struct trace_ending *ending)
{
  uint64_t count = ending->nonfinite_count;
  if (count > 0)
    import_note(import, "%" PRIu64 " value%s NaN or infinite: read as null", count, count == 1 ? " is" : "s are");
  import_run_resolution(import, ending->resolution_ns);
}
