// SPDX-License-Identifier: Apache-2.0
// Reads the cold runs of an experiment: all their observations are warm-ups with the tag `cold`, each the first of its
// process. Called by a1_model.c. They are pooled with nothing else.
#include "analyze/runs/a1_cold.h"

#include "base/vector.h"

#include <math.h>

struct times { // in ms, of the processes of all cold runs
  VECTOR(double) loads;
  VECTOR(double) starts; // from the process's start to its first answer
};

// The figures come from the cold runs with the fewest levels: those that record the least.
static bool is_counted(const struct view *view, const struct view_run *run)
{
  for (size_t i = 0; i < view->run_count; i++)
    if (view->runs[i].is_cold && level_set_count(view->runs[i].run->levels) < level_set_count(run->run->levels))
      return false;
  return run->is_cold;
}

// The earliest warm-up observation of a run without metrics.
static double first_ms(const struct view *view, bool of_cold_runs)
{
  double found_ms = NAN;
  int64_t earliest = 0;
  for (size_t i = 0; i < view->run_count; i++) {
    const struct view_run *run = &view->runs[i];
    if (run->run->levels.metrics || run->is_cold != of_cold_runs)
      continue;
    for (size_t k = 0; k < run->observation_count; k++)
      if ((run->observations[k].warmup || run->is_cold) && !(run->is_other_kind != NULL && run->is_other_kind[k]) &&
          (isnan(found_ms) || run->observations[k].start_ns < earliest)) {
        earliest = run->observations[k].start_ns;
        found_ms = (double)run->observations[k].duration_ns / 1e6;
      }
  }
  return found_ms;
}

static enum status read_times(struct question *question, const struct view_run *run, struct times *times,
                              struct error *err)
{
  struct store *store = question->view->store;
  struct store_spans spans;
  uint32_t load = 0, start = 0, load_name = 0; // 0: no span has it
  (void)store_find_string(store, "load", 4, &load);
  (void)store_find_string(store, "cold", 4, &start);
  (void)store_find_string(store, "load model", 10, &load_name);
  uint32_t columns = STORE_BIT(STORE_LEVEL) | STORE_BIT(STORE_NAME) | STORE_BIT(STORE_CATEGORY) |
                     STORE_BIT(STORE_DURATION_NS) | STORE_BIT(STORE_FLAGS);
  XSP_TRY(store_load_spans(store, run->run->run_id, columns, question->scratch, &spans, err));
  for (size_t i = 0; i < spans.count; i++) {
    if (spans.level[i] != XSP_LEVEL_APPLICATION || (spans.flags[i] & STORE_SPAN_OPEN))
      continue;
    double duration_ms = (double)spans.duration_ns[i] / 1e6;
    uint32_t category = spans.category[i];
    if (category != 0 ? category == load : load_name != 0 && spans.name[i] == load_name)
      *vector_add(&times->loads) = duration_ms;
    else if (category != 0 && category == start)
      *vector_add(&times->starts) = duration_ms;
  }
  return STATUS_OK;
}

// Latencies of the cold runs of a batch size, in the question's scratch.
static double *latencies_ms(struct question *question, int64_t batch_size, size_t *ret_count)
{
  const struct view *view = question->view;
  size_t most = 0;
  for (size_t i = 0; i < view->run_count; i++)
    most += view->runs[i].observation_count;
  double *values = arena_alloc_array(question->scratch, most + 1, sizeof *values);
  *ret_count = 0;
  for (size_t i = 0; i < view->run_count; i++) {
    const struct view_run *run = &view->runs[i];
    for (size_t k = 0; k < run->observation_count && run->batch_size == batch_size && is_counted(view, run); k++)
      values[(*ret_count)++] = (double)run->observations[k].duration_ns / 1e6;
  }
  return values;
}

double analyze_cold_median_ms(struct question *question, int64_t batch_size)
{
  size_t count;
  double *values = latencies_ms(question, batch_size, &count);
  return statistic_named("median", values, count);
}

static void put_summary(struct question *question, struct times *times)
{
  const struct view *view = question->view;
  struct table_builder *table = &question->table;
  int64_t batch_size = INT64_MAX;
  for (size_t i = 0; i < view->run_count; i++)
    if (view->runs[i].is_cold && view->runs[i].batch_size < batch_size)
      batch_size = view->runs[i].batch_size;
  size_t count;
  double *values = latencies_ms(question, batch_size, &count);
  double first = first_ms(view, false);
  table_summary(table, "cold_latency_ms", cell_real(isnan(first) ? first_ms(view, true) : first));
  table_summary(table, "cold_batch", cell_int_if(count > 0 && batch_size != 0, batch_size));
  table_summary(table, "cold_count", cell_int_if(count > 0, (int64_t)count));
  table_summary(table, "cold_median_ms", cell_real(statistic_named("median", values, count)));
  table_summary(table, "cold_min_ms", cell_real(statistic_named("min", values, count)));
  table_summary(table, "cold_max_ms", cell_real(statistic_named("max", values, count)));
  table_summary(table, "load_median_ms", cell_real(statistic_named("median", times->loads.items, times->loads.count)));
  table_summary(table, "cold_start_median_ms",
                cell_real(statistic_named("median", times->starts.items, times->starts.count)));
}

enum status analyze_cold_summarize(struct question *question, struct error *err)
{
  const struct view *view = question->view;
  struct times times = {0};
  enum status status = STATUS_OK;
  for (size_t i = 0; i < view->run_count && status == STATUS_OK; i++)
    if (is_counted(view, &view->runs[i]))
      status = read_times(question, &view->runs[i], &times, err);
  put_summary(question, &times);
  vector_done(&times.loads);
  vector_done(&times.starts);
  return status;
}
