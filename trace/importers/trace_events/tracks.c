// SPDX-License-Identifier: Apache-2.0
// Tracks of trace events by process and thread; see trace_events.h.
#include "importers/trace_events/trace_events.h"

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

enum status event_track(struct event_tracks *tracks, const struct trace_event *event, uint32_t *ret_track_id,
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

// With a point or an exponent: meant as a real number.
static bool is_fraction(struct slice number)
{
  for (size_t i = 0; i < number.length; i++)
    if (number.data[i] == '.' || number.data[i] == 'e' || number.data[i] == 'E')
      return true;
  return false;
}

bool event_tag_scalar(struct import *import, int64_t span_id, uint32_t key, const struct trace_value *value)
{
  int64_t whole;
  double real;
  if (value->type == TRACE_STRING || value->type >= TRACE_OBJECT)
    return false;
  if (value->type == TRACE_TRUE || value->type == TRACE_FALSE)
    import_tag_int(import, span_id, key, value->type == TRACE_TRUE);
  else if (value->type == TRACE_NUMBER && trace_int64(value, &whole))
    import_tag_int(import, span_id, key, whole);
  else if (value->type == TRACE_NUMBER && is_fraction(value->raw) && trace_double(value, &real))
    import_tag_double(import, span_id, key, real);
  else if (value->type == TRACE_NUMBER)
    import_tag_text(import, span_id, key, import_slice(import, value->raw));
  return true;
}
