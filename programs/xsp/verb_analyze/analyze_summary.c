// SPDX-License-Identifier: Apache-2.0
// The summary of a file for those who name no analysis: the cause, lines of the program, some analyses, the list of all. Called by
// verb_analyze.c. What a file cannot answer is left out: the list of analyses names the levels that each needs.
#include "programs/xsp/verb_analyze/analyze_summary.h"

#include "base/json_write.h"
#include "programs/xsp/output.h"
#include "programs/xsp/reader.h"
#include "programs/xsp/verb_run/run_lines.h"
#include "table/builder.h"

#include <string.h>

#define TOP_ROWS 5
#define TOP_FINDINGS 3

static const char *const summary_ids[] = {"A1", "A2", "A10",
                                          "ranges"}; // the last of a program with lines, and where there is no A1
#define SUMMARY_IDS (sizeof summary_ids / sizeof summary_ids[0])

struct summary {
  struct analyze_cache cache;
  struct answers answers;
  struct cause *causes;
  size_t cause_count;
  struct run_lines lines;   // of a single file
  size_t ends[SUMMARY_IDS]; // of each analysis' tables
  struct answers findings;  // the first of each experiment
};

static enum status ask_findings(struct summary *summary, struct store *const *stores, size_t count,
                                const struct analyze_request *request, struct error *err)
{
  struct analyze_request asked = *request;
  struct error why = {0};
  asked.run_watcher.step = NULL; // rules are watched
  asked.sort = NULL;
  asked.top = TOP_FINDINGS;
  enum status status = answers_add(&summary->findings, "findings", stores, count, &asked, &why);
  if (status == STATUS_OK || status == STATUS_NO)
    return STATUS_OK;
  *err = why;
  return status;
}

// Spans of services have no models, and need none.
static bool has_services(const struct summary *summary)
{
  for (size_t i = 0; i < summary->answers.tables.count; i++) {
    const struct table *table = &summary->answers.tables.items[i];
    for (size_t cell = 0; cell < table->row_count * table->column_count; cell++)
      if (strcmp(table->columns[cell % table->column_count].key, "service") == 0 && table->rows[cell].type == CELL_TEXT)
        return true;
  }
  return false;
}

static enum status ask(struct summary *summary, struct store *const *stores, size_t count,
                       const struct analyze_request *request, struct error *err)
{
  struct analyze_request of_causes = *request;
  of_causes.cache = &summary->cache;
  of_causes.run_watcher.step = NULL;
  XSP_TRY(
      analyze_causes(stores, count, &of_causes, &summary->answers.arena, &summary->causes, &summary->cause_count, err));
  if (count == 1)
    XSP_TRY(run_lines_load(stores[0], &summary->cache, &summary->lines, err));
  struct error no_models = {0};
  for (size_t i = 0; i < SUMMARY_IDS; i++) {
    struct analyze_request asked = *request;
    struct error why = {0};
    summary->ends[i] = summary->answers.tables.count;
    headway_tell(&request->watcher, i, SUMMARY_IDS + 1); // and findings, whose rules tell
    if (i == SUMMARY_IDS - 1 && summary->ends[0] > 0 && summary->lines.table == NULL)
      continue;
    if (asked.top == 0 && strcmp(summary_ids[i], "A1") != 0)
      asked.top = TOP_ROWS;
    enum status status = answers_add(&summary->answers, summary_ids[i], stores, count, &asked, &why);
    if (status != STATUS_OK && status != STATUS_NO) {
      *err = why;
      return status;
    }
    if (status == STATUS_NO && i == 0)
      no_models = why;
    summary->ends[i] = summary->answers.tables.count;
  }
  if (summary->ends[0] == 0 && !has_services(summary)) // A1 is what everyone expects: with the remedy
    output_error(&no_models);
  return ask_findings(summary, stores, count, request, err);
}

static void add_list(struct answers *answers)
{
  struct table_builder builder;
  struct table list = {0};
  table_start(&builder, &answers->arena);
  for (size_t i = 0; analyses[i] != NULL; i++) {
    table_row(&builder);
    table_put(&builder, "id", cell_text(analyses[i]->id));
    table_put(&builder, "title", cell_text(analyses[i]->title));
    table_put(&builder, "needs", cell_text(analyses[i]->needs));
  }
  table_answer(&builder, &list);
  *vector_add(&answers->tables) = list;
}

static void put_causes_json(const struct summary *summary, struct buf *out)
{
  struct json_writer json;
  json_start(&json, out);
  json_array(&json);
  for (size_t i = 0; i < summary->cause_count; i++) {
    struct buf text SCOPED(buf_done) = {0};
    report_cause(&summary->causes[i], &text);
    json_object(&json);
    json_member_string(&json, "experiment", summary->causes[i].experiment);
    json_member_string(&json, "rule", summary->causes[i].rule);
    json_member_string(&json, "text", text.data);
    json_object_end(&json);
  }
  json_array_end(&json);
}

static enum status print_json(const struct summary *summary, struct error *err)
{
  struct buf out = {0};
  struct json_writer json;
  buf_text(&out, "{\"causes\":");
  put_causes_json(summary, &out);
  buf_text(&out, ",");
  for (size_t i = 0, from = 0; i < SUMMARY_IDS; from = summary->ends[i++]) {
    if (summary->ends[i] == from)
      continue;
    buf_format(&out, "\"%s\":", summary_ids[i]);
    report_tables(summary->answers.tables.items + from, summary->ends[i] - from, REPORT_JSON, false, 0, &out);
    buf_text(&out, ",");
  }
  if (summary->findings.tables.count > 0) {
    buf_text(&out, "\"findings\":");
    report_tables(summary->findings.tables.items, summary->findings.tables.count, REPORT_JSON, false, 0, &out);
    buf_text(&out, ",");
  }
  buf_text(&out, "\"analyses\":");
  json_start(&json, &out);
  json_array(&json);
  for (size_t i = 0; analyses[i] != NULL; i++) {
    json_object(&json);
    json_member_string(&json, "id", analyses[i]->id);
    json_member_string(&json, "title", analyses[i]->title);
    json_member_string(&json, "needs", analyses[i]->needs);
    json_object_end(&json);
  }
  json_array_end(&json);
  buf_text(&out, "}\n");
  return output_buf(&out, err);
}

enum status analyze_summary(struct store *const *stores, size_t count, const struct analyze_request *request,
                            enum report_format format, const char *path, struct error *err)
{
  struct summary summary = {.cache = {.bytes_most = ANSWERS_CACHE_BYTES, .findings_follow = true}};
  summary.answers.cache = summary.findings.cache = &summary.cache;
  enum status status = ask(&summary, stores, count, request, err);
  if (status == STATUS_OK && format == REPORT_JSON)
    status = print_json(&summary, err);
  else if (status == STATUS_OK) {
    struct buf out = {0};
    add_list(&summary.answers);
    if (!report_format_is_csv(format)) {
      report_causes(summary.causes, summary.cause_count, &out);
      run_lines_put(&summary.lines, &out);
    }
    if (out.length > 0)
      buf_text(&out, "\n");
    report_tables(summary.answers.tables.items, summary.answers.tables.count, format, true, output_width(), &out);
    if (!report_format_is_csv(format))
      report_findings(summary.findings.tables.items, summary.findings.tables.count, path, &out);
    status = output_buf(&out, err);
    if (status == STATUS_OK && format == REPORT_TEXT)
      output_note("next:    xsp analyze ID %s, or xsp report %s (one page for the browser)", path, path);
  }
  answers_done(&summary.answers);
  answers_done(&summary.findings);
  run_lines_done(&summary.lines);
  analyze_cache_done(&summary.cache);
  return status;
}
