// SPDX-License-Identifier: Apache-2.0
// Tables, reasons and JSON of `xsp check`. Called by verb_check.c.
#include "programs/xsp/check_print.h"
#include "base/json_write.h"
#include "programs/xsp/check_machine.h"
#include "programs/xsp/output.h"
#include "report/display.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const kind_keys[] = {[SUBJECT_PREDICTOR] = "predictor", [SUBJECT_TRACER] = "tracer"};

static void json_text(struct json_writer *json, const char *key, const char *text)
{
  json_member_string(json, key, text[0] != 0 ? text : NULL);
}

static void print_peaks(struct json_writer *json, const struct peaks *peaks)
{
  json_object(json);
  json_text(json, "peaks", "cpu");
  json_key(json, "usable");
  json_bool(json, !isnan(peaks->flops_per_s));
  json_key(json, "peak_flops_per_s");
  json_double(json, peaks->flops_per_s);
  json_key(json, "memory_bandwidth_bytes_per_s");
  json_double(json, peaks->is_beyond_cache ? peaks->bandwidth_bytes_per_s : NAN);
  json_text(json, "instructions", peaks->instructions);
  json_member_int(json, "threads", peaks->threads);
  json_object_end(json);
}

static void print_json(const struct check_subjects *subjects, const struct peaks *peaks, struct buf *out)
{
  struct json_writer json;
  json_start(&json, out);
  json_array(&json);
  for (size_t i = 0; i < subjects->count; i++) {
    const struct probe_result *result = &subjects->items[i].result;
    json_object(&json);
    json_text(&json, kind_keys[subjects->items[i].kind], result->name);
    json_key(&json, "usable");
    json_bool(&json, result->is_usable);
    json_text(&json, "library", result->library);
    json_text(&json, "version", result->version);
    json_text(&json, "reason", result->reason);
    json_text(&json, "advice", result->advice);
    if (subjects->items[i].kind == SUBJECT_PREDICTOR)
      json_text(&json, "untold", result->untold);
    json_object_end(&json);
  }
  if (peaks != NULL)
    print_peaks(&json, peaks);
  json_array_end(&json);
  buf_text(out, "\n");
}

enum check_column {
  CHECK_KIND,
  CHECK_NAME,
  CHECK_USABLE,
  CHECK_VERSION,
  CHECK_LIBRARY,
  CHECK_REASON,
  CHECK_ADVICE,
  CHECK_UNTOLD
};
#define CHECK_COLUMNS 8
static const struct table_column columns[CHECK_COLUMNS] = {
    [CHECK_KIND] = {"kind", "", "kind"},          [CHECK_NAME] = {"name", "", "name"},
    [CHECK_USABLE] = {"usable", "", "usable"},    [CHECK_VERSION] = {"version", "", "version"},
    [CHECK_LIBRARY] = {"library", "", "library"}, [CHECK_REASON] = {"reason", "", "reason"},
    [CHECK_ADVICE] = {"advice", "", "try"},       [CHECK_UNTOLD] = {"untold", "", "untold"},
};

#define VERSION_WIDTH 44 // some name all they were built with

static const char *shortened(struct arena *arena, const char *version)
{
  size_t length = strlen(version);
  return length <= VERSION_WIDTH ? version : arena_format(arena, "%.*s…", VERSION_WIDTH - 1, version);
}

static struct table_cell text_cell(const char *text)
{
  return text[0] != 0 ? (struct table_cell){CELL_TEXT, {.text = text}} : (struct table_cell){0};
}

// For people: without the reasons, which are sentences and follow the table. CSV has all.
static void print_table(const struct check_subjects *subjects, enum report_format format, unsigned width,
                        struct buf *out)
{
  struct arena arena = {0};
  struct table_cell *rows = arena_alloc_array(&arena, subjects->count * CHECK_COLUMNS + 1, sizeof *rows);
  for (size_t i = 0; i < subjects->count; i++) {
    const struct probe_result *result = &subjects->items[i].result;
    struct table_cell *row = &rows[i * CHECK_COLUMNS];
    row[CHECK_KIND] = text_cell(kind_keys[subjects->items[i].kind]);
    row[CHECK_NAME] = text_cell(result->name);
    row[CHECK_USABLE] = text_cell(result->is_usable ? "yes" : "no");
    const char *version = format == REPORT_CSV ? result->version : shortened(&arena, result->version);
    row[CHECK_VERSION] = text_cell(version);
    row[CHECK_LIBRARY] = text_cell(result->library);
    if (format == REPORT_CSV) {
      row[CHECK_REASON] = text_cell(result->reason);
      row[CHECK_ADVICE] = text_cell(result->advice);
      row[CHECK_UNTOLD] = text_cell(result->untold);
    }
  }
  struct table table = {
      .id = "check", .columns = columns, .column_count = CHECK_COLUMNS, .rows = rows, .row_count = subjects->count};
  report_tables(&table, 1, format, false, width, out);
  arena_done(&arena);
}

static void put_wrapped(struct buf *out, const char *prefix, const char *text, unsigned width)
{
  buf_text(out, prefix);
  display_wrap(out, text, strlen(prefix), 2, width);
}

static void print_reasons(const struct check_subjects *subjects, unsigned width, struct buf *out)
{
  for (size_t i = 0; i < subjects->count; i++) {
    const struct probe_result *result = &subjects->items[i].result;
    if (result->is_usable)
      continue;
    char prefix[128];
    snprintf(prefix, sizeof prefix, "\n%s %s: ", kind_keys[subjects->items[i].kind], result->name);
    put_wrapped(out, prefix, result->reason, width);
    if (result->advice[0] != 0)
      put_wrapped(out, "  try: ", result->advice, width);
  }
}

static void print_unreported(const struct check_subjects *subjects, unsigned width, struct buf *out)
{
  for (size_t i = 0; i < subjects->count; i++) {
    const struct probe_result *result = &subjects->items[i].result;
    if (!result->is_usable || result->untold[0] == 0)
      continue;
    char prefix[128];
    snprintf(prefix, sizeof prefix, "\n%s %s: ", kind_keys[subjects->items[i].kind], result->name);
    char sentence[128] = "not reported per layer: ";
    size_t used = strlen(sentence);
    for (const char *at = result->untold; *at != 0 && used + 2 < sizeof sentence; at++) {
      sentence[used++] = *at;
      if (*at == ',')
        sentence[used++] = ' ';
    }
    sentence[used] = 0;
    put_wrapped(out, prefix, sentence, width);
  }
}

enum status check_print(const struct check_subjects *subjects, enum report_format format, bool with_machine,
                        const struct peaks *peaks, struct error *err)
{
  struct buf out;
  buf_init(&out, BUF_MAXIMUM_DEFAULT);
  unsigned width = output_width();
  if (format == REPORT_JSON) {
    print_json(subjects, peaks, &out);
  } else {
    print_table(subjects, format, width, &out);
    if (format != REPORT_CSV) {
      print_unreported(subjects, width, &out);
      print_reasons(subjects, width, &out);
    }
    if (format == REPORT_TEXT && (with_machine || peaks != NULL)) {
      buf_text(&out, "\n");
      check_machine(&out, width, peaks);
    }
  }
  return output_buf(&out, err);
}
