// SPDX-License-Identifier: Apache-2.0
// Requests: ranges of the program (NVTX, OpenTelemetry, record_function) that contain predictions, by name; predictions that are in none
// by their model. How many, how fast, and what passes before the model.
#include "analyze/a_list.h"
#include "analyze/layers/busy.h"
#include "analyze/run_columns.h"
#include "base/saturate.h"
#include "base/sorted.h"
#include "base/vector.h"

#include <math.h>
#include <string.h>

struct request {
  uint32_t name, track_id;
  const struct view_run *run;
  bool is_range;
  int64_t start_ns, end_ns, model_start_ns; // of its first prediction
  double model_ns;
};
struct requests {
  struct question *question;
  VECTOR(struct request) items;
  struct map request_of; // of a run, by row of the span: place
  struct map named;      // of a run: how many ranges have a name
  uint32_t program;      // string id of the category of processes
  uint32_t training[3];  // of what only training has
};

static bool is_range(const struct requests *of, const struct run_columns *columns, uint32_t row)
{
  return columns->spans.level[row] == XSP_LEVEL_APPLICATION &&
         (of->program == 0 || columns->spans.category[row] != of->program);
}

// The outermost range around a prediction whose name is not that of a single one; else the prediction.
static uint32_t request_row(const struct requests *of, const struct run_columns *columns, uint32_t row)
{
  uint32_t found = row;
  for (uint32_t at = row; at != ROW_NONE;
       at = columns->derived.parent_id[at] != 0 ? run_columns_row(columns, columns->derived.parent_id[at]) : ROW_NONE) {
    const uint64_t *count = map_find(&of->named, map_number(columns->spans.name[at]));
    if (at != row && is_range(of, columns, at) && count != NULL && *count > 1)
      found = at;
  }
  return found;
}

static void add_prediction(struct requests *of, const struct run_columns *columns, uint32_t row)
{
  uint32_t request = request_row(of, columns, row);
  bool is_new;
  uint64_t *place = map_at(&of->request_of, map_number(request), &is_new);
  int64_t start_ns = columns->spans.start_ns[row];
  if (is_new) {
    *place = of->items.count;
    int64_t from_ns = columns->spans.start_ns[request];
    *vector_add(&of->items) = (struct request){.name = columns->spans.name[request],
                                               .track_id = columns->spans.track_id[request],
                                               .run = columns->run,
                                               .is_range = request != row,
                                               .start_ns = from_ns,
                                               .end_ns = saturate_add(from_ns, columns->spans.duration_ns[request]),
                                               .model_start_ns = start_ns};
  }
  struct request *item = &of->items.items[*place];
  item->model_ns += (double)columns->spans.duration_ns[row];
  item->model_start_ns = start_ns < item->model_start_ns ? start_ns : item->model_start_ns;
}

static enum status add_run(struct requests *of, const struct view_run *run, struct error *err)
{
  enum {
    COLUMNS = STORE_BIT(STORE_NAME) | STORE_BIT(STORE_CATEGORY) | STORE_BIT(STORE_START_NS) |
              STORE_BIT(STORE_DURATION_NS) | STORE_BIT(STORE_TRACK_ID)
  };
  struct run_columns columns;
  XSP_TRY(run_columns_load(of->question, run, COLUMNS, of->question->scratch, &columns, err));
  bool is_training = false;
  for (uint32_t row = 0; row < columns.spans.count; row++) {
    if (is_range(of, &columns, row))
      ++*map_at(&of->named, map_number(columns.spans.name[row]), NULL);
    for (size_t i = 0; i < sizeof of->training / sizeof of->training[0]; i++)
      is_training |= of->training[i] != 0 && columns.spans.category[row] == of->training[i];
  }
  for (size_t i = 0; i < run->observation_count && !is_training; i++) {
    uint32_t row =
        run->observations[i].span_id != 0 ? run_columns_row(&columns, run->observations[i].span_id) : ROW_NONE;
    if (row != ROW_NONE && !run->observations[i].warmup)
      add_prediction(of, &columns, row);
  }
  map_done(&of->request_of);
  map_done(&of->named);
  return STATUS_OK;
}

// ---- rows ------------------------------------------------------------------------------------------------------------
SORTED_BY(by_name, struct request, FALLING(is_range) ?: RISING(name) ?: RISING(run) ?: RISING(start_ns))

// From the first start to the last end in each run; what runs on the system's clock have together counts once.
static double window_ms(const struct request *all, size_t count, struct arena *scratch)
{
  struct busy_interval *windows = arena_alloc_array(scratch, count, sizeof *windows);
  size_t on_one_clock = 0;
  double ms = 0;
  for (size_t first = 0, i; first < count; first = i) {
    int64_t end_ns = INT64_MIN;
    for (i = first; i < count && all[i].run == all[first].run; i++)
      end_ns = all[i].end_ns > end_ns ? all[i].end_ns : end_ns;
    if (all[first].run->run->epoch_is_unix)
      windows[on_one_clock++] = (struct busy_interval){all[first].start_ns, end_ns, 0};
    else
      ms += (double)saturate_subtract(end_ns, all[first].start_ns) / 1e6;
  }
  const struct busy busy = busy_of(windows, on_one_clock);
  return ms + (double)busy_within_ns(&busy, INT64_MIN, INT64_MAX) / 1e6;
}

// `all`: of one name.
static void put_row(struct requests *of, const struct request *all, size_t count)
{
  struct table_builder *table = &of->question->table;
  double *ms = arena_alloc_array(of->question->scratch, count, sizeof *ms), sum_ms = 0, model_ms = 0, before_ms = 0;
  struct map threads SCOPED(map_done) = {0};
  for (size_t i = 0; i < count; i++) {
    ms[i] = (double)saturate_subtract(all[i].end_ns, all[i].start_ns) / 1e6;
    sum_ms += ms[i];
    model_ms += all[i].model_ns / 1e6;
    before_ms += (double)saturate_subtract(all[i].model_start_ns, all[i].start_ns) / 1e6;
    (void)map_at(&threads, (struct map_key){(uintptr_t)all[i].run, all[i].track_id}, NULL);
  }
  const double open_ms = window_ms(all, count, of->question->scratch);
  table_row(table);
  table_put(table, "request",
            cell_text(arena_format(table->arena, "%s", store_text(of->question->view->store, all[0].name, NULL))));
  table_put(table, "is_range", cell_bool(all[0].is_range));
  table_put(table, "count", cell_int((int64_t)count));
  table_put(table, "requests_per_s", cell_real(open_ms > 0 ? 1000 * (double)count / open_ms : NAN));
  table_put(table, "threads", cell_int((int64_t)threads.count));
  table_put(table, "concurrent", cell_real(open_ms > 0 ? sum_ms / open_ms : NAN));
  table_put(table, "mean_ms", cell_real(sum_ms / (double)count));
  table_put(table, "p50_ms", cell_real(statistic_named("p50", ms, count)));
  table_put(table, "p95_ms", cell_real(statistic_named("p95", ms, count)));
  table_put(table, "p99_ms", cell_real(statistic_named("p99", ms, count)));
  table_put(table, "model_ms", cell_real(model_ms / (double)count));
  table_put(table, "before_ms", cell_real(all[0].is_range ? before_ms / (double)count : NAN));
}

static void put_rows(struct requests *of)
{
  bool has_unmarked = false;
  vector_sort(&of->items, by_name);
  for (size_t first = 0, end; first < of->items.count; first = end) {
    const struct request *all = &of->items.items[first];
    for (end = first; end < of->items.count && of->items.items[end].name == all->name &&
                      of->items.items[end].is_range == all->is_range;)
      end++;
    has_unmarked |= !all->is_range;
    put_row(of, all, end - first);
  }
  if (has_unmarked)
    table_note(&of->question->table,
               "predictions in no range are requests by themselves, and what these waited for before the model "
               "is not known; a range around each (NVTX, OpenTelemetry, record_function) shows it");
}

// Of the set with most levels: others are the same work again.
static enum status answer(struct question *question, struct error *err)
{
  struct requests of = {.question = question};
  const struct view *view = question->view;
  const struct view_set *deepest = view_deepest(view);
  (void)store_find_string(view->store, "program", 7, &of.program);
  (void)store_find_string(view->store, "step", 4, &of.training[0]);
  (void)store_find_string(view->store, "backward", 8, &of.training[1]);
  (void)store_find_string(view->store, "optimizer", 9, &of.training[2]);
  enum status status = STATUS_OK;
  for (size_t i = 0; deepest != NULL && i < deepest->run_count && status == STATUS_OK; i++)
    status = add_run(&of, deepest->runs[i], err);
  if (status == STATUS_OK && of.items.count == 0)
    status = question_lacks(question, err, "it has no predictions, or trains a model");
  if (status == STATUS_OK) {
    question_uses(question, deepest);
    put_rows(&of);
  }
  vector_done(&of.items);
  return status;
}

const struct analysis analysis_requests = {.id = "requests",
                                           .title = "requests by name",
                                           .needs = "M",
                                           .main_figure = "count",
                                           .is_of_program = true,
                                           .answer = answer};
