// SPDX-License-Identifier: Apache-2.0
// Tables, reasons and JSON of `xsp check`. Called by verb_check.c.
#include "base/json_write.h"
#include "base/slice.h"
#include "programs/xsp/output.h"
#include "programs/xsp/verb_check/check.h"
#include "report/display.h"
#include "table/builder.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *kind_of(const struct check_subject *subject)
{
  return subject->predictor != NULL ? "predictor" : "tracer";
}

static void json_text(struct json_writer *json, const char *key, const char *text)
{
  json_member_string(json, key, text[0] != 0 ? text : NULL);
}

static void print_peaks(struct json_writer *json, const struct peaks *peaks)
{
  json_object(json);
  json_text(json, "peaks", "cpu");
  json_member_bool(json, "usable", !isnan(peaks->flops_per_s));
  json_member_double(json, "peak_flops_per_s", peaks->flops_per_s);
  json_member_double(json, "memory_bandwidth_bytes_per_s", peaks->is_beyond_cache ? peaks->bandwidth_bytes_per_s : NAN);
  json_text(json, "instructions", peaks->instructions);
  json_member_int(json, "threads", peaks->threads);
  json_object_end(json);
}

static void print_json(const struct check_subjects *subjects, const struct peaks *peaks, struct buf *out)
{
  struct json_writer json;
  json_start(&json, out);
  json_array(&json);
  for (size_t i = 0; i < subjects->list.count; i++) {
    const struct check_subject *subject = &subjects->list.items[i];
    const struct probe_result *result = &subject->result;
    json_object(&json);
    json_text(&json, kind_of(subject), result->name);
    json_member_bool(&json, "usable", result->is_usable);
    json_text(&json, "library", result->library);
    json_text(&json, "version", result->version);
    json_text(&json, "reason", result->reason);
    json_text(&json, "advice", result->advice);
    if (subject->predictor != NULL)
      json_text(&json, "untold", result->untold);
    json_object_end(&json);
  }
  if (peaks != NULL)
    print_peaks(&json, peaks);
  json_array_end(&json);
  buf_text(out, "\n");
}

#define VERSION_WIDTH 44 // some name all they were built with

static const char *shortened(struct arena *arena, const char *version)
{
  size_t length = strlen(version);
  return length <= VERSION_WIDTH ? version : arena_format(arena, "%.*s…", VERSION_WIDTH - 1, version);
}

// For people: without the reasons, which are sentences and follow the table. CSV has all.
static void print_table(const struct check_subjects *subjects, enum report_format format, unsigned width,
                        struct buf *out)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct table_builder builder;
  struct table table = {.id = "check"};
  bool is_csv = report_format_is_csv(format);
  table_start(&builder, &arena);
  for (size_t i = 0; i < subjects->list.count; i++) {
    const struct check_subject *subject = &subjects->list.items[i];
    const struct probe_result *result = &subject->result;
    table_row(&builder);
    table_put(&builder, "kind", cell_text(kind_of(subject)));
    table_put(&builder, "name", cell_text(result->name));
    table_put(&builder, "usable", cell_text(result->is_usable ? "yes" : "no"));
    table_put(&builder, "version", cell_text(is_csv ? result->version : shortened(&arena, result->version)));
    table_put(&builder, "library", cell_text(result->library));
    table_put(&builder, "reason", cell_text(is_csv ? result->reason : NULL));
    table_put(&builder, "advice", cell_text(is_csv ? result->advice : NULL));
    table_put(&builder, "untold", cell_text(is_csv ? result->untold : NULL));
  }
  table_answer(&builder, &table);
  report_tables(&table, 1, format, false, width, out);
}

static void put_wrapped(struct buf *out, const char *prefix, const char *text, unsigned width)
{
  buf_text(out, prefix);
  display_wrap(out, text, strlen(prefix), 2, width);
}

static void print_sentences(const struct check_subjects *subjects, bool is_usable, unsigned width, struct buf *out)
{
  for (size_t i = 0; i < subjects->list.count; i++) {
    const struct check_subject *subject = &subjects->list.items[i];
    const struct probe_result *result = &subject->result;
    if (result->is_usable != is_usable || (is_usable && result->untold[0] == 0))
      continue;
    char prefix[128];
    snprintf(prefix, sizeof prefix, "\n%s %s: ", kind_of(subject), result->name);
    if (!is_usable) {
      put_wrapped(out, prefix, result->reason, width);
      if (result->advice[0] != 0)
        put_wrapped(out, "  try: ", result->advice, width);
      continue;
    }
    struct buf sentence SCOPED(buf_done) = {0};
    buf_text(&sentence, "not reported per layer:");
    struct slice rest = slice_of(result->untold), part;
    while (slice_cut(&rest, ',', &part))
      buf_format(&sentence, " %.*s%s", (int)part.length, part.data, rest.data != NULL ? "," : "");
    put_wrapped(out, prefix, sentence.data, width);
  }
}

enum status check_print(const struct check_subjects *subjects, enum report_format format, bool with_machine,
                        const struct peaks *peaks, struct error *err)
{
  struct buf out = {0};
  unsigned width = output_width();
  if (format == REPORT_JSON) {
    print_json(subjects, peaks, &out);
  } else {
    print_table(subjects, format, width, &out);
    if (!report_format_is_csv(format)) {
      print_sentences(subjects, true, width, &out);
      print_sentences(subjects, false, width, &out);
    }
    if (format == REPORT_TEXT && (with_machine || peaks != NULL)) {
      buf_text(&out, "\n");
      check_machine(&out, width, peaks);
    }
  }
  return output_buf(&out, err);
}
