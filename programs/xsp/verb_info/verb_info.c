// SPDX-License-Identifier: Apache-2.0
// xsp info: what a file holds: experiments, system, runs, spans, and how far they can be trusted.
#include "programs/xsp/output.h"
#include "programs/xsp/reader.h"
#include "programs/xsp/verb_info/info_json.h"
#include "report/display.h"
#include "report/tables/figure.h"
#include "table/builder.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define KEY_COLUMNS 24u // facts with longer names stick out

// ---- text ------------------------------------------------------------------------------------------------------------
static void put_field(struct buf *out, const char *label, const char *text, unsigned width)
{
  if (text == NULL || text[0] == 0)
    return;
  buf_format(out, "  %-11s ", label);
  display_wrap(out, text, 14, 14, width);
}

// With its note about itself: the file's, or each run's where there are several experiments.
static void put_framework(struct buf *out, const struct info_file *file, const struct info_experiment *info,
                          unsigned width)
{
  const struct store_experiment *experiment = info->experiment;
  const char *note = info_note(file, 0, "framework");
  if (note == NULL && info->run_count > 0)
    note = info_note(file, info->runs[0].run->run_id, "framework");
  struct buf text SCOPED(buf_done) = {0};
  buf_text(&text, experiment->framework != NULL ? experiment->framework : "");
  if (experiment->framework_version != NULL)
    buf_format(&text, " %s", experiment->framework_version);
  if (note != NULL)
    buf_format(&text, " (%s)", note);
  put_field(out, "framework", text.data, width);
}

// Notes of `xsp run` about the experiment as a whole.
static void put_notes(struct buf *out, const struct info_file *file, unsigned width)
{
  static const char *const keys[] = {"model_range", "level_sets", "resolve",   "interrupted",
                                     "stdin",       "failed",     "unreadable"};
  for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
    put_field(out, "note", info_note(file, 0, keys[i]), width);
  put_field(out, "folded", info_note(file, 0, "folded"), width); // spans that are in the calling context tree only
}

static void put_created(struct buf *out, const struct store_experiment *experiment, unsigned width)
{
  time_t seconds = (time_t)(experiment->created_ns / 1000000000);
  struct tm utc;
  char when[64] = "";
  if (experiment->created_ns > 0 && gmtime_r(&seconds, &utc) != NULL)
    strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S UTC", &utc);
  char text[160];
  snprintf(text, sizeof text, "%s%sby xsp %s", when, when[0] != 0 ? ", " : "",
           experiment->xsp_version != NULL ? experiment->xsp_version : "of unknown version");
  put_field(out, "created", text, width);
}

static void put_number(struct buf *out, const struct store_system_value *value)
{
  const char *unit = table_unit(value->key);
  struct figure_style style = report_figure_style(unit, fabs(value->number), false);
  if (unit[0] != 0 && isfinite(value->number))
    buf_format(out, "%.*f %s", style.decimals, value->number * style.factor, style.unit);
  else
    buf_format(out, "%.15g", value->number);
}

// One fact a line, the facts' names aligned.
static void put_values(struct buf *out, const char *label, const struct store_system_value *values, size_t count,
                       unsigned width)
{
  struct buf text SCOPED(buf_done) = {0}, key SCOPED(buf_done) = {0};
  size_t longest = 0;
  for (size_t i = 0; i < count; i++)
    longest = strlen(values[i].key) > longest ? strlen(values[i].key) : longest;
  if (longest > KEY_COLUMNS)
    longest = KEY_COLUMNS;
  for (size_t i = 0; i < count; i++) {
    const struct store_system_value *value = &values[i];
    buf_clear(&text);
    buf_clear(&key);
    if (value->is_number)
      put_number(&text, value);
    else if (value->text != NULL && text_ends_with(value->key, "_packages"))
      display_list(&text, value->text);
    else
      buf_text(&text, value->text != NULL ? value->text : "");
    display_escape(&key, value->key, strlen(value->key));
    buf_format(out, "  %-11s %-*s  ", i == 0 ? label : "", (int)longest, key.data);
    display_wrap(out, text.data, 16 + longest, 16 + longest, width);
  }
}

// Columns with a value in any run; drops are always shown.
struct run_shows {
  bool level[XSP_LEVEL_COUNT];
  bool samples, open, ambiguous;
};

static struct run_shows what_runs_show(const struct info_experiment *info)
{
  struct run_shows shows = {0};
  for (size_t i = 0; i < info->run_count; i++) {
    for (unsigned level = 0; level < XSP_LEVEL_COUNT; level++)
      shows.level[level] |= info->runs[i].spans_by_level[level] > 0;
    shows.samples |= info->runs[i].sample_count > 0;
    shows.open |= info->runs[i].open_count > 0;
    shows.ambiguous |= info->runs[i].parents[BASIS_AMBIGUOUS] > 0;
  }
  return shows;
}

static struct table_cell count_cell(size_t count, bool is_shown)
{
  return is_shown ? cell_int((int64_t)count) : (struct table_cell){0};
}

static void put_run(struct table_builder *table, const struct info_run *info, const struct run_shows *shows)
{
  static const char *const keys[XSP_LEVEL_COUNT] = {"application_spans", "model_spans", "layer_spans", "library_spans",
                                                    "kernel_spans"};
  const struct store_run *run = info->run;
  char levels[LEVEL_SET_TEXT_SIZE];
  level_set_format(run->levels, levels);
  table_row(table);
  table_put(table, "run_id", cell_int(run->run_id));
  table_put(table, "levels", cell_text(arena_copy(table->arena, levels, strlen(levels))));
  table_put(table, "batch_size", count_cell((size_t)run->batch_size, run->batch_size > 0));
  table_put(table, "observations", count_cell(info->observation_count, true));
  table_put(table, "warmup_observations", count_cell(info->warmup_count, true));
  for (unsigned level = 0; level < XSP_LEVEL_COUNT; level++)
    table_put_column(table, &(struct table_column){.key = keys[level], .unit = "spans", .label = level_name(level)},
                     count_cell(info->spans_by_level[level], shows->level[level]));
  table_put(table, "samples", count_cell(info->sample_count, shows->samples));
  table_put(table, "dropped", cell_int(run->dropped_count));
  table_put(table, "open", count_cell(info->open_count, shows->open));
  table_put(table, "without_parent", count_cell(info->parents[BASIS_NONE], true));
  table_put(table, "ambiguous", count_cell(info->parents[BASIS_AMBIGUOUS], shows->ambiguous));
  table_put(table, "own_pct", cell_real(run->own_pct));
}

static void print_runs(const struct info_experiment *info, enum report_format format, unsigned width, struct buf *out)
{
  static const struct store_run none;
  struct arena arena SCOPED(arena_done) = {0};
  struct table_builder builder;
  struct table table = {.id = "info"};
  struct run_shows shows = what_runs_show(info);
  table_start(&builder, &arena);
  put_run(&builder, &(const struct info_run){.run = &none}, &shows);
  table_declared(&builder, info->run_count);
  for (size_t i = 0; i < info->run_count; i++)
    put_run(&builder, &info->runs[i], &shows);
  table_answer(&builder, &table);
  report_tables(&table, 1, format, false, width, out);
}

static void print_text(const struct info_file *file, enum report_format format, unsigned width, struct buf *out)
{
  bool is_markdown = format == REPORT_MARKDOWN;
  buf_text(out, is_markdown ? "## " : "");
  display_escape(out, file->path, strlen(file->path));
  buf_format(out, ": format %d", file->format_version);
  if (file->size_bytes >= 1000000)
    buf_format(out, ", %.1f MB", (double)file->size_bytes / 1e6);
  else if (file->size_bytes >= 0)
    buf_format(out, ", %.1f kB", (double)file->size_bytes / 1e3);
  buf_text(out, "\n");
  for (size_t i = 0; i < file->experiment_count; i++) {
    const struct store_experiment *experiment = file->experiments[i].experiment;
    buf_format(out, "\n%sexperiment %" PRId64 "\n", is_markdown ? "### " : "", experiment->experiment_id);
    buf_text(out, is_markdown ? "\n```\n" : "");
    put_field(out, "name", experiment->name, width);
    put_field(out, "workload", experiment->workload, width);
    put_framework(out, file, &file->experiments[i], width);
    put_field(out, "command", experiment->command, width);
    put_created(out, experiment, width);
    put_notes(out, file, width);
    put_values(out, "model", file->experiments[i].workload, file->experiments[i].workload_count, width);
    put_values(out, "system", file->experiments[i].system, file->experiments[i].system_count, width);
    buf_text(out, is_markdown ? "```\n\n" : "\n");
    print_runs(&file->experiments[i], format, width, out);
  }
}

static void print_csv(const struct info_file *file, enum report_format format, struct buf *out)
{
  for (size_t i = 0; i < file->experiment_count; i++) {
    if (i > 0)
      buf_text(out, "\r\n");
    print_runs(&file->experiments[i], format, 0, out);
  }
}

static enum status run(const struct invocation *invocation, struct error *err)
{
  enum report_format format;
  XSP_TRY(verb_reader_format(invocation, &format, err));
  struct store *store = NULL;
  XSP_TRY(verb_reader_open(invocation->arguments[0], &store, err));
  struct arena arena SCOPED(arena_done) = {0};
  struct info_file file;
  enum status status = correlate_info_collect(store, &arena, &file, err);
  if (status == STATUS_OK) {
    struct buf out = {0};
    if (format == REPORT_JSON)
      info_print_json(&file, &out);
    else if (report_format_is_csv(format))
      print_csv(&file, format, &out);
    else
      print_text(&file, format, output_width(), &out);
    status = output_buf(&out, err);
  }
  store_close(store);
  return status;
}

static const struct verb_example examples[] = {
    {"xsp info out.xsp", "which runs there are, and whether anything was lost"},
    {"xsp info out.xsp --json", "the same for a script"},
    {0},
};

const struct verb verb_info = {
    .name = "info",
    .summary = "list what a file holds: experiments, system, runs, spans, losses",
    .synopsis = "FILE [OPTION...]",
    .description =
        "Describes an .xsp file: its experiments with the system they ran on, and for each run the levels that were "
        "on, the batch size, the observations (warm-up among them), the spans at each level, the samples of threads, "
        "the records "
        "that were dropped, the spans that never finished (open), the spans without a parent (roots) or with an "
        "ambiguous one, "
        "and xsp's own measured share of the time. --json has the notes that were made of the file and of each run "
        "besides, and for runs of xsp run --resolve how many parents were ambiguous before and after.",
    .least_arguments = 1,
    .most_arguments = 1,
    .is_reader = true,
    .examples = examples,
    .see_also = "analyze, sql",
    .run = run,
};
