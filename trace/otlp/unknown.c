// SPDX-License-Identifier: Apache-2.0
// See unknown.h. Called by the decoder of JSON; must be cheap where all members are known.
#include "otlp/unknown.h"

#include <inttypes.h>
#include <string.h>

static const char *const message_names[OTLP_MESSAGE_COUNT] = {
    [OTLP_REQUEST_MESSAGE] = "TracesData",
    [OTLP_RESOURCE_SPANS_MESSAGE] = "ResourceSpans",
    [OTLP_SCOPE_SPANS_MESSAGE] = "ScopeSpans",
    [OTLP_RESOURCE_MESSAGE] = "Resource",
    [OTLP_SCOPE_MESSAGE] = "InstrumentationScope",
    [OTLP_SPAN_MESSAGE] = "Span",
    [OTLP_EVENT_MESSAGE] = "Event",
    [OTLP_LINK_MESSAGE] = "Link",
    [OTLP_STATUS_MESSAGE] = "Status",
    [OTLP_PAIR_MESSAGE] = "KeyValue",
    [OTLP_VALUE_MESSAGE] = "AnyValue",
    [OTLP_VALUES_MESSAGE] = "ArrayValue",
};

// opentelemetry-proto up to 1.7, in any message: xsp has no use for them.
static bool is_otlp(enum otlp_message message, struct slice name)
{
  static const char *const names[] = {"flags",
                                      "droppedAttributesCount",
                                      "dropped_attributes_count",
                                      "droppedEventsCount",
                                      "dropped_events_count",
                                      "droppedLinksCount",
                                      "dropped_links_count",
                                      "entityRefs",
                                      "entity_refs",
                                      "traceState",
                                      "trace_state",
                                      "deprecatedCode",
                                      "deprecated_code"};
  if (message == OTLP_VALUE_MESSAGE || message == OTLP_PAIR_MESSAGE)
    return false;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (slice_is(name, names[i]))
      return true;
  return message == OTLP_SCOPE_MESSAGE && slice_is(name, "attributes");
}

void otlp_unknown_add(struct otlp_unknown *unknown, enum otlp_message message, struct slice name)
{
  if (unknown == NULL || is_otlp(message, name))
    return;
  size_t length = name.length < OTLP_UNKNOWN_BYTES - 1 ? name.length : OTLP_UNKNOWN_BYTES - 1;
  unknown->has_pending = true;
  size_t i = 0;
  for (; i < unknown->name_count; i++)
    if (unknown->names[i].message == message && slice_is((struct slice){name.data, length}, unknown->names[i].name))
      break;
  if (i == OTLP_UNKNOWN_NAMES) {
    unknown->other_pending++;
    return;
  }
  struct otlp_unknown_name *entry = &unknown->names[i];
  if (i == unknown->name_count) {
    unknown->name_count++;
    entry->message = message;
    memcpy(entry->name, name.data, length);
  }
  entry->pending++;
}

void otlp_unknown_keep(struct otlp_unknown *unknown)
{
  if (!unknown->has_pending)
    return;
  for (size_t i = 0; i < unknown->name_count; i++)
    unknown->names[i].count += unknown->names[i].pending;
  unknown->other_count += unknown->other_pending;
  otlp_unknown_forget(unknown);
}

void otlp_unknown_forget(struct otlp_unknown *unknown)
{
  if (unknown == NULL || !unknown->has_pending)
    return;
  for (size_t i = 0; i < unknown->name_count; i++)
    unknown->names[i].pending = 0;
  unknown->other_pending = 0;
  unknown->has_pending = false;
}

void otlp_unknown_text(const struct otlp_unknown *unknown, struct buf *out)
{
  const char *separator = "";
  for (size_t i = 0; i < unknown->name_count; i++) {
    const struct otlp_unknown_name *entry = &unknown->names[i];
    if (entry->count == 0)
      continue;
    buf_format(out, "%s%" PRIu64 " %s of %s", separator, entry->count, entry->name, message_names[entry->message]);
    separator = ", ";
  }
  if (unknown->other_count > 0)
    buf_format(out, "%s%" PRIu64 " others", separator, unknown->other_count);
}
