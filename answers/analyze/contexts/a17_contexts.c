// SPDX-License-Identifier: Apache-2.0
// A17, calling contexts: where the time goes, by call path. Answers of runs with spans and of those whose spans were folded
// (`xsp run --aggregate`) come from one tree (correlate_context_rows). Figures are totals of the runs.
#include "analyze/a_list.h"
#include "analyze/contexts/rows.h"
#include "base/saturate.h"
#include "base/sorted.h"
#include "correlate/correlate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xsp/call_path.h>

enum metric { HOST, DEVICE, RANGE, CPU, WAIT, LAUNCHES, BYTES, FLOPS, METRICS };
static const char *const metrics[METRICS] = {"host_ns", "device_ns", "range_ns", "cpu_ns",
                                             "wait_ns", "launches",  "bytes",    "flops"};

struct figure_of { // one metric of a context
  int64_t count, sum, own;
};
struct line {
  size_t context; // id; 0: not in the runs
  int64_t weight; // its own time, on devices where there are any; of samples where it has no span
  struct figure_of of[METRICS];
};
struct lines {
  struct question *question;
  struct context_rows rows;
  struct line *all; // by id
  size_t count;     // that have a figure, in front after sorting
  bool has_device;
  bool has_samples; // of threads: of folded runs alone. Others have A22, and far more paths of samples than of spans
};

static void add_rows(struct lines *lines, const struct store_context_metric *rows, size_t count)
{
  for (size_t i = 0; i < count; i++)
    for (enum metric metric = 0; metric < METRICS; metric++) {
      if (strcmp(rows[i].metric, metrics[metric]) != 0 || (!lines->has_samples && (metric == CPU || metric == WAIT)))
        continue;
      struct line *line = &lines->all[rows[i].context_id];
      struct figure_of *figure = &line->of[metric];
      line->context = (size_t)rows[i].context_id;
      figure->count += rows[i].count;
      figure->sum = saturate_add(figure->sum, rows[i].sum);
      figure->own = saturate_add(figure->own, rows[i].exclusive_sum);
      lines->has_device |= metric == DEVICE;
    }
}

SORTED_BY(compare_lines, struct line, FALLING(weight) ?: RISING(context))

static struct table_cell milliseconds(const struct figure_of *figure, int64_t value)
{
  return cell_real(figure->count > 0 ? (double)value / 1e6 : NAN);
}

static void put_row(struct lines *lines, const struct line *line)
{
  static const char *const kinds[XSP_FRAME_KINDS] = {"python", "framework", "native", "device"};
  struct table_builder *table = &lines->question->table;
  const struct store_frame *frame = analyze_context_frame(&lines->rows, line->context);
  const struct figure_of *host = &line->of[HOST], *device = &line->of[DEVICE], *range = &line->of[RANGE];
  const struct figure_of *cpu = &line->of[CPU];
  struct arena *arena = lines->question->arena;
  table_row(table);
  table_put_as(table, "name", "context",
               cell_text(frame->name != NULL ? arena_copy(arena, frame->name, strlen(frame->name)) : NULL));
  table_put(table, "kind", cell_text(kinds[frame->kind]));
  table_put(table, "called_from", cell_text(analyze_context_called_from(&lines->rows, line->context, arena)));
  table_put(table, "count",
            cell_int(host->count > 0     ? host->count
                     : device->count > 0 ? device->count
                     : range->count > 0  ? range->count
                                         : cpu->count));
  table_put(table, "host_ms", milliseconds(host, host->sum));
  table_put(table, "host_self_ms", milliseconds(host, host->own));
  table_put_optional(table, "device_ms", milliseconds(device, device->sum));
  table_put_optional(table, "device_self_ms", milliseconds(device, device->own));
  table_put_optional(table, "range_ms", milliseconds(range, range->sum));
  table_put_optional(table, "cpu_ms", milliseconds(cpu, cpu->sum));
  table_put_optional(table, "cpu_self_ms", milliseconds(cpu, cpu->own));
  table_put_optional(table, "wait_ms", milliseconds(&line->of[WAIT], line->of[WAIT].sum));
  for (enum metric metric = LAUNCHES; metric < METRICS; metric++)
    table_put_optional(table, metrics[metric], cell_int_if(line->of[metric].count > 0, line->of[metric].sum));
  table_put(table, "context_id", cell_int((int64_t)line->context));
}

static void load(struct lines *lines)
{
  const struct context_rows *rows = &lines->rows;
  lines->all = arena_alloc_array(lines->question->scratch, rows->paths.context_count + 1, sizeof *lines->all);
  for (size_t i = 0; rows->set != NULL && i < rows->set->run_count; i++)
    add_rows(lines, rows->runs[i].rows, rows->runs[i].count);
  for (size_t id = 1; id <= rows->paths.context_count; id++) {
    struct line line = lines->all[id];
    line.weight = line.of[lines->has_device ? DEVICE : HOST].own;
    if (line.weight == 0)
      line.weight = line.of[CPU].own;
    if (line.context != 0)
      lines->all[lines->count++] = line;
  }
  qsort(lines->all, lines->count, sizeof *lines->all, compare_lines);
}

static enum status answer(struct question *question, struct error *err)
{
  struct lines lines = {.question = question, .has_samples = store_is_folded(question->view->store)};
  struct figure_of host = {0}, device = {0};
  XSP_TRY(analyze_context_rows_load(question, &lines.rows, err));
  load(&lines);
  if (lines.count == 0)
    return question_lacks(question, err,
                          "its spans have no call paths: live PyTorch and imported profiles with stacks have them");
  question_uses(question, lines.rows.set);
  for (size_t i = 0; i < lines.count; i++) {
    put_row(&lines, &lines.all[i]);
    host.own = saturate_add(host.own, lines.all[i].of[HOST].own);
    device.own = saturate_add(device.own, lines.all[i].of[DEVICE].own);
  }
  table_summary(&question->table, "contexts", cell_int((int64_t)lines.count));
  table_summary(&question->table, "host_ms", cell_real((double)host.own / 1e6));
  table_summary(&question->table, "device_ms", cell_real(lines.has_device ? (double)device.own / 1e6 : NAN));
  table_summary(&question->table, "runs", cell_int((int64_t)lines.rows.set->run_count));
  return STATUS_OK;
}

const struct analysis analysis_a17 = {.id = "A17",
                                      .title = "time by calling context",
                                      .needs = "spans with call paths",
                                      .main_figure = "host_self_ms",
                                      .takes_folded = true,
                                      .answer = answer};
