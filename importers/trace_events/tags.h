// SPDX-License-Identifier: Apache-2.0
// Arguments of trace events as tags. Inside this room only.
#ifndef XSP_IMPORTERS_TRACE_EVENTS_TAGS_H
#define XSP_IMPORTERS_TRACE_EVENTS_TAGS_H

#include "importers/importer.h"
#include "importers/trace_events/trace_events.h"

// One value: whole numbers as integers, other numbers as doubles, true and false as 1 and 0, objects and arrays as their
// JSON text, numbers that neither type holds as text; null gives no tag.
void event_tag(struct import *import, int64_t run_id, int64_t span_id, uint32_t key, const struct trace_value *value);
// All arguments, each under its own key.
void event_tags(struct import *import, int64_t run_id, int64_t span_id, const struct trace_event *event);

#endif
