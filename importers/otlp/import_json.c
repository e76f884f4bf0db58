// SPDX-License-Identifier: Apache-2.0
// OTLP's JSON files: requests one behind the other, one a line or spread over lines, of any size: what lies in memory is
// one span. A resource (or a scope) that stands behind its spans is looked for ahead, as far as the window goes.
#include "importers/otlp/model.h"
#include "otlp/json.h"

#include <string.h>

struct reader {
  struct import *import;
  struct input *input;
  struct otlp_json json;
  struct otlp_model model;
  bool has_resource_spans; // of any request
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
    return import_broken(reader->import, err, input_offset(input, input->at), "a zero byte is no JSON");
  return STATUS_OK;
}

// ---- walking in steps that can be taken again ------------------------------------------------------------------------
static enum status enter(struct reader *reader, char bracket, bool *ret_is_null, struct error *err)
{
  const char *at;
  while ((at = otlp_json_open(&reader->json, reader->input->at, bracket, ret_is_null)) == NULL)
    XSP_TRY(more_or_broken(reader, err));
  reader->input->at = at;
  return STATUS_OK;
}

// The key's bytes live until the next step; key.at is NULL at the object's end.
static enum status next_member(struct reader *reader, bool is_first, struct otlp_text *ret_key, struct error *err)
{
  const char *at;
  otlp_json_forget(&reader->json);
  while ((at = otlp_json_member(&reader->json, reader->input->at, is_first, ret_key)) == NULL)
    XSP_TRY(more_or_broken(reader, err));
  reader->input->at = at;
  return STATUS_OK;
}

static enum status next_item(struct reader *reader, bool is_first, bool *ret_has_item, struct error *err)
{
  const char *at;
  while ((at = otlp_json_item(&reader->json, reader->input->at, is_first, ret_has_item)) == NULL)
    XSP_TRY(more_or_broken(reader, err));
  reader->input->at = at;
  return STATUS_OK;
}

static enum status skip(struct reader *reader, struct error *err)
{
  const char *at;
  while ((at = otlp_json_skip(&reader->json, reader->input->at)) == NULL)
    XSP_TRY(more_or_broken(reader, err));
  reader->input->at = at;
  return STATUS_OK;
}

// ---- heads: resources and scopes -------------------------------------------------------------------------------------
typedef const char *head_reader(struct reader *reader, const char *at, enum status *ret_status, struct error *err);

// Read and taken in one step, before the window moves. NULL: not read.
static const char *take_resource(struct reader *reader, const char *at, enum status *ret_status, struct error *err)
{
  at = otlp_json_resource(&reader->json, at);
  if (at != NULL)
    *ret_status = reader->model.visitor.resource(&reader->model, reader->json.parts.attributes,
                                                 reader->json.parts.attribute_count, err);
  return at;
}

static const char *take_scope(struct reader *reader, const char *at, enum status *ret_status, struct error *err)
{
  struct otlp_text name;
  at = otlp_json_scope(&reader->json, at, &name);
  if (at != NULL)
    *ret_status = reader->model.visitor.scope(&reader->model, name, err);
  return at;
}

static enum status read_head(struct reader *reader, head_reader *take, struct error *err)
{
  const char *at;
  enum status status = STATUS_OK;
  while ((at = take(reader, reader->input->at, &status, err)) == NULL)
    XSP_TRY(more_or_broken(reader, err));
  reader->input->at = at;
  return status;
}

// The position of the value of `key` among the members from the value at `at` on; *ret_head stays NULL where it is not
// there. NULL: more of the window is needed, or it is broken.
static const char *find_member(struct otlp_json *json, const char *at, const char *key, const char **ret_head)
{
  struct otlp_text found;
  *ret_head = NULL;
  for (;;) {
    if ((at = otlp_json_skip(json, at)) == NULL || (at = otlp_json_member(json, at, false, &found)) == NULL)
      return NULL;
    if (found.at == NULL)
      return at;
    if (otlp_text_is(found, key, strlen(key))) {
      *ret_head = at;
      return at;
    }
  }
}

enum head { HEAD_UNKNOWN, HEAD_TAKEN, HEAD_MISSED };

// The window's position is at the spans, whose head has not come yet: reads it from behind them, or does without.
static enum status look_ahead(struct reader *reader, const char *key, head_reader *take, enum head *ret_head,
                              struct error *err)
{
  static const char none[64] = "{}"; // readable behind its end like a window
  enum status status = STATUS_OK;
  const char *at;
  *ret_head = HEAD_TAKEN;
  for (;;) {
    bool has_ended = find_member(&reader->json, reader->input->at, key, &at) != NULL;
    if (has_ended && take(reader, at != NULL ? at : none, &status, err) != NULL)
      return status;
    if (reader->json.scan.problem == NULL && reader->input->end - reader->input->at > OTLP_LOOK_AHEAD_BYTES) {
      *ret_head = HEAD_MISSED;
      (void)take(reader, none, &status, err);
      return status;
    }
    XSP_TRY(more_or_broken(reader, err));
  }
}

static enum status come_late(struct reader *reader, const char *what, struct error *err)
{
  return import_broken(reader->import, err, input_offset(reader->input, reader->input->at),
                       "the %s comes after more than %d MiB of its spans", what, OTLP_LOOK_AHEAD_BYTES >> 20);
}

// ---- spans and what they lie in --------------------------------------------------------------------------------------
static enum status read_span(struct reader *reader, struct error *err)
{
  const char *at;
  while ((at = otlp_json_span(&reader->json, reader->input->at)) == NULL)
    XSP_TRY(more_or_broken(reader, err));
  XSP_TRY(reader->model.visitor.span(&reader->model, &reader->json.parts.span, err)); // `at`: what errors point at
  reader->input->at = at;
  return STATUS_OK;
}

typedef enum status item_reader(struct reader *reader, struct error *err);

static enum status read_items(struct reader *reader, item_reader *read_item, struct error *err)
{
  bool is_null;
  bool has_item = true;
  XSP_TRY(enter(reader, '[', &is_null, err));
  for (bool is_first = true; !is_null && has_item; is_first = false) {
    XSP_TRY(next_item(reader, is_first, &has_item, err));
    if (has_item)
      XSP_TRY(read_item(reader, err));
  }
  return STATUS_OK;
}

static enum status read_scope_spans(struct reader *reader, struct error *err)
{
  bool is_null;
  enum head head = HEAD_UNKNOWN;
  struct otlp_text key;
  XSP_TRY(enter(reader, '{', &is_null, err));
  for (bool is_first = true; !is_null; is_first = false) {
    XSP_TRY(next_member(reader, is_first, &key, err));
    if (key.at == NULL)
      break;
    bool is_old_head = OTLP_TEXT_IS(key, "instrumentationLibrary") || OTLP_TEXT_IS(key, "instrumentation_library");
    if (OTLP_TEXT_IS(key, "scope") || is_old_head) {
      if (head == HEAD_MISSED)
        return come_late(reader, "scope", err);
      XSP_TRY(read_head(reader, take_scope, err));
      head = HEAD_TAKEN;
    } else if (OTLP_TEXT_IS(key, "spans")) {
      if (head == HEAD_UNKNOWN)
        XSP_TRY(look_ahead(reader, "scope", take_scope, &head, err));
      XSP_TRY(read_items(reader, read_span, err));
    } else {
      XSP_TRY(skip(reader, err));
    }
  }
  return STATUS_OK;
}

static enum status read_resource_spans(struct reader *reader, struct error *err)
{
  bool is_null;
  enum head head = HEAD_UNKNOWN;
  struct otlp_text key;
  XSP_TRY(enter(reader, '{', &is_null, err));
  for (bool is_first = true; !is_null; is_first = false) {
    XSP_TRY(next_member(reader, is_first, &key, err));
    if (key.at == NULL)
      break;
    bool is_old =
        OTLP_TEXT_IS(key, "instrumentationLibrarySpans") || OTLP_TEXT_IS(key, "instrumentation_library_spans");
    if (OTLP_TEXT_IS(key, "resource")) {
      if (head == HEAD_MISSED)
        return come_late(reader, "resource", err);
      XSP_TRY(read_head(reader, take_resource, err));
      head = HEAD_TAKEN;
    } else if (OTLP_TEXT_IS(key, "scopeSpans") || OTLP_TEXT_IS(key, "scope_spans") || is_old) {
      if (head == HEAD_UNKNOWN)
        XSP_TRY(look_ahead(reader, "resource", take_resource, &head, err));
      XSP_TRY(read_items(reader, read_scope_spans, err));
    } else {
      XSP_TRY(skip(reader, err));
    }
  }
  return STATUS_OK;
}

static enum status read_request(struct reader *reader, struct error *err)
{
  bool is_null;
  struct otlp_text key;
  XSP_TRY(enter(reader, '{', &is_null, err));
  for (bool is_first = true; !is_null; is_first = false) {
    XSP_TRY(next_member(reader, is_first, &key, err));
    if (key.at == NULL)
      return STATUS_OK;
    if (OTLP_TEXT_IS(key, "resourceSpans") || OTLP_TEXT_IS(key, "resource_spans")) {
      reader->has_resource_spans = true;
      XSP_TRY(read_items(reader, read_resource_spans, err));
    } else {
      XSP_TRY(skip(reader, err));
    }
  }
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
    XSP_TRY(read_request(reader, err));
  }
  if (!reader->has_resource_spans)
    return error_set(err, STATUS_INPUT, "cannot import", input->path, NULL,
                     "it is JSON without resourceSpans: no traces of OTLP");
  return otlp_model_finish(&reader->model, err);
}

// ---- recognising -----------------------------------------------------------------------------------------------------
// An object that has "resourceSpans" among its own keys, near its beginning.
static int recognize(const char *head, size_t length, bool is_all)
{
  struct otlp_json json = {.scan = {.end = head + length, .is_last = is_all}};
  struct otlp_text key;
  int claim = 0;
  if (length >= 3 && memcmp(head, "\xef\xbb\xbf", 3) == 0)
    head += 3;
  const char *at = json_scan_space(head);
  if (*at != '{')
    return 0;
  at++;
  for (bool is_first = true; (at = otlp_json_member(&json, at, is_first, &key)) != NULL && key.at != NULL;
       is_first = false) {
    if (OTLP_TEXT_IS(key, "traceEvents"))
      break;
    if (OTLP_TEXT_IS(key, "resourceSpans") || OTLP_TEXT_IS(key, "resource_spans")) {
      claim = 3;
      break;
    }
    if ((at = otlp_json_skip(&json, at)) == NULL)
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
  size_t length = (size_t)(input->end - input->at);
  if (recognize(input->at, length, input->is_last) == 0 && // --format otlp: the name of both
      importer_otlp_proto.recognize(input->at, length, input->is_last) > 0)
    return importer_otlp_proto.read(import, err);
  enum status status = otlp_model_start(&reader.model, import, err);
  if (status == STATUS_OK)
    status = read_requests(&reader, err);
  otlp_model_done(&reader.model);
  otlp_json_done(&reader.json);
  return status;
}

const struct importer importer_otlp = {
    .name = "otlp",
    .summary = "OpenTelemetry traces (OTLP) as JSON, one request a line",
    .recognize = recognize,
    .read = read_file,
};
