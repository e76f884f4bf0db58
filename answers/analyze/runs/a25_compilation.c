// SPDX-License-Identifier: Apache-2.0
// A25, compilation: the functions that frameworks compiled or traced, and sessions that were made, by reason and by the program's
// line that called them.
#include "analyze/a_list.h"
#include "analyze/findings/own_lines.h"
#include "analyze/lines/paths.h"
#include "analyze/runs/a1_coverage.h"
#include "analyze/runs/compilations.h"

#include "base/sorted.h"

#include <math.h>

struct row {
  struct compilation first; // of those that it has
  size_t count;
  double ns, most_ns;
  double line_ns;   // of what has a call path
  uint32_t context; // of the program's line in the first of these; 0: none
  size_t number;    // the kind of its time in `lines`
};
struct table_of {
  struct question *question;
  size_t *row_of; // of the run's compilations
  VECTOR(struct row) rows;
  struct own_lines lines;
  size_t count, again;
  double ns;
};

static size_t row_at(struct table_of *of, const struct compilation *compilation)
{
  size_t at = 0;
  while (at < of->rows.count && !(compilation_is_of_one(&of->rows.items[at].first, compilation) &&
                                  compilation_is_alike(&of->rows.items[at].first, compilation)))
    at++;
  if (at == of->rows.count)
    *vector_add(&of->rows) = (struct row){.first = *compilation, .number = at};
  return at;
}

static void add_line(void *context, size_t compilation, uint32_t context_id, double ns)
{
  struct table_of *of = context;
  struct row *row = &of->rows.items[of->row_of[compilation]];
  own_lines_add(&of->lines, context_id, (unsigned)row->number, ns);
  row->line_ns += ns;
  if (row->context == 0)
    row->context = path_own_line(of->lines.paths, context_id);
}

static enum status add_run(struct table_of *of, const struct view_run *run, struct error *err)
{
  struct compilations found;
  XSP_TRY(compilations_load(of->question, run, &found, err));
  if (found.count == 0)
    return STATUS_OK;
  of->row_of = arena_alloc_array(of->question->scratch, found.count, sizeof *of->row_of);
  for (size_t i = 0; i < found.count; i++) {
    const struct compilation *one = &found.items[i];
    double ns = (double)one->duration_ns;
    of->row_of[i] = row_at(of, one);
    struct row *row = &of->rows.items[of->row_of[i]];
    row->count++;
    row->ns += ns;
    row->most_ns = fmax(row->most_ns, ns);
    of->count++;
    of->again += compilation_is_again(one);
    of->ns += ns;
    if (one->context_id != 0)
      add_line(of, i, one->context_id, ns);
  }
  return compilations_samples(of->question, run, &found, add_line, of, err);
}

SORTED_BY(by_time, struct row, FALLING(ns) ?: RISING(number))

static struct table_cell text(struct table_of *of, const char *value)
{
  return cell_text(value != NULL ? arena_format(of->question->table.arena, "%s", value) : NULL);
}

static void put_row(struct table_of *of, const struct row *row)
{
  struct table_builder *table = &of->question->table;
  const struct compilation *first = &row->first;
  const struct own_line *line = own_lines_main(&of->lines, (unsigned)row->number, row->line_ns);
  uint32_t context = line != NULL ? line->context : row->context; // no function has it: the module's own code
  const struct store_frame *from = context != 0 ? own_lines_frame(&of->lines, context) : NULL;
  table_row(table);
  table_put(table, "function", text(of, first->function));
  table_put(table, "kind", cell_text(compilation_kind_name(first->kind)));
  table_put(table, "reason", text(of, first->reason));
  table_put(table, "file", text(of, from != NULL ? from->file : NULL));
  table_put(table, "line", cell_int_if(from != NULL, from != NULL ? from->line : 0));
  table_put(table, "count", cell_int((int64_t)row->count));
  table_put(table, "total_ms", cell_real(row->ns / 1e6));
  table_put(table, "max_ms", cell_real(row->most_ns / 1e6));
  table_put_share(table, "share_pct", "all", cell_real(analyze_share_pct(row->ns, of->ns)));
  table_put_optional(table, "graph_break", text(of, first->graph_break));
  table_put_optional(table, "break_source", text(of, first->break_source));
  table_put_optional(table, "function_file", text(of, first->file));
  table_put_optional(table, "function_line", cell_int_if(first->line > 0, first->line));
}

static enum status answer_from(struct table_of *of, const struct view_set *set, struct error *err)
{
  struct question *question = of->question;
  struct store_call_paths paths;
  struct coverage coverage;
  XSP_TRY(store_call_paths(question->view->store, question->scratch, &paths, err));
  of->lines.paths = &paths;
  for (size_t i = 0; i < set->run_count; i++)
    XSP_TRY(add_run(of, set->runs[i], err));
  if (of->count == 0)
    return question_lacks(question, err,
                          "nothing was compiled: live torch.compile, jax.jit, tf.function and sessions of ONNX "
                          "Runtime have spans of category compile");
  XSP_TRY(analyze_coverage(question, set, &coverage, err));
  question_uses(question, set);
  vector_sort(&of->rows, by_time);
  for (size_t i = 0; i < of->rows.count; i++)
    put_row(of, &of->rows.items[i]);
  table_summary(&question->table, "compile_count", cell_int((int64_t)of->count));
  table_summary(&question->table, "recompile_count", cell_int((int64_t)of->again));
  table_summary(&question->table, "compile_total_ms", cell_real(of->ns / 1e6));
  table_summary(&question->table, "of_program_pct", cell_real(analyze_share_pct(of->ns / 1e6, coverage.program_ms)));
  return STATUS_OK;
}

static enum status answer(struct question *question, struct error *err)
{
  struct table_of of = {.question = question};
  const struct view_set *deepest = view_deepest(question->view);
  enum status status =
      deepest != NULL ? answer_from(&of, deepest, err) : question_lacks(question, err, "it has no runs");
  vector_done(&of.rows);
  own_lines_done(&of.lines);
  return status;
}

const struct analysis analysis_a25 = {.id = "A25",
                                      .name = "compilation",
                                      .title = "compilation",
                                      .needs = "compilations",
                                      .main_figure = "total_ms",
                                      .is_of_program = true,
                                      .answer = answer};
