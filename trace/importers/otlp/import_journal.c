// SPDX-License-Identifier: Apache-2.0
// The journals of `xsp serve` (trace/otlp/journal.h): requests in either encoding, one after the other, one file of any size. Each was
// checked when it was received. A part that is refused nevertheless, by a limit on files, is left out and reported:
// nothing that a client sends may keep the others' spans from being stored.
#include "importers/otlp/join.h"
#include "otlp/journal.h"
#include "otlp/json_request.h"
#include "otlp/proto.h"

#include <sys/stat.h>

struct reader {
  struct import *import;
  struct otlp_proto proto;
  struct otlp_json json;
  struct otlp_model model;
  struct buf text;    // a request in JSON with zeros after it
  struct error first; // why the first part was left out
  uint64_t left_out;
  uint64_t records, most_records; // read; to be read: the file may be growing
  bool is_resource_left_out, is_torn;
};

// ---- the model, but what it refuses is left out ----------------------------------------------------------------------
static enum status leave_out(struct reader *reader, enum status status, const struct error *why, struct error *err)
{
  if (status == STATUS_INPUT && reader->left_out++ == 0)
    reader->first = *why;
  if (status != STATUS_OK && status != STATUS_INPUT && err != NULL)
    *err = *why;
  return status == STATUS_INPUT ? STATUS_OK : status;
}

static enum status take_resource(void *context, const struct otlp_attribute *attributes, size_t count,
                                 struct error *err)
{
  struct reader *reader = context;
  struct error why = {0};
  enum status status = import_otlp_take_resource(&reader->model, attributes, count, &why);
  reader->is_resource_left_out = status != STATUS_OK;
  return leave_out(reader, status, &why, err);
}

static enum status take_scope(void *context, struct slice name, struct error *err)
{
  struct reader *reader = context;
  return reader->model.visitor.scope(&reader->model, name, err);
}

static enum status take_span(void *context, const struct otlp_span *span, struct error *err)
{
  struct reader *reader = context;
  struct error why = {0};
  if (reader->is_resource_left_out && reader->model.is_survey)
    return STATUS_OK;
  if (reader->is_resource_left_out) {
    import_skip(reader->import, "refused resource");
    return STATUS_OK;
  }
  enum status status = import_otlp_take_span(&reader->model, span, &why);
  return leave_out(reader, status, &why, err);
}

// ---- records ---------------------------------------------------------------------------------------------------------
static enum status decode(struct reader *reader, const struct otlp_journal_head *head, struct slice body,
                          struct error *err)
{
  static const char zeros[OTLP_JSON_PADDING] = "";
  const struct otlp_visitor visitor = {reader, take_resource, take_scope, take_span};
  enum status status;
  const char *problem;
  reader->is_resource_left_out = false;
  reader->model.resource = NULL; // a span never belongs to another request's resource
  if (head->encoding == OTLP_PROTOBUF) {
    status = otlp_proto_decode(&reader->proto, OTLP_REQUEST_MESSAGE, body.data, body.length, &visitor, err);
    problem = reader->proto.problem;
  } else {
    buf_clear(&reader->text);
    buf_put(&reader->text, body.data, body.length);
    buf_put(&reader->text, zeros, sizeof zeros);
    status = otlp_json_decode(&reader->json, reader->text.data, body.length, &visitor, err);
    problem = reader->json.scan.problem;
  }
  if (status == STATUS_INPUT && problem != NULL)
    return import_broken(reader->import, err, input_offset(reader->import->input, body.data), "%s", problem);
  return status;
}

// So many bytes in the window. False: the file has fewer.
static enum status need(struct input *input, size_t bytes, bool *ret_has_them, struct error *err)
{
  while ((size_t)(input->end - input->at) < bytes && !input->is_last)
    XSP_TRY(input_more(input, err));
  *ret_has_them = (size_t)(input->end - input->at) >= bytes;
  return STATUS_OK;
}

// *ret_has_record is false where the file ends, also within a record.
static enum status next_record(struct reader *reader, struct otlp_journal_head *head, struct slice *ret_body,
                               bool *ret_has_record, struct error *err)
{
  struct input *input = reader->import->input;
  XSP_TRY(need(input, sizeof *head, ret_has_record, err));
  if (!*ret_has_record)
    return STATUS_OK;
  memcpy(head, input->at, sizeof *head);
  *ret_has_record = otlp_journal_head_is_possible(head);
  if (*ret_has_record)
    XSP_TRY(need(input, sizeof *head + head->length, ret_has_record, err));
  if (!*ret_has_record)
    return STATUS_OK;
  *ret_body = (struct slice){input->at + sizeof *head, head->length};
  *ret_has_record = otlp_journal_checksum(head->encoding, *ret_body) == head->checksum;
  return STATUS_OK;
}

static enum status read_records(struct reader *reader, struct error *err)
{
  struct input *input = reader->import->input;
  struct otlp_journal_head head = {0};
  struct slice body = {0};
  bool has_record = true;
  input->at += OTLP_JOURNAL_MAGIC_BYTES;
  for (reader->records = 0; reader->records < reader->most_records; reader->records++) {
    XSP_TRY(next_record(reader, &head, &body, &has_record, err));
    if (!has_record)
      break;
    XSP_TRY(decode(reader, &head, body, err));
    input->at = body.data + body.length;
  }
  reader->is_torn |= input->at < input->end && reader->records < reader->most_records;
  return STATUS_OK;
}

// Which runs call each other, before anything is stored.
static enum status survey(struct reader *reader, struct error *err)
{
  struct stat facts;
  if (stat(reader->import->input->path, &facts) != 0 || !S_ISREG(facts.st_mode)) // cannot be read twice
    return STATUS_OK;
  reader->model.join = import_otlp_join_new();
  reader->model.is_survey = true;
  XSP_TRY(read_records(reader, err));
  import_otlp_join_runs(reader->model.join, &reader->model);
  reader->model.is_survey = false;
  reader->model.trace = (struct otlp_trace_cache){0}; // its numbers are the survey's
  reader->most_records = reader->records;
  reader->left_out = 0;
  return input_rewind(reader->import->input, err);
}

static enum status read_all(struct reader *reader, struct error *err)
{
  XSP_TRY(survey(reader, err));
  XSP_TRY(read_records(reader, err));
  if (reader->is_torn)
    import_note(reader->import, "it ends within a request, which was never acknowledged");
  if (reader->left_out > 0)
    import_note(reader->import, "%llu resources or spans were left out; the first: %s",
                (unsigned long long)reader->left_out, reader->first.why);
  import_otlp_model_finish(&reader->model);
  return STATUS_OK;
}

static int recognize(struct slice head, bool is_all)
{
  return slice_starts_with(head, OTLP_JOURNAL_MAGIC) ? 3 : 0;
}

static enum status read_file(struct import *import, struct error *err)
{
  struct reader reader = {.import = import, .most_records = UINT64_MAX};
  if (recognize(input_head(import->input), import->input->is_last) == 0)
    return import_broken(import, err, 0, "it is not a journal of xsp serve");
  import_otlp_model_start(&reader.model, import);
  enum status status = read_all(&reader, err);
  import_otlp_model_done(&reader.model);
  otlp_proto_done(&reader.proto);
  otlp_json_done(&reader.json);
  buf_done(&reader.text);
  return status;
}

const struct importer importer_otlp_journal = {
    .name = "otlp-journal",
    .summary = "what xsp serve received and has not stored yet",
    .recognize = recognize,
    .read = read_file,
};
