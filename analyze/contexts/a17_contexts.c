// SPDX-License-Identifier: Apache-2.0
// A17, calling contexts: where the time goes, by call path. Answers of runs with spans and of those whose spans were folded
// (`xsp run --aggregate`) come from one tree (correlate_context_rows). Figures are totals of the runs.
#include "analyze/a_list.h"
#include "analyze/view.h"
#include "base/saturate.h"
#include "correlate/correlate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xsp/call_path.h>

enum metric { HOST, DEVICE, RANGE, LAUNCHES, BYTES, FLOPS, METRICS };
static const char *const metrics[METRICS] = {"host_ns", "device_ns", "range_ns", "launches", "bytes", "flops"};

struct figure_of { // one metric of a context
  int64_t count, sum, own;
};
struct line {
  size_t context; // id; 0: not in the runs
  int64_t weight; // its own time, on devices where there are any
  struct figure_of of[METRICS];
};
struct lines {
  struct question *question;
  struct store_call_paths paths;
  struct line *all; // by id
  size_t count;     // that have a figure, in front after sorting
  bool has_device;
};

// The deepest set: what the others recorded is in it, too.
static const struct view_set *choose(const struct view *view)
{
  const struct view_set *best = NULL;
  for (size_t i = 0; i < view->set_count; i++) {
    const struct view_set *set = &view->sets[i];
    if (set->levels.serial || set->levels.metrics)
      continue;
    if (best == NULL || level_set_count(set->levels) > level_set_count(best->levels))
      best = set;
  }
  return best;
}

static void add_rows(struct lines *lines, const struct store_context_metric *rows, size_t count)
{
  for (size_t i = 0; i < count; i++)
    for (enum metric metric = 0; metric < METRICS; metric++) {
      if (strcmp(rows[i].metric, metrics[metric]) != 0)
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

static int compare_lines(const void *left, const void *right)
{
  const struct line *a = left, *b = right;
  if (a->weight != b->weight)
    return a->weight > b->weight ? -1 : 1;
  return a->context < b->context ? -1 : a->context > b->context;
}

// The innermost Python frame that is no installed package's: the user's own line.
static const char *called_from(struct lines *lines, size_t context)
{
  const struct store_frame *inner = NULL, *own = NULL;
  for (size_t id = context; id != 0 && own == NULL; id = (size_t)lines->paths.contexts[id - 1].parent_id) {
    const struct store_frame *frame = &lines->paths.frames[lines->paths.contexts[id - 1].frame_id - 1];
    if (frame->kind != XSP_FRAME_PYTHON || frame->file == NULL || id == context)
      continue;
    inner = inner == NULL ? frame : inner;
    if (strstr(frame->file, "/site-packages/") == NULL && strstr(frame->file, "/dist-packages/") == NULL &&
        frame->file[0] != '<')
      own = frame;
  }
  const struct store_frame *frame = own != NULL ? own : inner;
  if (frame == NULL)
    return NULL;
  const char *file = strrchr(frame->file, '/');
  return arena_format(lines->question->arena, "%s:%lld %s", file != NULL ? file + 1 : frame->file,
                      (long long)frame->line, frame->name != NULL ? frame->name : "");
}

static struct table_cell milliseconds(const struct figure_of *figure, int64_t value)
{
  return cell_real(figure->count > 0 ? (double)value / 1e6 : NAN);
}

static void put_row(struct lines *lines, const struct line *line)
{
  static const char *const kinds[XSP_FRAME_KINDS] = {"python", "framework", "native", "device"};
  struct table_builder *table = &lines->question->table;
  const struct store_frame *frame = &lines->paths.frames[lines->paths.contexts[line->context - 1].frame_id - 1];
  const struct figure_of *host = &line->of[HOST], *device = &line->of[DEVICE], *range = &line->of[RANGE];
  struct arena *arena = lines->question->arena;
  table_row(table);
  table_put(table, "name", "", "context",
            cell_text(frame->name != NULL ? arena_copy(arena, frame->name, strlen(frame->name)) : NULL));
  table_put(table, "kind", "", "kind", cell_text(kinds[frame->kind]));
  table_put(table, "called_from", "", "called from", cell_text(called_from(lines, line->context)));
  table_put(table, "count", "", "count",
            cell_int(host->count > 0     ? host->count
                     : device->count > 0 ? device->count
                                         : range->count));
  table_put(table, "host_ms", "ms", "host", milliseconds(host, host->sum));
  table_put(table, "host_self_ms", "ms", "host self", milliseconds(host, host->own));
  table_put_optional(table, "device_ms", "ms", "device", milliseconds(device, device->sum));
  table_put_optional(table, "device_self_ms", "ms", "device self", milliseconds(device, device->own));
  table_put_optional(table, "range_ms", "ms", "range", milliseconds(range, range->sum));
  for (enum metric metric = LAUNCHES; metric < METRICS; metric++)
    table_put_optional(table, metrics[metric], "", metrics[metric],
                       cell_int_if(line->of[metric].count > 0, line->of[metric].sum));
  table_put(table, "context_id", "", "id", cell_int((int64_t)line->context));
}

static enum status load(struct lines *lines, const struct view_set *set, struct error *err)
{
  struct question *question = lines->question;
  struct store *store = question->view->store;
  XSP_TRY(store_call_paths(store, question->scratch, &lines->paths, err));
  lines->all = arena_alloc_array(question->scratch, lines->paths.context_count + 1, sizeof *lines->all);
  for (size_t i = 0; i < set->run_count; i++) {
    struct store_context_metric *rows;
    size_t count;
    XSP_TRY(
        correlate_context_rows(store, set->runs[i]->run->run_id, &lines->paths, question->scratch, &rows, &count, err));
    add_rows(lines, rows, count);
  }
  for (size_t id = 1; id <= lines->paths.context_count; id++) {
    struct line line = lines->all[id];
    line.weight = line.of[lines->has_device ? DEVICE : HOST].own;
    if (line.context != 0)
      lines->all[lines->count++] = line;
  }
  qsort(lines->all, lines->count, sizeof *lines->all, compare_lines);
  return STATUS_OK;
}

static enum status answer(struct question *question, struct error *err)
{
  struct lines lines = {.question = question};
  const struct view_set *set = choose(question->view);
  struct figure_of host = {0}, device = {0};
  if (set != NULL)
    XSP_TRY(load(&lines, set, err));
  if (lines.count == 0)
    return question_lacks(question, err,
                          "its spans have no call paths: live PyTorch and imported profiles with stacks have them");
  question_uses(question, set);
  for (size_t i = 0; i < lines.count; i++) {
    put_row(&lines, &lines.all[i]);
    host.own = saturate_add(host.own, lines.all[i].of[HOST].own);
    device.own = saturate_add(device.own, lines.all[i].of[DEVICE].own);
  }
  table_summary(&question->table, "contexts", cell_int((int64_t)lines.count));
  table_summary(&question->table, "host_ms", cell_real((double)host.own / 1e6));
  table_summary(&question->table, "device_ms", cell_real(lines.has_device ? (double)device.own / 1e6 : NAN));
  table_summary(&question->table, "runs", cell_int((int64_t)set->run_count));
  return STATUS_OK;
}

const struct analysis analysis_a17 = {.id = "A17",
                                      .title = "time by calling context",
                                      .needs = "spans with call paths",
                                      .main_figure = "host_self_ms",
                                      .takes_folded = true,
                                      .answer = answer};
