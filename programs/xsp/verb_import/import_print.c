// SPDX-License-Identifier: Apache-2.0
// What an import recognised, kept, skipped and could not attribute, for people and for scripts.
#include "programs/xsp/verb_import/import_print.h"

#include "base/json_write.h"
#include "programs/xsp/output.h"
#include "report/display.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

// ---- JSON ------------------------------------------------------------------------------------------------------------
static void json_file(struct json_writer *json, const struct import_file *file)
{
  json_object(json);
  json_member_string(json, "path", file->path);
  json_member_string(json, "format", file->format);
  json_member_string(json, "version", file->version);
  json_member_int(json, "events", (int64_t)file->events);
  json_member_int(json, "kept", (int64_t)file->kept);
  json_member_object(json, "skipped");
  for (size_t i = 0; i < file->skipped_count; i++)
    json_member_int(json, file->skipped[i].reason, (int64_t)file->skipped[i].count);
  json_object_end(json);
  json_member_array(json, "notes");
  for (size_t i = 0; i < file->note_count; i++)
    json_string(json, file->notes[i]);
  json_array_end(json);
  json_member_array(json, "run_ids");
  for (size_t i = 0; i < file->run_count; i++)
    json_int(json, file->run_ids[i]);
  json_array_end(json);
  json_object_end(json);
}

static void json_account(struct json_writer *json, const struct import_account *account)
{
  json_member_object(json, "spans");
  for (unsigned level = 0; level < XSP_LEVEL_COUNT; level++)
    if (account->spans_by_level[level] > 0)
      json_member_int(json, level_name(level), (int64_t)account->spans_by_level[level]);
  json_object_end(json);
  json_member_object(json, "parents");
  for (unsigned i = 1; i <= BASIS_COUNT; i++) // BASIS_NONE, which is 0, comes last
    json_member_int(json, basis_name(i % BASIS_COUNT), (int64_t)account->parents[i % BASIS_COUNT]);
  json_object_end(json);
  json_member_object(json, "unattributed");
  json_member_int(json, "count", (int64_t)account->unattributed_count);
  json_member_int(json, "duration_ns", account->unattributed_ns);
  json_member_object(json, "reasons");
  for (size_t i = 0; i < UNATTRIBUTED_REASONS; i++)
    if (account->unattributed[i] > 0)
      json_member_int(json, unattributed_names[i], (int64_t)account->unattributed[i]);
  json_object_end(json);
  json_object_end(json);
}

static void print_json(const struct import_report *report, struct buf *out)
{
  struct json_writer json;
  json_start(&json, out);
  json_object(&json);
  json_member_array(&json, "files");
  for (size_t i = 0; i < report->file_count; i++)
    json_file(&json, &report->files[i]);
  json_array_end(&json);
  json_account(&json, &report->account);
  json_member_string(&json, "output", report->output);
  json_object_end(&json);
  buf_text(out, "\n");
}

// ---- text ------------------------------------------------------------------------------------------------------------
static void put_escaped(struct buf *out, const char *text)
{
  display_escape(out, text, strlen(text));
}

// 12345 as 12,345: these are counts for people.
static void put_count(struct buf *out, uint64_t count)
{
  char digits[24];
  int length = snprintf(digits, sizeof digits, "%" PRIu64, count);
  for (int i = 0; i < length; i++)
    buf_format(out, i > 0 && (length - i) % 3 == 0 ? ",%c" : "%c", digits[i]);
}

static void put_counted(struct buf *out, const char **joint, uint64_t count, const char *what)
{
  buf_text(out, *joint);
  put_count(out, count);
  buf_format(out, " %s", what);
  *joint = ", ";
}

static void put_file(struct buf *out, const struct import_file *file)
{
  put_escaped(out, file->path);
  buf_format(out, ": %s", file->format);
  if (file->version != NULL) {
    buf_text(out, " ");
    put_escaped(out, file->version);
  }
  const char *joint = "; ";
  put_counted(out, &joint, file->events, file->events == 1 ? "event" : "events");
  put_counted(out, &joint, file->kept, "kept\n");
  if (file->skipped_count > 0) {
    buf_text(out, "  skipped  ");
    joint = "";
    for (size_t i = 0; i < file->skipped_count; i++)
      put_counted(out, &joint, file->skipped[i].count, file->skipped[i].reason);
    buf_text(out, "\n");
  }
  for (size_t i = 0; i < file->note_count; i++) {
    buf_text(out, "  note     ");
    put_escaped(out, file->notes[i]);
    buf_text(out, "\n");
  }
}

static void put_unattributed(struct buf *out, const struct import_account *account)
{
  if (account->kernels == 0)
    return;
  buf_text(out, "kernels  ");
  put_count(out, account->kernels);
  if (account->unattributed_count == 0) {
    buf_text(out, ", each with a parent\n");
    return;
  }
  buf_text(out, ", ");
  put_count(out, account->unattributed_count);
  buf_format(out, " without a parent (%.3f ms): ", (double)account->unattributed_ns / 1e6);
  const char *joint = "";
  for (size_t i = 0; i < UNATTRIBUTED_REASONS; i++)
    if (account->unattributed[i] > 0)
      put_counted(out, &joint, account->unattributed[i], unattributed_names[i]);
  buf_text(out, "\n");
}

static void print_text(const struct import_report *report, struct buf *out)
{
  const struct import_account *account = &report->account;
  for (size_t i = 0; i < report->file_count; i++)
    put_file(out, &report->files[i]);
  const char *joint = "spans    ";
  for (unsigned level = 0; level < XSP_LEVEL_COUNT; level++)
    if (account->spans_by_level[level] > 0)
      put_counted(out, &joint, account->spans_by_level[level], level_name(level));
  buf_text(out, *joint == ',' ? "\n" : "spans    none\n");
  joint = "parents  ";
  for (unsigned i = 1; i <= BASIS_COUNT; i++) // BASIS_NONE, which is 0, comes last
    if (account->parents[i % BASIS_COUNT] > 0)
      put_counted(out, &joint, account->parents[i % BASIS_COUNT], basis_name(i % BASIS_COUNT));
  if (*joint == ',')
    buf_text(out, "\n");
  put_unattributed(out, account);
}

enum status import_print(const struct import_report *report, bool is_json, struct error *err)
{
  struct buf out = {0};
  if (is_json)
    print_json(report, &out);
  else
    print_text(report, &out);
  return output_buf(&out, err);
}
