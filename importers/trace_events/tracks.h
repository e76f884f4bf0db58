// SPDX-License-Identifier: Apache-2.0
// Tracks and tags of trace events. Tracks are found by (pid, tid), which may be numbers or strings. Inside this room only.
#ifndef XSP_IMPORTERS_TRACE_EVENTS_TRACKS_H
#define XSP_IMPORTERS_TRACE_EVENTS_TRACKS_H

#include "base/map.h"
#include "importers/importer.h"
#include "importers/trace_events/trace_events.h"

struct event_tracks { // starts as {.import = …}
  struct import *import;
  struct map tracks; // (pid, tid) as ids of texts → track
  uint32_t last_pid, last_tid, last_track;
};
// The track of an event; a new one gets the numbers, and a name where pid or tid are not numbers.
enum status event_track(struct event_tracks *tracks, const struct trace_event *event, uint32_t *ret_track_id,
                        struct error *err) MUST_CHECK;
// Tags a span with a value that is neither a text nor a container: whole numbers as integers, other numbers as doubles,
// true and false as 1 and 0, numbers that neither type holds as text; null gives no tag. False: it is another value.
bool event_tag_scalar(struct import *import, int64_t span_id, uint32_t key, const struct trace_value *value);
void event_tracks_done(struct event_tracks *tracks);

#endif
