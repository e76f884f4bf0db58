// SPDX-License-Identifier: Apache-2.0
// Reads the cold runs of an experiment: all their observations are warm-ups with the tag `cold`, each the first of its
// process. Called by a1_model.c. They are pooled with nothing else.
#include "analyze/runs/a1_cold.h"

#include "base/vector.h"

#include <math.h>
#include <stdlib.h>

static double median_of(const double *values, size_t count, struct arena *scratch)
{
  struct statistic median;
  double *copy = arena_alloc_array(scratch, count + 1, sizeof *copy);
  for (size_t i = 0; i < count; i++)
    copy[i] = values[i];
  return statistic_parse("median", &median) ? statistic_apply(&median, copy, count) : NAN;
}

struct doubles {
  VECTOR(double) values;
};

static double first_ms(const struct view *view, bool of_cold_runs)
{
  double found_ms = NAN;
  int64_t earliest = 0;
  for (size_t i = 0; i < view->run_count; i++) {
    const struct view_run *run = &view->runs[i];
    if (run->run->levels.metrics || run->is_cold != of_cold_runs)
      continue;
    for (size_t k = 0; k < run->observation_count; k++)
      if (run->observations[k].warmup && (isnan(found_ms) || run->observations[k].start_ns < earliest)) {
        earliest = run->observations[k].start_ns;
        found_ms = (double)run->observations[k].duration_ns / 1e6;
      }
  }
  return found_ms;
}

// Times of a cold run's processes: to load the model (`loads`), and from their start to the first answer (`starts`).
static enum status read_stages(struct question *question, const struct view_run *run, struct doubles *loads,
                               struct doubles *starts, struct error *err)
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
      *vector_add(&loads->values) = duration_ms;
    else if (category != 0 && category == start)
      *vector_add(&starts->values) = duration_ms;
  }
  return STATUS_OK;
}

static struct cold_batch *batch_of(struct cold *cold, int64_t batch_size)
{
  for (size_t i = 0; i < cold->batch_count; i++)
    if (cold->batches[i].batch_size == batch_size)
      return &cold->batches[i];
  return NULL;
}

static void add_run(struct question *question, const struct view_run *run, struct cold *cold)
{
  struct cold_batch *batch = batch_of(cold, run->batch_size);
  if (batch == NULL) {
    batch = &cold->batches[cold->batch_count++];
    *batch = (struct cold_batch){.batch_size = run->batch_size};
  }
  double *latencies_ms =
      arena_alloc_array(question->scratch, batch->count + run->observation_count, sizeof *latencies_ms);
  for (size_t i = 0; i < batch->count; i++)
    latencies_ms[i] = batch->latencies_ms[i];
  for (size_t i = 0; i < run->observation_count; i++)
    latencies_ms[batch->count++] = (double)run->observations[i].duration_ns / 1e6;
  batch->latencies_ms = latencies_ms;
}

static int compare_batches(const void *left, const void *right)
{
  int64_t a = ((const struct cold_batch *)left)->batch_size, b = ((const struct cold_batch *)right)->batch_size;
  return (a > b) - (a < b);
}

static enum status add_runs(struct question *question, struct cold *cold, struct doubles *loads, struct doubles *starts,
                            struct error *err)
{
  const struct view *view = question->view;
  for (size_t i = 0; i < view->run_count; i++) {
    if (!view->runs[i].is_cold)
      continue;
    add_run(question, &view->runs[i], cold);
    XSP_TRY(read_stages(question, &view->runs[i], loads, starts, err));
  }
  if (cold->batch_count > 1)
    qsort(cold->batches, cold->batch_count, sizeof *cold->batches, compare_batches);
  cold->load_median_ms = median_of(loads->values.items, loads->values.count, question->scratch);
  cold->start_median_ms = median_of(starts->values.items, starts->values.count, question->scratch);
  return STATUS_OK;
}

enum status cold_load(struct question *question, struct cold *ret_cold, struct error *err)
{
  const struct view *view = question->view;
  *ret_cold = (struct cold){.first_ms = first_ms(view, false)};
  if (isnan(ret_cold->first_ms))
    ret_cold->first_ms = first_ms(view, true);
  ret_cold->batches = arena_alloc_array(question->scratch, view->run_count + 1, sizeof *ret_cold->batches);
  struct doubles loads = {0}, starts = {0};
  enum status status = add_runs(question, ret_cold, &loads, &starts, err);
  vector_done(&loads.values);
  vector_done(&starts.values);
  return status;
}

double cold_median_ms(struct question *question, const struct cold *cold, int64_t batch_size)
{
  for (size_t i = 0; i < cold->batch_count; i++)
    if (cold->batches[i].batch_size == batch_size)
      return median_of(cold->batches[i].latencies_ms, cold->batches[i].count, question->scratch);
  return NAN;
}

void cold_summarize(struct question *question, const struct cold *cold)
{
  const struct cold_batch *batch = cold->batch_count > 0 ? &cold->batches[0] : NULL;
  double least_ms = NAN, most_ms = NAN;
  for (size_t i = 0; batch != NULL && i < batch->count; i++) {
    least_ms = fmin(least_ms, batch->latencies_ms[i]);
    most_ms = fmax(most_ms, batch->latencies_ms[i]);
  }
  struct table_builder *table = &question->table;
  table_summary(table, "cold_latency_ms", cell_real(cold->first_ms));
  table_summary(table, "cold_batch",
                batch != NULL && batch->batch_size != 0 ? cell_int(batch->batch_size) : (struct table_cell){0});
  table_summary(table, "cold_count", batch != NULL ? cell_int((int64_t)batch->count) : (struct table_cell){0});
  table_summary(table, "cold_median_ms",
                cell_real(batch != NULL ? cold_median_ms(question, cold, batch->batch_size) : NAN));
  table_summary(table, "cold_min_ms", cell_real(least_ms));
  table_summary(table, "cold_max_ms", cell_real(most_ms));
  table_summary(table, "load_median_ms", cell_real(cold->load_median_ms));
  table_summary(table, "cold_start_median_ms", cell_real(cold->start_median_ms));
}
