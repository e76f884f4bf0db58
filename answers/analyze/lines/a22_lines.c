// SPDX-License-Identifier: Apache-2.0
// A22, lines: time by line of the user's own code, from samples of threads. Figures are totals of the runs.
#include "analyze/a_list.h"
#include "analyze/lines/lines.h"

#include <math.h>
#include <string.h>

static const char *kept(struct question *question, const char *text) // the answer outlives the scratch
{
  return text == NULL ? NULL : arena_copy(question->arena, text, strlen(text));
}

static void put_names(struct question *question, enum lines_by by, const struct line *line)
{
  struct table_builder *table = &question->table;
  if (by <= LINES_BY_FILE)
    table_put(table, "file", cell_text(kept(question, line->file)));
  if (by == LINES_BY_LINE || by == LINES_BY_FUNCTION) {
    table_put(table, "line", cell_int_if(line->line > 0, line->line));
    table_put(table, "function", cell_text(kept(question, line->function)));
  } else if (by == LINES_BY_FILE) {
    table_put_optional(table, "function", cell_text(kept(question, line->function))); // where no file is known
  } else {
    table_put(table, by == LINES_BY_THREAD ? "thread" : "process", cell_text(kept(question, line->name)));
    table_put(table, "process_id", cell_int_if(line->process_id != STORE_NONE, line->process_id));
  }
  if (by == LINES_BY_THREAD)
    table_put(table, "thread_id", cell_int_if(line->thread_id != STORE_NONE, line->thread_id));
}

static void put_row(struct question *question, enum lines_by by, const struct lines *lines, const struct line *line)
{
  struct table_builder *table = &question->table;
  table_row(table);
  put_names(question, by, line);
  table_put(table, "samples", cell_int(line->samples));
  table_put(table, "time_ms", cell_real(line_ns(line) / 1e6));
  table_put_share(table, "time_pct", "program", cell_real(analyze_share_pct(line_ns(line), lines->duration_ns)));
  table_put(table, "python_ms", cell_real(line->python_ns / 1e6));
  table_put(table, "native_ms", cell_real(line->native_ns / 1e6));
  table_put(table, "operator_ms", cell_real(line->operator_ns / 1e6));
  table_put(table, "waiting_ms", cell_real(line->waiting_ns / 1e6));
  table_put(table, "error_ms", cell_real(line->error_ns / 1e6));
  if (by <= LINES_BY_FILE)
    table_put(table, "hottest", cell_text(kept(question, line->hottest)));
}

static void summarize(struct question *question, const struct lines *lines)
{
  struct table_builder *table = &question->table;
  const struct line *total = &lines->total;
  double cpu_ns = line_cpu_ns(total);
  table_summary(table, "samples", cell_int(total->samples));
  table_summary(table, "time_ms", cell_real(line_ns(total) / 1e6));
  table_summary(table, "duration_ms", cell_real(lines->duration_ns / 1e6));
  table_summary(table, "sampled_pct", cell_real(analyze_share_pct(lines->main_ns, lines->duration_ns)));
  table_summary(table, "rate_hz", cell_real(cpu_ns > 0 ? (double)total->samples / cpu_ns * 1e9 : NAN));
  table_summary(table, "python_ms", cell_real(total->python_ns / 1e6));
  table_summary(table, "native_ms", cell_real(total->native_ns / 1e6));
  table_summary(table, "operator_ms", cell_real(total->operator_ns / 1e6));
  table_summary(table, "waiting_ms", cell_real(total->waiting_ns / 1e6));
  table_summary(table, "other_waiting_ms", cell_real(lines->other_waiting_ns / 1e6));
  table_summary(table, "lost", cell_int(lines->dropped));
}

static enum status answer(struct question *question, struct error *err)
{
  struct lines lines;
  enum lines_by by;
  if (!lines_by_parse(question->request->by, &by))
    return error_set(err, STATUS_USE, "cannot give lines by this", question->request->by, "--by function",
                     "known are line, function, file, thread and process");
  XSP_TRY(lines_load(question, by, &lines, err));
  question_uses(question, lines.set);
  put_row(question, by, &lines, &(const struct line){.process_id = STORE_NONE, .thread_id = STORE_NONE});
  table_declared(&question->table, lines.count);
  for (size_t i = 0; i < lines.count; i++)
    put_row(question, by, &lines, &lines.items[i]);
  summarize(question, &lines);
  return STATUS_OK;
}

const struct analysis analysis_a22 = {.id = "A22",
                                      .name = "lines",
                                      .title = "time by line of code",
                                      .needs = "samples of threads",
                                      .main_figure = "time_ms",
                                      .answer = answer};
