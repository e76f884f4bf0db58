// SPDX-License-Identifier: Apache-2.0
// Requests of this program have one resource, one scope and then spans, so a half is the head and some of the spans. Called by
// publish.c after status 413.
#include "publish/split.h"

#include "base/wire.h"
#include "base/wire_write.h"
#include "otlp/fields.h"

// ---- protobuf --------------------------------------------------------------------------------------------------------
// The fields of a message in front of its first field `number`, as they are; and what begins there.
static bool cut_at(struct wire message, unsigned number, struct slice *ret_head, struct slice *ret_rest)
{
  struct wire walk = message;
  struct wire_field field;
  if (!wire_find(&walk, number, WIRE_BYTES, &field))
    return false;
  *ret_head = (struct slice){message.at, (size_t)(field.start - message.at)};
  *ret_rest = (struct slice){field.start, (size_t)(message.end - field.start)};
  return true;
}

static void put_half(struct slice resource, struct slice scope, struct slice spans, struct buf *out)
{
  size_t resource_spans = protobuf_begin(out, otlp_number(OTLP_REQUEST_RESOURCE_SPANS));
  buf_put(out, resource.data, resource.length);
  size_t scope_spans = protobuf_begin(out, otlp_number(OTLP_RESOURCE_SPANS_SCOPE_SPANS));
  buf_put(out, scope.data, scope.length);
  buf_put(out, spans.data, spans.length);
  protobuf_end(out, scope_spans);
  protobuf_end(out, resource_spans);
}

static bool split_protobuf(struct slice request, struct buf *first, struct buf *second)
{
  const unsigned spans_number = otlp_number(OTLP_SCOPE_SPANS_SPANS);
  struct wire wire = wire_over(request.data, request.length);
  struct wire_field field;
  struct slice resource, scope, spans;
  if (!wire_find(&wire, otlp_number(OTLP_REQUEST_RESOURCE_SPANS), WIRE_BYTES, &field) ||
      !cut_at(wire_inside(&field), otlp_number(OTLP_RESOURCE_SPANS_SCOPE_SPANS), &resource, &spans))
    return false;
  wire = wire_over(spans.data, spans.length);
  if (!wire_next(&wire, &field) || !cut_at(wire_inside(&field), spans_number, &scope, &spans))
    return false;
  wire = wire_over(spans.data, spans.length);
  size_t count = wire_count(wire, spans_number);
  for (size_t i = 0; i < count / 2; i++)
    if (!wire_find(&wire, spans_number, WIRE_BYTES, &field))
      return false;
  size_t first_length = (size_t)(wire.at - spans.data);
  if (count < 2)
    return false;
  put_half(resource, scope, (struct slice){spans.data, first_length}, first);
  put_half(resource, scope, slice_after(spans, first_length), second);
  return true;
}

// ---- JSON ------------------------------------------------------------------------------------------------------------
// The place behind the value that begins at `at`: its ',' or the ']' of its list. `end`: there is none.
static const char *value_end(const char *at, const char *end)
{
  size_t depth = 0;
  for (; at < end; at++) {
    if (*at == '"') {
      for (at++; at < end && *at != '"'; at++)
        at += *at == '\\' && at + 1 < end;
    } else if (depth == 0 && (*at == ',' || *at == ']')) {
      return at;
    } else {
      depth += *at == '{' || *at == '[';
      depth -= *at == '}' || *at == ']';
    }
  }
  return end;
}

// In front of the comma between the halves; NULL: fewer than two spans.
static const char *middle_of(const char *spans, const char *end)
{
  size_t count = 0;
  for (const char *at = spans; at < end && *at != ']'; at += at < end && *at == ',') {
    at = value_end(at, end);
    count++;
  }
  const char *middle = spans;
  for (size_t i = 0; i < count / 2; i++)
    middle = value_end(middle + (i > 0), end);
  return count >= 2 && middle < end ? middle : NULL;
}

static bool split_json(struct slice request, struct buf *first, struct buf *second)
{
  static const char list[] = "\"spans\":["; // in a text the quotes would be escaped
  const char *end = request.data + request.length;
  const char *spans = memmem(request.data, request.length, list, strlen(list));
  const char *middle = spans == NULL ? NULL : middle_of(spans += strlen(list), end);
  if (middle == NULL)
    return false;
  const char *tail = middle;
  while (tail < end && *tail != ']')
    tail = value_end(tail + 1, end);
  buf_put(first, request.data, (size_t)(middle - request.data));
  buf_put(first, tail, (size_t)(end - tail));
  buf_put(second, request.data, (size_t)(spans - request.data));
  buf_put(second, middle + 1, (size_t)(end - middle - 1));
  return true;
}

bool publish_request_split(struct slice request, bool is_json, struct buf *first, struct buf *second)
{
  return is_json ? split_json(request, first, second) : split_protobuf(request, first, second);
}
