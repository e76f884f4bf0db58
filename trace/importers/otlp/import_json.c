// SPDX-License-Identifier: Apache-2.0
// OTLP's JSON files: any number of requests, on one line each or spread over lines, of any size. One span is in memory at
// a time. A resource or a scope after its spans is searched ahead, up to OTLP_LOOK_AHEAD_BYTES.
#include "importers/otlp/model.h"
#include "otlp/json.h"

#include <string.h>

struct reader {
  struct import *import;
  struct input *input;
  struct otlp_json json;
  struct otlp_model model;
  struct otlp_unknown unknown;
  bool has_resource_spans; // of any request
  bool is_wrapped;         // in the object of a request's "trace"
};

// ---- the window ------------------------------------------------------------------------------------------------------
static void look_at_window(struct reader *reader)
{
  reader->json.scan = (struct json_scan){.end = reader->input->end, .is_last = reader->input->is_last};
}

// After a scanner has stopped: more bytes where it only lacked those, else why not.
static enum status more_or_broken(struct reader *reader, struct error *err)
{
  const struct json_scan *scan = &reader->json.scan;
  if (scan->problem != NULL)
    return import_broken(reader->import, err, input_offset(reader->input, scan->at), "%s", scan->problem);
  if (reader->input->is_last) // no scanner stops so there
    return import_broken(reader->import, err, reader->input->end_offset, "it ends too early");
  XSP_TRY(input_more(reader->input, err));
  look_at_window(reader);
  return STATUS_OK;
}

// Space, then the next byte; 0: the file's end.
static enum status next_byte(struct reader *reader, char *ret_byte, struct error *err)
{
  struct input *input = reader->input;
  for (;;) {
    input->at = json_scan_space(input->at);
    if (input->at < input->end || input->is_last)
      break;
    XSP_TRY(input_more(input, err));
    look_at_window(reader);
  }
  *ret_byte = input->at < input->end ? *input->at : 0;
  if (input->at < input->end && *ret_byte == 0)
    return import_broken(reader->import, err, input_offset(input, input->at), "a zero byte is not JSON");
  return STATUS_OK;
}

// Takes a step of the decoder, again with a longer window where this one ends within it.
#define STEP(reader, step, err)                                                                                        \
  do {                                                                                                                 \
    const char *at_;                                                                                                   \
    while ((at_ = (step)) == NULL)                                                                                     \
      XSP_TRY(more_or_broken(reader, err));                                                                            \
    (reader)->input->at = at_;                                                                                         \
  } while (0)

// ---- fields ----------------------------------------------------------------------------------------------------------
static const struct otlp_field *find_field(enum otlp_message message, struct slice name)
{
  static const struct { // of Grafana Tempo, and of OTLP before 0.15
    const char *name;
    enum otlp_field_id field;
  } old_names[] = {{"batches", OTLP_REQUEST_RESOURCE_SPANS},
                   {"instrumentationLibrary", OTLP_SCOPE_SPANS_SCOPE},
                   {"instrumentation_library", OTLP_SCOPE_SPANS_SCOPE},
                   {"instrumentationLibrarySpans", OTLP_RESOURCE_SPANS_SCOPE_SPANS},
                   {"instrumentation_library_spans", OTLP_RESOURCE_SPANS_SCOPE_SPANS}};
  unsigned hint = 1;
  for (size_t i = 0; i < sizeof old_names / sizeof old_names[0]; i++)
    if (old_names[i].field / OTLP_NUMBERS == message && slice_is(name, old_names[i].name))
      return &otlp_fields[old_names[i].field];
  return otlp_field_named(message, name, &hint);
}

// ---- heads: resources and scopes -------------------------------------------------------------------------------------
// Reads a head and hands it over in one step, before the window moves. NULL: not read.
static const char *take_head(struct reader *reader, const char *at, const struct otlp_field *head,
                             enum status *ret_status, struct error *err)
{
  struct otlp_json *json = &reader->json;
  const struct otlp_visitor *visitor = &reader->model.visitor;
  struct slice name = {"", 0};
  otlp_json_clear(json);
  at = otlp_json_message(json, at, head->step.inner, &name);
  if (at != NULL && head->step.inner == OTLP_RESOURCE_MESSAGE)
    *ret_status = visitor->resource(&reader->model, json->parts.attributes.items, json->parts.attributes.count, err);
  else if (at != NULL)
    *ret_status = visitor->scope(&reader->model, name, err);
  if (at != NULL)
    otlp_unknown_keep(&reader->unknown);
  return at;
}

// The position of the head's value among the members from the value at `at` on; *ret_head is NULL where there is none.
// NULL: more of the window is needed, or it is broken.
static const char *find_head(struct otlp_json *json, const char *at, const struct otlp_field *head,
                             const char **ret_head)
{
  struct slice found;
  *ret_head = NULL;
  for (;;) {
    if ((at = otlp_json_skip(json, at)) == NULL || (at = otlp_json_member(json, at, false, &found)) == NULL)
      return NULL;
    if (found.data == NULL)
      return at;
    if (slice_is(found, head->name)) {
      *ret_head = at;
      return at;
    }
  }
}

// The window's position is at the spans, whose head has not come yet: reads it from after them, or does without.
static enum status look_ahead(struct reader *reader, const struct otlp_field *head, enum head_state *ret_state,
                              struct error *err)
{
  static const char none[64] = "{}"; // readable after its end like a window
  enum status status = STATUS_OK;
  const char *at;
  *ret_state = HEAD_TAKEN;
  for (;;) {
    bool has_ended = find_head(&reader->json, reader->input->at, head, &at) != NULL;
    if (has_ended && take_head(reader, at != NULL ? at : none, head, &status, err) != NULL)
      return status;
    if (reader->json.scan.problem == NULL && reader->input->end - reader->input->at > OTLP_LOOK_AHEAD_BYTES) {
      *ret_state = HEAD_MISSED;
      (void)take_head(reader, none, head, &status, err);
      return status;
    }
    XSP_TRY(more_or_broken(reader, err));
  }
}

// ---- spans and what they lie in --------------------------------------------------------------------------------------
static enum status read_span(struct reader *reader, struct error *err)
{
  const char *at;
  while ((at = otlp_json_span(&reader->json, reader->input->at)) == NULL)
    XSP_TRY(more_or_broken(reader, err));
  XSP_TRY(reader->model.visitor.span(&reader->model, &reader->json.parts.span, err)); // `at`: what errors point at
  otlp_unknown_keep(&reader->unknown);
  reader->input->at = at;
  return STATUS_OK;
}

static enum status read_group(struct reader *reader, enum otlp_message message, struct error *err);

static enum status read_items(struct reader *reader, const struct otlp_field *field, struct error *err)
{
  bool is_null;
  bool has_item;
  STEP(reader, otlp_json_open(&reader->json, reader->input->at, '[', &is_null), err);
  for (bool is_first = true; !is_null; is_first = false) {
    STEP(reader, otlp_json_item(&reader->json, reader->input->at, is_first, &has_item), err);
    if (!has_item)
      break;
    XSP_TRY(field->step.inner == OTLP_SPAN_MESSAGE ? read_span(reader, err)
                                                   : read_group(reader, field->step.inner, err));
  }
  return STATUS_OK;
}

// Grafana Tempo puts its trace into an object with the query's statistics: {"trace":{"resourceSpans":[…]},"metrics":{…}}.
static enum status read_wrapped(struct reader *reader, struct error *err)
{
  reader->is_wrapped = true;
  XSP_TRY(read_group(reader, OTLP_REQUEST_MESSAGE, err));
  reader->is_wrapped = false;
  return STATUS_OK;
}

// Around spans, other tools put members of their own; those that look like what OTLP has lose spans.
static void name_group_member(struct reader *reader, enum otlp_message message, struct slice name)
{
  if (message == OTLP_REQUEST_MESSAGE || slice_is(name, "schemaUrl") || slice_is(name, "schema_url"))
    return;
  otlp_unknown_add(&reader->unknown, message, name);
  otlp_unknown_keep(&reader->unknown);
}

static void note_unknown(struct reader *reader)
{
  struct buf *text = &reader->model.text;
  buf_clear(text);
  otlp_unknown_text(&reader->unknown, text);
  if (text->length > 0)
    import_note(reader->import, "members that OTLP does not have are left out: %.*s", (int)text->length, text->data);
}

// A request, a resource's or a scope's spans: a head (not of requests) and items.
static enum status read_group(struct reader *reader, enum otlp_message message, struct error *err)
{
  const struct otlp_field *head = &otlp_fields[message * OTLP_NUMBERS + 1];
  enum head_state state = message == OTLP_REQUEST_MESSAGE ? HEAD_TAKEN : HEAD_UNKNOWN;
  enum status status = STATUS_OK;
  bool is_null;
  struct slice key;
  STEP(reader, otlp_json_open(&reader->json, reader->input->at, '{', &is_null), err);
  for (bool is_first = true; !is_null; is_first = false) {
    otlp_json_clear(&reader->json);
    STEP(reader, otlp_json_member(&reader->json, reader->input->at, is_first, &key), err);
    if (key.data == NULL)
      return STATUS_OK;
    const struct otlp_field *field = find_field(message, key);
    if (message == OTLP_REQUEST_MESSAGE && !reader->is_wrapped && slice_is(key, "trace") && *reader->input->at == '{') {
      XSP_TRY(read_wrapped(reader, err));
    } else if (field == NULL) {
      name_group_member(reader, message, key);
      STEP(reader, otlp_json_skip(&reader->json, reader->input->at), err);
    } else if (field->step.form == OTLP_FORM_HEAD) {
      if (state == HEAD_MISSED)
        return import_otlp_head_is_late(reader->import, field->name, err);
      STEP(reader, take_head(reader, reader->input->at, field, &status, err), err);
      XSP_TRY(status);
      state = HEAD_TAKEN;
    } else {
      if (state == HEAD_UNKNOWN)
        XSP_TRY(look_ahead(reader, head, &state, err));
      reader->has_resource_spans |= message == OTLP_REQUEST_MESSAGE;
      XSP_TRY(read_items(reader, field, err));
    }
  }
  if (message != OTLP_REQUEST_MESSAGE || reader->is_wrapped)
    return STATUS_OK;
  return import_broken(reader->import, err, input_offset(reader->input, reader->input->at), "an object was expected");
}

static enum status read_requests(struct reader *reader, struct error *err)
{
  char byte;
  static const char mark[] = "\xef\xbb\xbf"; // of UTF-8: some editors put it first
  struct input *input = reader->input;
  look_at_window(reader);
  if (input->end - input->at >= 3 && memcmp(input->at, mark, 3) == 0)
    input->at += 3;
  for (;;) {
    XSP_TRY(next_byte(reader, &byte, err));
    if (byte == 0)
      break;
    XSP_TRY(read_group(reader, OTLP_REQUEST_MESSAGE, err));
  }
  if (!reader->has_resource_spans)
    return error_set(err, STATUS_INPUT, "cannot import", input->path, NULL,
                     "it is JSON without resourceSpans: not an OTLP trace");
  note_unknown(reader);
  import_otlp_model_finish(&reader->model);
  return STATUS_OK;
}

// ---- recognising -----------------------------------------------------------------------------------------------------
// An object that has "resourceSpans" among its own keys, near its beginning, or an object "trace" that has.
static int recognize(struct slice head, bool is_all)
{
  struct otlp_json json = {.scan = {.end = head.data + head.length, .is_last = is_all}};
  struct slice key;
  int claim = 0;
  head = import_json_head(head);
  if (!slice_starts_with(head, "{"))
    return 0;
  const char *at = head.data + 1;
  bool is_first = true;
  while ((at = otlp_json_member(&json, at, is_first, &key)) != NULL && key.data != NULL) {
    is_first = slice_is(key, "trace") && *at == '{';
    if (slice_is(key, "traceEvents"))
      break;
    if (find_field(OTLP_REQUEST_MESSAGE, key) != NULL) {
      claim = 3;
      break;
    }
    if ((at = is_first ? at + 1 : otlp_json_skip(&json, at)) == NULL)
      break;
  }
  otlp_json_done(&json);
  return claim;
}

// ---- reading ----------------------------------------------------------------------------------------------------------
static enum status read_file(struct import *import, struct error *err)
{
  struct input *input = import->input;
  struct reader reader = {.import = import, .input = input};
  struct slice all = {input->at, (size_t)(input->end - input->at)};
  if (recognize(all, input->is_last) == 0 && // --format otlp: the name of both
      importer_otlp_proto.recognize(all, input->is_last) > 0)
    return importer_otlp_proto.read(import, err);
  import_otlp_model_start(&reader.model, import);
  reader.json.unknown = reader.model.unknown = &reader.unknown;
  enum status status = read_requests(&reader, err);
  import_otlp_model_done(&reader.model);
  otlp_json_done(&reader.json);
  return status;
}

const struct importer importer_otlp = {
    .name = "otlp",
    .summary = "OpenTelemetry traces (OTLP) as JSON, one request a line",
    .recognize = recognize,
    .read = read_file,
};
