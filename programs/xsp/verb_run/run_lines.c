// SPDX-License-Identifier: Apache-2.0
// The lines of the user's code with most time, from A22, and what observations cover, from A1. Called by run_print.c and
// run_json.c.
#include "programs/xsp/verb_run/run_lines.h"

#include "report/display.h"

#include <math.h>
#include <string.h>

#define TOP_LINES 5
#define LEAST_PCT 1 // of the program's time: smaller lines are not printed
#define LABEL "%-9s"

static double covered_of(const struct table *table)
{
  for (size_t i = 0; i < table->summary_count; i++)
    if (strcmp(table->summary[i].key, "covered_pct") == 0)
      return cell_double(&table->summary[i].value);
  return NAN;
}

// Whether an observation is a span: a program without steps is one observation, which covers all of it.
static enum status has_steps(struct store *store, struct arena *arena, bool *ret_has, struct error *err)
{
  struct store_run *runs;
  struct store_observation *observations;
  size_t run_count, count;
  *ret_has = false;
  XSP_TRY(store_runs(store, arena, &runs, &run_count, err));
  for (size_t i = 0; i < run_count && !*ret_has; i++) {
    XSP_TRY(store_observations(store, runs[i].run_id, arena, &observations, &count, err));
    *ret_has = count > 0 && observations[0].span_id != 0;
  }
  return STATUS_OK;
}

enum status run_lines_load(struct store *store, struct analyze_cache *cache, struct run_lines *ret_lines,
                           struct error *err)
{
  struct answers *answers = &ret_lines->answers;
  bool has = false;
  *ret_lines = (struct run_lines){.answers.cache = cache, .covered_pct = NAN};
  XSP_TRY(has_steps(store, &answers->arena, &has, err));
  XSP_TRY(answers_add_top(answers, "A1", store, NULL, 0, err));
  size_t before = answers->tables.count;
  for (size_t i = 0; i < before && has && isnan(ret_lines->covered_pct); i++)
    ret_lines->covered_pct = covered_of(&answers->tables.items[i]);
  XSP_TRY(answers_add_top(answers, "A22", store, NULL, TOP_LINES, err));
  if (answers->tables.count > before)
    ret_lines->table = &answers->tables.items[before];
  return STATUS_OK;
}

void run_lines_done(struct run_lines *lines)
{
  answers_done(&lines->answers);
}

// "train.py:20 step", "dgemm" where no file is known.
static void put_place(const struct table *table, size_t row, struct buf *out)
{
  const char *file = table_text_at(table, row, "file"), *function = table_text_at(table, row, "function");
  double line = table_double_at(table, row, "line");
  if (file != NULL) {
    const char *slash = strrchr(file, '/');
    const char *base = slash != NULL ? slash + 1 : file;
    display_escape(out, base, strlen(base));
    if (!isnan(line))
      buf_format(out, ":%.0f", line);
    buf_text(out, " ");
  }
  if (function != NULL)
    display_escape(out, function, strlen(function));
  else if (file == NULL)
    buf_text(out, "unknown code");
}

static void put_row(const struct table *table, size_t row, struct buf *out)
{
  static const struct {
    const char *key, *what;
  } parts[] = {
      {"python_ms", "Python"}, {"native_ms", "native"}, {"operator_ms", "operators"}, {"waiting_ms", "waiting"}};
  double time_ms = table_double_at(table, row, "time_ms"), pct = table_double_at(table, row, "time_pct");
  const char *hottest = table_text_at(table, row, "hottest"), *joint = " (";
  buf_format(out, LABEL "%.1f %% of the program's time: ", row == 0 ? "lines" : "", pct);
  put_place(table, row, out);
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
    double part_pct = 100 * table_double_at(table, row, parts[i].key) / time_ms;
    if (part_pct < 5)
      continue;
    buf_format(out, "%s%.0f %% %s", joint, part_pct, parts[i].what);
    joint = ", ";
  }
  buf_text(out, *joint == ',' ? ")" : "");
  if (hottest != NULL) {
    buf_text(out, ", most in ");
    display_escape(out, hottest, strlen(hottest));
  }
  buf_text(out, "\n");
}

void run_lines_put(const struct run_lines *lines, struct buf *out)
{
  if (!isnan(lines->covered_pct))
    buf_format(out, LABEL "%.3g %% of the program's time is in observations\n", "covered", lines->covered_pct);
  if (lines->table == NULL)
    return;
  for (size_t row = 0; row < lines->table->row_count; row++)
    if (table_double_at(lines->table, row, "time_pct") >= LEAST_PCT)
      put_row(lines->table, row, out);
}
