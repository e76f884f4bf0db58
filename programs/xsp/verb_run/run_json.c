// SPDX-License-Identifier: Apache-2.0
// `xsp run --json FILE`: the summary for scripts. Called by verb_run.c when the program has ended.
#include "programs/xsp/verb_run/run_json.h"

#include "base/file_place.h"
#include "base/json_write.h"
#include "programs/xsp/verb_run/run_lines.h"
#include "report/report.h"

#include <errno.h>
#include <math.h>

static void put_cell(struct json_writer *json, const struct table_cell *cell)
{
  if (cell->type == CELL_TEXT)
    json_string(json, cell->value.text);
  else if (cell->type == CELL_INT)
    json_int(json, cell->value.integer);
  else
    json_double(json, cell_double(cell)); // null where it is none
}

static void put_rows(struct json_writer *json, const struct table *table)
{
  json_array(json);
  for (size_t row = 0; table != NULL && row < table->row_count; row++) {
    json_object(json);
    for (size_t column = 0; column < table->column_count; column++) {
      json_key(json, table->columns[column].key);
      put_cell(json, &table->rows[row * table->column_count + column]);
    }
    json_object_end(json);
  }
  json_array_end(json);
}

static enum status put_cause(struct json_writer *json, struct store *store, struct answers *answers, struct error *err)
{
  struct analyze_request request;
  struct cause *causes;
  size_t count;
  analyze_request_init(&request);
  request.cache = answers->cache;
  request.reads_source = true;
  XSP_TRY(analyze_causes(&store, 1, &request, &answers->arena, &causes, &count, err));
  json_key(json, "cause");
  if (count == 0) {
    json_null(json);
    return STATUS_OK;
  }
  struct buf text SCOPED(buf_done) = {0};
  report_cause(&causes[0], &text);
  json_object(json);
  json_member_string(json, "rule", causes[0].rule);
  json_member_string(json, "text", text.data);
  json_member_string(json, "file", causes[0].file);
  json_key(json, "line");
  causes[0].line > 0 ? json_int(json, causes[0].line) : json_null(json);
  json_member_double(json, "share_pct", causes[0].text != NULL ? causes[0].share_pct : NAN);
  json_object_end(json);
  return STATUS_OK;
}

static enum status put_all(const struct run_experiment_options *options, const struct run_experiment_result *result,
                           struct buf *out, struct error *err)
{
  struct store *store = result->store;
  struct json_writer json;
  struct analyze_cache cache SCOPED(analyze_cache_done) = {.bytes_most = ANSWERS_CACHE_BYTES};
  struct run_lines lines SCOPED(run_lines_done) = {0};
  json_start(&json, out);
  json_object(&json);
  json_member_string(&json, "command", options->command_line);
  json_member_double(&json, "duration_ms", (double)(result->first.end_ns - result->first.start_ns) / 1e6);
  json_member_int(&json, "exit_status", result->exit_status);
  XSP_TRY(run_lines_load(store, &cache, &lines, err));
  if (!store_is_folded(store))
    XSP_TRY(put_cause(&json, store, &lines.answers, err));
  json_member_double(&json, "covered_pct", lines.covered_pct);
  json_key(&json, "lines");
  put_rows(&json, lines.table);
  json_object_end(&json);
  buf_text(out, "\n");
  return STATUS_OK;
}

enum status run_json_check(const struct invocation *invocation, struct error *err)
{
  const char *path = invocation_value(invocation, "json");
  return path != NULL ? file_place_check(path, invocation_has(invocation, "force"), err) : STATUS_OK;
}

static enum status write_file(const char *path, bool may_replace, const struct buf *text, struct error *err)
{
  if (file_place_whole(path, text->data, text->length, may_replace))
    return STATUS_OK;
  return error_set_errno(err, errno == EEXIST ? STATUS_USE : STATUS_SYSTEM, "cannot write the summary", path,
                         "another path for --json");
}

enum status run_json_write(const struct invocation *invocation, const struct run_experiment_options *options,
                           const struct run_experiment_result *result, struct error *err)
{
  const char *path = invocation_value(invocation, "json");
  struct buf out SCOPED(buf_done) = {0};
  if (path == NULL)
    return STATUS_OK;
  XSP_TRY(put_all(options, result, &out, err));
  if (out.failed)
    return error_set(err, STATUS_MEMORY, "cannot write the summary", path, NULL, "out of memory");
  return write_file(path, invocation_has(invocation, "force"), &out, err);
}
