// SPDX-License-Identifier: Apache-2.0
// xsp export: a file for another tool.
#include "base/json_write.h"
#include "base/slice.h"
#include "programs/xsp/output.h"
#include "programs/xsp/publish_options.h"
#include "programs/xsp/reader.h"

#include <string.h>

// Of a name's ending, behind a dot; 0: it is another one.
static size_t ending_length(const char *path, const char *ending)
{
  size_t length = strlen(ending), path_length = strlen(path);
  bool is_it =
      path_length > length && path[path_length - length - 1] == '.' && strcmp(path + path_length - length, ending) == 0;
  return is_it ? length : 0;
}

// The format of --to, else the one with the longest ending that the output's name has: .speedscope.json before .json.
static enum status chosen_format(const struct invocation *invocation, const char *path, const char **ret_format,
                                 struct error *err)
{
  size_t longest = 0;
  *ret_format = invocation_value(invocation, "to");
  for (size_t i = 0; invocation_value(invocation, "to") == NULL && report_exports[i] != NULL; i++) {
    size_t name = ending_length(path, report_exports[i]->name);
    size_t length = ending_length(path, report_exports[i]->extension);
    length = length > name ? length : name;
    if (length > longest)
      *ret_format = report_exports[i]->name;
    longest = length > longest ? length : longest;
  }
  const struct report_export *export;
  return *ret_format != NULL ? report_export_find(*ret_format, &export, err)
                             : error_set(err, STATUS_USE, "wrong use", path, "--to perfetto, or `xsp help export`",
                                         "its ending is of no known format");
}

// Timelines cannot show other clocks next to wall time: reports tracks that are left out.
static enum status report_foreign_clocks(struct store *store, const char *format, struct error *err)
{
  if (!text_is_one_of(format, "perfetto", "chrome", "speedscope", "folded", "pprof"))
    return STATUS_OK;
  struct arena arena SCOPED(arena_done) = {0};
  struct store_run *runs = NULL;
  size_t run_count = 0, left_out = 0;
  const char *clock = NULL;
  XSP_TRY(store_runs(store, &arena, &runs, &run_count, err));
  for (size_t i = 0; i < run_count; i++) {
    struct store_track *tracks = NULL;
    size_t track_count = 0;
    XSP_TRY(store_tracks(store, runs[i].run_id, &arena, &tracks, &track_count, err));
    for (size_t j = 0; j < track_count; j++)
      if (tracks[j].clock != NULL) {
        clock = tracks[j].clock;
        left_out++;
      }
  }
  if (left_out > 0)
    output_message("xsp: left out: %zu track%s with a clock of %s own (%s), which a timeline cannot show next to wall "
                   "time; --to csv has %s",
                   left_out, left_out == 1 ? "" : "s", left_out == 1 ? "its" : "their", clock,
                   left_out == 1 ? "it" : "them");
  return STATUS_OK;
}

// Receivers of OpenTelemetry take all times for Unix times.
static enum status report_own_zero(struct store *store, struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct store_run *runs = NULL;
  size_t run_count = 0, count = 0;
  XSP_TRY(store_runs(store, &arena, &runs, &run_count, err));
  for (size_t i = 0; i < run_count; i++)
    count += !runs[i].epoch_is_unix;
  if (count > 0)
    output_message(
        "xsp: times of %zu of %zu runs do not count from 1970, since the source did not say when it was recorded: "
        "databases file them under 1970, and one with a time to live drops them at once",
        count, run_count);
  return STATUS_OK;
}

// ---- --publish -------------------------------------------------------------------------------------------------------
static enum status check_publishing(const struct invocation *invocation, struct error *err)
{
  static const char *const of_files[] = {"output", "raw", "metric", "force"};
  const char *format = invocation_value(invocation, "to");
  for (size_t i = 0; i < sizeof of_files / sizeof *of_files; i++)
    if (invocation_has(invocation, of_files[i]))
      return error_set(err, STATUS_USE, "wrong use", of_files[i], "one of the two",
                       "with --publish no file is written");
  return format == NULL || text_is_one_of(format, "otlp", "otlp-proto")
             ? STATUS_OK
             : error_set(err, STATUS_USE, "wrong use", "--to", "--to otlp, or otlp-proto", "'%s' cannot be published",
                         format);
}

static enum status print_published(const struct publisher *publisher, const struct publish_result *result,
                                   struct error *err)
{
  struct buf text = {0};
  struct json_writer json;
  json_start(&json, &text);
  json_object(&json);
  json_member_string(&json, "url", publish_url(publisher));
  json_member_int(&json, "requests", (int64_t)result->request_count);
  json_member_int(&json, "spans", (int64_t)result->span_count);
  json_member_int(&json, "rejected_spans", (int64_t)result->rejected_count);
  json_member_int(&json, "refused_spans", (int64_t)result->refused_count);
  json_member_int(&json, "waiting_spans", (int64_t)result->waiting_count);
  json_object_end(&json);
  buf_text(&text, "\n");
  return output_buf(&text, err);
}

static enum status publish(const struct invocation *invocation, struct publisher *publisher, struct error *err)
{
  const char *format = invocation_value(invocation, "to");
  struct store *store = NULL;
  struct publish_result result;
  XSP_TRY(check_publishing(invocation, err));
  if (invocation->argument_count > 0)
    XSP_TRY(verb_reader_open(invocation->arguments[0], &store, err));
  enum status status =
      publish_options_now(publisher, store, format != NULL && strcmp(format, "otlp") == 0, &result, err);
  if (status == STATUS_OK && store != NULL)
    status = report_own_zero(store, err);
  store_close(store);
  enum status printed = STATUS_OK;
  if (invocation_has(invocation, "json"))
    printed = print_published(publisher, &result, status == STATUS_OK ? err : NULL);
  return status != STATUS_OK ? status : printed;
}

// ---- files -----------------------------------------------------------------------------------------------------------
static enum status export_file(const struct invocation *invocation, struct error *err)
{
  const char *path = invocation_value(invocation, "output");
  if (invocation_has(invocation, "json"))
    return option_refused("json", NULL, "--publish URL", "it acts on --publish, which is missing", err);
  if (invocation->argument_count == 0)
    return error_set(err, STATUS_USE, "wrong use", "export", "`xsp help export`", "its arguments are missing");
  if (path == NULL)
    return error_set(err, STATUS_USE, "wrong use", "export", "-o OUT, or --publish URL",
                     "the output's name is missing");
  const char *format = NULL;
  XSP_TRY(chosen_format(invocation, path, &format, err));
  struct store *store = NULL;
  XSP_TRY(verb_reader_open(invocation->arguments[0], &store, err));
  struct output_steps steps = {.path = path, .units = "spans"};
  const struct report_export_options options = {invocation_has(invocation, "force"),
                                                invocation_has(invocation, "raw"),
                                                invocation_value(invocation, "metric"),
                                                {output_headway_step, &steps}};
  enum status status = report_export_file(store, format, path, &options, err);
  output_headway_end(&steps.headway);
  output_note_reader(path, status, err);
  if (status == STATUS_OK)
    status = report_foreign_clocks(store, format, err);
  if (status == STATUS_OK && text_is_one_of(format, "otlp", "otlp-proto"))
    status = report_own_zero(store, err);
  store_close(store);
  if (status == STATUS_OK && strcmp(path, "-") != 0)
    output_note("xsp: wrote %s%s", path,
                strcmp(format, "perfetto") == 0 ? " (open it in https://ui.perfetto.dev)" : "");
  return status;
}

static enum status run(const struct invocation *invocation, struct error *err)
{
  struct publisher *publisher = NULL;
  enum status status = publish_options(invocation, &publisher, err);
  if (status == STATUS_OK)
    status = publisher != NULL ? publish(invocation, publisher, err) : export_file(invocation, err);
  publish_close(publisher);
  return status;
}

static const struct option_description options[] = {
    {"to", 0, "FORMAT", NULL, 0,
     "perfetto, chrome, otlp, otlp-proto, sqlite, csv, speedscope, folded, pprof or otlp-profiles. Default: what "
     "the output's ending says (.pftrace, .json, .jsonl or .otlp, .pb or .otlp-proto, .sqlite or .db, .csv, "
     ".speedscope.json, .folded, .pb.gz, .otlp-profiles)."},
    {"output", 'o', "OUT", NULL, 0,
     "The file to write. It appears when it is complete. -: stdout, in every format but sqlite."},
    {"raw", 0, NULL, NULL, 0,
     "In csv: texts as recorded. Without it, a text that a spreadsheet would take for a formula gets a ' in front of "
     "it, and control characters are escaped."},
    {"metric", 0, "NAME", NULL, 0,
     "Weigh folded stacks by this metric of table context_metric (samples, samples_REASON, bytes, flops, …), not by "
     "own time."},
    OPTION_FORCE,
    OPTIONS_PUBLISH("Write no file: send the spans, as otlp-proto or, with --to otlp, as JSON,"),
    {"json", 0, NULL, NULL, 0, "With --publish: print what became of the spans as JSON."},
    {0},
};
static const struct verb_example examples[] = {
    {"xsp export out.xsp --to perfetto -o out.pftrace", "a timeline, to be opened in https://ui.perfetto.dev"},
    {"xsp export out.xsp --to otlp -o out.jsonl", "spans for an OpenTelemetry collector; `xsp import` reads them back"},
    {"xsp export out.xsp --publish http://127.0.0.1:4318",
     "send the spans to an OpenTelemetry collector (docs/publish.md)"},
    {"xsp export out.xsp --to folded -o - | flamegraph.pl >out.svg", "a flame graph"},
    {"xsp export out.xsp -o out.pb.gz && go tool pprof -http : out.pb.gz", "the same in pprof, from any function"},
    {"xsp export out.xsp --to sqlite -o out.sqlite", "plain tables for tools that read SQLite"},
    {0},
};

static void put_formats(struct buf *out)
{
  for (size_t i = 0; report_exports[i] != NULL; i++)
    buf_format(out, "%s  %-13s  %s", i > 0 ? "\n" : "", report_exports[i]->name, report_exports[i]->summary);
}

const struct verb verb_export = {
    .name = "export",
    .summary = "write a file for another tool: Perfetto, Chrome, OpenTelemetry, SQLite, CSV, flame graphs",
    .synopsis = "FILE {--to FORMAT -o OUT | --publish URL} [OPTION...]",
    .description = "Converts an .xsp file.\n\n" VERB_LIST "\n\n"
                   "Samples of a GPU's instructions are a profile of their own in speedscope, a value of their own in "
                   "pprof, and in folded with --metric samples.\n\n"
                   "A context is a span's call path where it has one (Python functions, operators around it), else the "
                   "spans around it. Spans that cross each other on one track are drawn on further lanes of it. Tracks "
                   "with a clock of their own (a simulator's) are not in perfetto, chrome, speedscope, folded and "
                   "pprof.\n\n"
                   "With --publish nothing is written to a file. Spans that could not be sent before go first; without "
                   "FILE only they are sent.",
    .put_list = put_formats,
    .least_arguments = 0, // with --publish
    .most_arguments = 1,
    .options = options,
    .examples = examples,
    .see_also = "analyze, sql",
    .run = run,
};
