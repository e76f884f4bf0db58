// SPDX-License-Identifier: Apache-2.0
// The page: a fixed template with the data put into its marked place, so that the hashes of its Content-Security-Policy
// stay those of the template. What comes from traces is packed (gzip, base64): it can never be markup.
#include "report/page.h"

#include "report/export_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// The template is made of web/ (`npm run build`) and committed; the assembler takes it in as it is.
__asm__(".pushsection .rodata\n"
        ".global report_page_template\n"
        ".global report_page_template_end\n"
        "report_page_template:\n"
        ".incbin \"" XSP_PAGE_TEMPLATE "\"\n"
        "report_page_template_end:\n"
        ".byte 0\n"
        ".popsection\n");
extern const char report_page_template[], report_page_template_end[];
static const char data_mark[] = "<!--xsp-data-->";

struct page {
  struct timeline timeline;
  const struct report_page_options *options;
  struct export_file file;
  struct buf out;
  struct page_names names;
  struct page_run *runs;
};

static enum status flush(struct page *page, struct error *err)
{
  return export_file_flush_buf(&page->file, &page->out, err);
}

// ---- columns, and what the document says of each run ------------------------------------------------------------------
static enum status put_columns(struct page *page, size_t index, const struct timeline_run *run, struct arena *arena,
                               struct error *err)
{
  struct page_run *shown = &page->runs[index];
  for (int column = 0; column < PAGE_COLUMNS; column++) {
    buf_format(&page->out, "<script type=\"application/octet-stream\" id=\"xsp-%" PRId64 "-%s\">", run->run->run_id,
               page_column_names[column]);
    XSP_TRY(page_column_encode(run, &shown->rows, (enum page_column)column, &page->names, arena, &page->out,
                               &shown->columns[column], err));
    buf_text(&page->out, "</script>\n");
    XSP_TRY(flush(page, err));
  }
  return STATUS_OK;
}

static void put_lane(struct json_writer *json, struct page *page, const struct timeline_run *run, size_t index)
{
  const struct timeline_lane *lane = &run->lanes[index];
  const struct timeline_track *track = &run->tracks[lane->track];
  char name[TIMELINE_NAME_SIZE];
  timeline_track_name(track, name, sizeof name);
  json_object(json);
  json_key(json, "name");
  json_string(json, name);
  json_key(json, "process");
  json_string(json, page->timeline.processes[track->process].name);
  json_key(json, "overlap");
  json_int(json, lane->overlap);
  json_key(json, "is_device");
  json_bool(json, track->track->device_id != STORE_NONE || track->track->stream_id != STORE_NONE);
  json_object_end(json);
}

static void put_rows(struct json_writer *json, const struct page_rows *rows)
{
  json_array(json);
  for (size_t i = 0; i < rows->row_count; i++) {
    const struct page_row *row = &rows->rows[i];
    json_array(json);
    json_int(json, (int64_t)row->lane);
    json_int(json, row->depth);
    json_int(json, (int64_t)row->first);
    json_int(json, (int64_t)row->count);
    json_array_end(json);
  }
  json_array_end(json);
}

static enum status put_observations(struct json_writer *json, struct page *page, const struct page_run *shown,
                                    struct arena *arena, struct error *err)
{
  struct store_observation *observations = NULL;
  size_t count = 0;
  XSP_TRY(store_observations(page->timeline.store, shown->run->run_id, arena, &observations, &count, err));
  json_array(json);
  for (size_t i = 0; i < count; i++) {
    json_array(json);
    json_int(json, observations[i].start_ns - shown->rows.first_ns);
    json_int(json, observations[i].duration_ns);
    json_int(json, observations[i].warmup);
    json_array_end(json);
  }
  json_array_end(json);
  return STATUS_OK;
}

static void put_counts(struct json_writer *json, const struct timeline_run *run)
{
  int64_t levels[XSP_LEVEL_COUNT] = {0}, bases[BASIS_COUNT] = {0}, open = 0;
  for (size_t i = 0; i < run->spans.count; i++) {
    levels[run->spans.level[i] < XSP_LEVEL_COUNT ? run->spans.level[i] : 0]++;
    bases[run->derived.basis[i] < BASIS_COUNT ? run->derived.basis[i] : 0]++;
    open += timeline_is_open(run, (uint32_t)i);
  }
  json_key(json, "levels_counted");
  json_array(json);
  for (size_t i = 0; i < XSP_LEVEL_COUNT; i++)
    json_int(json, levels[i]);
  json_array_end(json);
  json_key(json, "bases_counted");
  json_array(json);
  for (size_t i = 0; i < BASIS_COUNT; i++)
    json_int(json, bases[i]);
  json_array_end(json);
  json_key(json, "open");
  json_int(json, open);
}

static void put_run_facts(struct json_writer *json, const struct store_run *run)
{
  char levels[LEVEL_SET_TEXT_SIZE];
  level_set_format(run->levels, levels);
  json_key(json, "run_id");
  json_int(json, run->run_id);
  json_key(json, "experiment_id");
  json_int(json, run->experiment_id);
  json_key(json, "levels");
  json_string(json, levels);
  json_key(json, "batch_size");
  if (run->batch_size != 0)
    json_int(json, run->batch_size);
  else
    json_null(json);
  json_key(json, "dropped");
  json_int(json, run->dropped_count);
  json_key(json, "misused");
  json_int(json, run->misused_count);
  json_key(json, "own_pct");
  json_double(json, run->own_pct);
  json_key(json, "epoch");
  json_string(json, run->epoch_is_unix ? "unix" : "trace");
}

static enum status put_run(struct page *page, size_t index, struct json_writer *json, struct error *err)
{
  struct arena arena = {0};
  struct timeline_run run;
  struct page_run *shown = &page->runs[index];
  enum status status = timeline_load(&page->timeline, index, &arena, &run, err);
  if (status != STATUS_OK) {
    arena_done(&arena);
    return status;
  }
  shown->run = run.run;
  shown->span_count = run.spans.count;
  status = page_rows_lay(&run, &arena, &shown->rows, err);
  if (status == STATUS_OK && shown->is_shown)
    status = put_columns(page, index, &run, &arena, err);
  json_object(json);
  put_run_facts(json, run.run);
  put_counts(json, &run);
  char number[32];
  snprintf(number, sizeof number, "%" PRId64, shown->rows.first_ns + run.shift_ns);
  json_key(json, "first_ns"); // beyond 2^53: a text
  json_string(json, number);
  json_key(json, "is_shown");
  json_bool(json, shown->is_shown);
  json_key(json, "spans");
  json_int(json, (int64_t)shown->rows.span_count);
  json_key(json, "spans_of_other_clocks");
  json_int(json, (int64_t)(run.spans.count - shown->rows.span_count));
  json_key(json, "lanes");
  json_array(json);
  for (size_t i = 0; i < run.lane_count; i++)
    put_lane(json, page, &run, i);
  json_array_end(json);
  json_key(json, "rows");
  put_rows(json, &shown->rows);
  json_key(json, "observations");
  if (status == STATUS_OK)
    status = put_observations(json, page, shown, &arena, err);
  json_key(json, "columns");
  json_object(json);
  for (int column = 0; column < PAGE_COLUMNS && shown->is_shown; column++) {
    json_key(json, page_column_names[column]);
    json_int(json, shown->columns[column].width);
  }
  json_object_end(json);
  json_object_end(json);
  arena_done(&arena);
  shown->rows.rows = NULL;
  shown->rows.place = shown->rows.source = NULL;
  return status;
}

// ---- the rest of the document -----------------------------------------------------------------------------------------
static enum status put_system(struct json_writer *json, struct store *store, int64_t system_id, struct arena *arena,
                              struct error *err)
{
  struct store_system_value *values = NULL;
  size_t count = 0;
  XSP_TRY(store_system(store, system_id, arena, &values, &count, err));
  json_key(json, "system");
  json_object(json);
  for (size_t i = 0; i < count; i++) {
    json_key(json, values[i].key);
    if (values[i].is_number)
      json_double(json, values[i].number);
    else
      json_string(json, values[i].text);
  }
  json_object_end(json);
  return STATUS_OK;
}

static enum status put_experiments(struct page *page, struct json_writer *json, struct error *err)
{
  struct arena arena = {0};
  enum status status = STATUS_OK;
  json_key(json, "experiments");
  json_array(json);
  for (size_t i = 0; i < page->timeline.experiment_count && status == STATUS_OK; i++) {
    const struct store_experiment *experiment = &page->timeline.experiments[i];
    const char *const texts[][2] = {
        {"name", experiment->name},           {"workload", experiment->workload},
        {"framework", experiment->framework}, {"framework_version", experiment->framework_version},
        {"command", experiment->command},     {"xsp_version", experiment->xsp_version}};
    json_object(json);
    json_key(json, "experiment_id");
    json_int(json, experiment->experiment_id);
    for (size_t j = 0; j < sizeof texts / sizeof texts[0]; j++) {
      json_key(json, texts[j][0]);
      json_string(json, texts[j][1]);
    }
    json_key(json, "created_ms");
    json_int(json, experiment->created_ns / 1000000);
    status = put_system(json, page->timeline.store, experiment->system_id, &arena, err);
    json_object_end(json);
  }
  json_array_end(json);
  arena_done(&arena);
  return status;
}

static enum status put_note(void *context, const struct store_cell *cells, size_t count, struct error *err)
{
  struct json_writer *json = context;
  json_object(json);
  json_key(json, "run_id");
  json_int(json, cells[0].integer);
  json_key(json, "key");
  json_string_n(json, cells[1].text, cells[1].length);
  json_key(json, "value");
  if (cells[2].type == STORE_TEXT)
    json_string_n(json, cells[2].text, cells[2].length);
  else
    json_null(json);
  json_object_end(json);
  return STATUS_OK;
}

static enum status put_notes(struct page *page, struct json_writer *json, struct error *err)
{
  const struct store_query_sink sink = {json, NULL, put_note};
  json_key(json, "notes");
  json_array(json);
  enum status status = store_query(page->timeline.store, "select run_id, key, value from note", &sink, err);
  json_array_end(json);
  return status;
}

static void put_names(struct page *page, struct json_writer *json)
{
  json_key(json, "names");
  json_array(json);
  for (uint32_t i = 0; i < page->names.count; i++) {
    size_t length = 0;
    const char *text = store_text(page->timeline.store, page->names.strings[i], &length);
    json_string_n(json, text, length);
  }
  json_array_end(json);
}

// Packed, it is a seventh of its size, and no text of it can be taken for markup.
static enum status put_packed_document(struct page *page, const struct buf *json, struct error *err)
{
  if (json->failed)
    return error_set(err, STATUS_MEMORY, "cannot make the page", page->file.path, NULL, "out of memory");
  buf_text(&page->out, "<script type=\"application/octet-stream\" id=\"xsp-document\">");
  XSP_TRY(page_put_packed(json->data, json->length, &page->out, err));
  buf_text(&page->out, "</script>\n");
  return flush(page, err);
}

static enum status put_document(struct page *page, struct error *err)
{
  struct buf text;
  buf_init(&text, BUF_MAXIMUM_DEFAULT);
  struct json_writer json;
  json_start(&json, &text);
  json_object(&json);
  json_key(&json, "page_version");
  json_int(&json, PAGE_VERSION);
  json_key(&json, "file");
  json_string(&json, page->options->name);
  json_key(&json, "max_spans");
  json_int(&json, (int64_t)page->options->max_spans);
  enum status status = put_experiments(page, &json, err);
  json_key(&json, "runs");
  json_array(&json);
  for (size_t i = 0; i < page->timeline.run_count && status == STATUS_OK; i++)
    status = put_run(page, i, &json, err);
  json_array_end(&json);
  put_names(page, &json);
  if (status == STATUS_OK)
    status = put_notes(page, &json, err);
  json_key(&json, "analyses");
  json_null(&json);
  json_object_end(&json);
  if (status == STATUS_OK) { // the writer of tables makes JSON of its own: put in the place of the null
    static const char tail[] = "null}";
    while (text.length > 0 && text.data[text.length - 1] == '\n')
      text.length--;
    text.length -= sizeof tail - 1;
    status = page_put_tables(page->timeline.store, page->timeline.runs, page->timeline.run_count, &text, err);
    buf_text(&text, "}");
  }
  if (status == STATUS_OK)
    status = put_packed_document(page, &text, err);
  buf_done(&text);
  return status;
}

// ---- which runs' spans are on the page --------------------------------------------------------------------------------
static enum status count_span(void *context, const struct store_cell *cells, size_t count, struct error *err)
{
  struct page *page = context;
  for (size_t i = 0; i < page->timeline.run_count; i++)
    if (page->timeline.runs[i].run_id == cells[0].integer)
      page->runs[i].span_count = (size_t)cells[1].integer;
  return STATUS_OK;
}

// The runs of the most levels first: they show most. The others as long as there is room.
static enum status choose_runs(struct page *page, struct error *err)
{
  const struct store_query_sink sink = {page, NULL, count_span};
  XSP_TRY(store_query(page->timeline.store, "select run_id, count(*) from span group by 1", &sink, err));
  size_t room = page->options->max_spans;
  for (int depth = XSP_LEVEL_COUNT - 1; depth >= -1; depth--)
    for (size_t i = 0; i < page->timeline.run_count; i++) {
      struct page_run *run = &page->runs[i];
      int deepest =
          page->timeline.runs[i].levels.mask == 0 ? -1 : (int)level_set_deepest(page->timeline.runs[i].levels);
      if (deepest != depth || run->span_count > room)
        continue;
      run->is_shown = true;
      room -= run->span_count;
    }
  return STATUS_OK;
}

static enum status write_page(struct page *page, const char *path, struct error *err)
{
  const char *mark = memmem(report_page_template, (size_t)(report_page_template_end - report_page_template), data_mark,
                            sizeof data_mark - 1);
  if (mark == NULL)
    return error_set(err, STATUS_SYSTEM, "cannot make the page", path, "build xsp again",
                     "its template has no place for data");
  page->runs = arena_alloc_array(&page->timeline.arena, page->timeline.run_count + 1, sizeof *page->runs);
  if (page->runs == NULL)
    return error_set(err, STATUS_MEMORY, "cannot make the page", path, NULL, "out of memory");
  XSP_TRY(choose_runs(page, err));
  XSP_TRY(export_file_open(path, &page->file, err));
  buf_put(&page->out, report_page_template, (size_t)(mark - report_page_template));
  XSP_TRY(flush(page, err));
  XSP_TRY(put_document(page, err));
  const char *rest = mark + sizeof data_mark - 1;
  buf_put(&page->out, rest, (size_t)(report_page_template_end - rest));
  XSP_TRY(flush(page, err));
  return export_file_close(&page->file, err);
}

enum status report_page(struct store *store, const struct report_page_options *options, const char *path,
                        struct error *err)
{
  struct page page = {.options = options};
  XSP_TRY(timeline_open(store, &page.timeline, err));
  buf_init(&page.out, BUF_MAXIMUM_DEFAULT);
  enum status status = write_page(&page, path, err);
  export_file_abandon(&page.file);
  buf_done(&page.out);
  page_names_done(&page.names);
  timeline_done(&page.timeline);
  return status;
}
