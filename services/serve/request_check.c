// SPDX-License-Identifier: Apache-2.0
// Decodes a request and judges its spans. What is wrong with one span rejects that span; what cannot be decoded refuses the
// request. Called by request.c before a request is stored: an acknowledged one must import. tests/serve compares these rules
// with the importer's.
#include "serve/request_check.h"

#include "base/buf.h"
#include "base/hash.h"
#include "format/level.h"
#include "otlp/attributes.h"
#include "otlp/json_request.h"
#include "otlp/proto.h"

#define NESTED_BYTES_MOST ((size_t)16 << 20) // of one value as JSON text

const char *const serve_request_reasons[REQUEST_REASONS] = {
    [REQUEST_NO_ID] = "no span id",
    [REQUEST_BAD_ID] = "bad span id",
    [REQUEST_BAD_PARENT] = "bad parent id",
    [REQUEST_BAD_TRACE] = "bad trace id",
    [REQUEST_BAD_LEVEL] = "unknown level",
    [REQUEST_BAD_KIND] = "unknown kind",
    [REQUEST_BAD_DURATION] = "negative duration",
    [REQUEST_LONG_DURATION] = "duration beyond int64",
};

struct check {
  struct request_verdict *verdict;
  uint64_t seed;
  struct buf text; // scratch
};

// ---- values ----------------------------------------------------------------------------------------------------------
// The importer writes arrays and maps as text: how deep they are is found out only so.
static enum status check_values(struct check *check, const struct otlp_attribute *attributes, size_t count)
{
  for (size_t i = 0; i < count && check->verdict->problem == NULL; i++) {
    const struct otlp_value *value = &attributes[i].value;
    if (value->type != OTLP_ARRAY && value->type != OTLP_MAP)
      continue;
    buf_clear(&check->text);
    check->verdict->problem = otlp_value_text(value, NULL, &check->text);
    if (check->text.failed)
      check->verdict->problem = "an array or a map is longer than 16 MiB";
  }
  return check->verdict->problem == NULL ? STATUS_OK : STATUS_INPUT;
}

// ---- spans -----------------------------------------------------------------------------------------------------------
static bool is_known(const struct otlp_value *value, bool (*from_name)(const char *, size_t, unsigned *))
{
  unsigned ignored;
  return value->type == OTLP_TEXT && from_name(value->text.data, value->text.length, &ignored);
}

// Of the roles that are judged here; any other is a tag. Called for each attribute: by length first, unlike otlp_span_role.
static enum otlp_role judged_role(struct slice key)
{
#define IS(text) (memcmp(key.data, text, sizeof text - 1) == 0)
  switch (key.length) {
  case sizeof "xsp.kind" - 1:
    return IS("xsp.kind") ? OTLP_IS_KIND : IS("xsp.open") ? OTLP_IS_OPEN : OTLP_IS_TAG;
  case sizeof "xsp.level" - 1:
    return IS("xsp.level") ? OTLP_IS_LEVEL : IS("xsp.trace") ? OTLP_IS_TRACE : OTLP_IS_TAG;
  case sizeof "xsp.end_ns" - 1:
    return IS("xsp.end_ns") ? OTLP_IS_END : OTLP_IS_TAG;
  case sizeof "xsp.start_ns" - 1:
    return IS("xsp.start_ns") ? OTLP_IS_START : OTLP_IS_TAG;
  default:
    return OTLP_IS_TAG;
  }
#undef IS
}

struct facts { // of one span, out of its attributes
  enum request_reason reason;
  struct slice trace;       // data NULL: none
  int64_t start_ns, end_ns; // NO_TIME_GIVEN
  bool is_open;
};
#define NO_TIME_GIVEN INT64_MIN // also what the importer makes of it

static void take_attribute(const struct otlp_attribute *attribute, struct facts *facts)
{
  const struct otlp_value *value = &attribute->value;
  int64_t number;
  switch (judged_role(attribute->key)) {
  case OTLP_IS_LEVEL:
    if (!is_known(value, level_from_name))
      facts->reason = REQUEST_BAD_LEVEL;
    break;
  case OTLP_IS_KIND:
    if (facts->reason == REQUEST_REASONS && !is_known(value, kind_from_name))
      facts->reason = REQUEST_BAD_KIND;
    break;
  case OTLP_IS_TRACE:
    if (value->type == OTLP_TEXT)
      facts->trace = value->text;
    break;
  case OTLP_IS_START:
    (void)otlp_value_int(value, &facts->start_ns);
    break;
  case OTLP_IS_END:
    (void)otlp_value_int(value, &facts->end_ns);
    break;
  case OTLP_IS_OPEN:
    if (otlp_value_int(value, &number))
      facts->is_open = value->type == OTLP_BOOL ? number != 0 : number >= 1;
    break;
  default:
    break;
  }
}

static enum request_reason judge_times(const struct otlp_span *span, const struct facts *facts)
{
  bool has_end = facts->end_ns != NO_TIME_GIVEN;
  int64_t start_ns = facts->start_ns != NO_TIME_GIVEN ? facts->start_ns : span->start_ns, duration_ns;
  int64_t end_ns = has_end ? facts->end_ns : span->end_ns != OTLP_NO_TIME ? span->end_ns : 0;
  if (facts->is_open || (span->start_ns > 0 && span->end_ns == OTLP_NO_TIME && !has_end)) // it has not finished
    return REQUEST_REASONS;
  if (end_ns < start_ns)
    return REQUEST_BAD_DURATION;
  return __builtin_sub_overflow(end_ns, start_ns, &duration_ns) ? REQUEST_LONG_DURATION : REQUEST_REASONS;
}

// REQUEST_REASONS: nothing is wrong with the span. In the importer's order: a span is counted under one reason.
static enum request_reason judge(const struct otlp_span *span)
{
  struct facts facts = {.reason = REQUEST_REASONS, .start_ns = NO_TIME_GIVEN, .end_ns = NO_TIME_GIVEN};
  for (size_t i = 0; i < span->attribute_count; i++)
    take_attribute(&span->attributes[i], &facts);
  if (facts.reason != REQUEST_REASONS)
    return facts.reason;
  if (span->span_id.state != OTLP_ID_GIVEN)
    return span->span_id.state == OTLP_ID_NONE ? REQUEST_NO_ID : REQUEST_BAD_ID;
  if (span->parent_id.state == OTLP_ID_BAD)
    return REQUEST_BAD_PARENT;
  enum request_reason reason = judge_times(span, &facts);
  if (reason != REQUEST_REASONS)
    return reason;
  return facts.trace.length > 0 || otlp_has_trace_id(span) ? REQUEST_REASONS : REQUEST_BAD_TRACE;
}

// Of an event or a link. Without any, span->inner may be NULL.
static enum status check_inner(struct check *check, const struct otlp_span *span, struct otlp_range range)
{
  return range.count > 0 ? check_values(check, span->inner + range.first, range.count) : STATUS_OK;
}

static enum status check_span(void *context, const struct otlp_span *span, struct error *err)
{
  struct check *check = context;
  check->verdict->spans++;
  if (span->end_ns > check->verdict->last_end_ns)
    check->verdict->last_end_ns = span->end_ns;
  enum request_reason reason = judge(span);
  if (reason != REQUEST_REASONS)
    check->verdict->rejected[reason]++;
  XSP_TRY(check_values(check, span->attributes, span->attribute_count));
  for (size_t i = 0; i < span->event_count; i++)
    XSP_TRY(check_inner(check, span, span->events[i].attributes));
  for (size_t i = 0; i < span->link_count; i++)
    XSP_TRY(check_inner(check, span, span->links[i].attributes));
  return STATUS_OK;
}

static uint64_t hash_resource(const struct otlp_attribute *attributes, size_t count, uint64_t seed)
{
  uint64_t hash = count;
  for (size_t i = 0; i < count; i++) {
    const struct otlp_value *value = &attributes[i].value;
    bool has_text = value->type == OTLP_TEXT || value->type >= OTLP_BYTES;
    hash = hash_pair(hash, hash_text(attributes[i].key.data, attributes[i].key.length, seed), seed);
    hash = hash_pair(hash, has_text ? hash_text(value->text.data, value->text.length, seed) : (uint64_t)value->integer,
                     seed);
  }
  return hash;
}

static enum status check_resource(void *context, const struct otlp_attribute *attributes, size_t count,
                                  struct error *err)
{
  struct check *check = context;
  if (check->verdict->resource_count == REQUEST_RESOURCES_MOST) {
    check->verdict->problem = "it has more than 900 resources: send several requests";
    return STATUS_INPUT;
  }
  check->verdict->resources[check->verdict->resource_count++] = hash_resource(attributes, count, check->seed);
  return check_values(check, attributes, count);
}

static enum status check_scope(void *context, struct slice name, struct error *err)
{
  return STATUS_OK;
}

// ---- the request -----------------------------------------------------------------------------------------------------
void serve_request_check(enum otlp_encoding encoding, struct slice body, uint64_t seed,
                         struct request_verdict *ret_verdict)
{
  *ret_verdict = (struct request_verdict){0};
  struct check check = {.verdict = ret_verdict, .seed = seed};
  const struct otlp_visitor visitor = {&check, check_resource, check_scope, check_span};
  const char *problem = NULL;
  enum status status;
  buf_init(&check.text, NESTED_BYTES_MOST);
  if (encoding == OTLP_PROTOBUF) {
    struct otlp_proto proto SCOPED(otlp_proto_done) = {0};
    status = otlp_proto_decode(&proto, OTLP_REQUEST_MESSAGE, body.data, body.length, &visitor, NULL);
    problem = proto.problem;
  } else {
    struct otlp_json json SCOPED(otlp_json_done) = {0};
    status = otlp_json_decode(&json, body.data, body.length, &visitor, NULL);
    problem = json.scan.problem;
  }
  if (status != STATUS_OK && ret_verdict->problem == NULL)
    ret_verdict->problem = problem;
  buf_done(&check.text);
}

uint64_t serve_request_rejected(const struct request_verdict *verdict)
{
  uint64_t sum = 0;
  for (size_t i = 0; i < REQUEST_REASONS; i++)
    sum += verdict->rejected[i];
  return sum;
}
