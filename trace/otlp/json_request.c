// SPDX-License-Identifier: Apache-2.0
// Walks the structure around spans in a request that is whole in memory: a resource before its spans, wherever it is in its
// object. Called by the server and by the importer of its journals. Hostile input: recursion is as deep as the table of
// fields is.
#include "otlp/json_request.h"

struct walk {
  struct otlp_json *json;
  const struct otlp_visitor *visitor;
  enum status status; // of the visitor
  struct error *err;
};

// Reads a resource or a scope and hands it over. NULL: broken, or refused by the visitor; so are all that follow.
static const char *visit_head(struct walk *walk, const char *at, const struct otlp_field *head)
{
  struct otlp_json *json = walk->json;
  struct slice name = {"", 0};
  otlp_json_clear(json);
  at = otlp_json_message(json, at, head->step.inner, &name);
  if (at == NULL)
    return NULL;
  walk->status = head->step.inner == OTLP_RESOURCE_MESSAGE
                     ? walk->visitor->resource(walk->visitor->context, json->parts.attributes.items,
                                               json->parts.attributes.count, walk->err)
                     : walk->visitor->scope(walk->visitor->context, name, walk->err);
  return walk->status == STATUS_OK ? at : NULL;
}

static const char *visit_span(struct walk *walk, const char *at)
{
  at = otlp_json_span(walk->json, at);
  if (at != NULL)
    walk->status = walk->visitor->span(walk->visitor->context, &walk->json->parts.span, walk->err);
  return walk->status == STATUS_OK ? at : NULL;
}

static const char *visit_group(struct walk *walk, const char *at, enum otlp_message message);

static const char *visit_items(struct walk *walk, const char *at, const struct otlp_field *field)
{
  bool is_null;
  bool has_item;
  at = otlp_json_open(walk->json, at, '[', &is_null);
  for (bool is_first = true; at != NULL && !is_null; is_first = false) {
    at = otlp_json_item(walk->json, at, is_first, &has_item);
    if (at == NULL || !has_item)
      return at;
    at = field->step.inner == OTLP_SPAN_MESSAGE ? visit_span(walk, at) : visit_group(walk, at, field->step.inner);
  }
  return at;
}

// Visits the members of one form of a group's object: HEAD or LIST. Returns the position after the object.
static const char *visit_members(struct walk *walk, const char *at, enum otlp_message message, enum otlp_form form,
                                 bool *ret_has_any)
{
  bool is_null;
  unsigned hint = 1;
  struct slice key;
  at = otlp_json_open(walk->json, at, '{', &is_null);
  for (bool is_first = true; at != NULL && !is_null; is_first = false) {
    otlp_json_clear(walk->json); // a key with escapes is decoded into its memory
    at = otlp_json_member(walk->json, at, is_first, &key);
    if (at == NULL || key.data == NULL)
      return at;
    const struct otlp_field *field = otlp_field_named(message, key, &hint);
    if (field == NULL || field->step.form != form) {
      at = otlp_json_skip(walk->json, at);
      continue;
    }
    *ret_has_any = true;
    at = form == OTLP_FORM_HEAD ? visit_head(walk, at, field) : visit_items(walk, at, field);
  }
  return at;
}

static const char *visit_group(struct walk *walk, const char *at, enum otlp_message message)
{
  static const char none[OTLP_JSON_PADDING + 2] = "{}";
  bool has_head = message == OTLP_REQUEST_MESSAGE;
  bool has_items = false;
  if (!has_head) {
    if (visit_members(walk, at, message, OTLP_FORM_HEAD, &has_head) == NULL)
      return NULL;
    if (!has_head && visit_head(walk, none, &otlp_fields[message * OTLP_NUMBERS + 1]) == NULL)
      return NULL;
  }
  return visit_members(walk, at, message, OTLP_FORM_LIST, &has_items);
}

enum status otlp_json_decode(struct otlp_json *json, const char *at, size_t length, const struct otlp_visitor *visitor,
                             struct error *err)
{
  struct walk walk = {json, visitor, STATUS_OK, err};
  const char *end = at + length;
  json->scan = (struct json_scan){.end = end, .is_last = true};
  at = json_scan_space(at);
  if (*at != '{')
    (void)json_scan_fail(&json->scan, at, "an object was expected");
  else if ((at = visit_group(&walk, at, OTLP_REQUEST_MESSAGE)) != NULL && (at = json_scan_space(at)) != end)
    (void)json_scan_fail(&json->scan, at, "the end was expected");
  if (walk.status != STATUS_OK)
    json->scan.problem = NULL;
  return walk.status != STATUS_OK ? walk.status : json->scan.problem != NULL ? STATUS_INPUT : STATUS_OK;
}
