// SPDX-License-Identifier: Apache-2.0
// A1, model information: latency and throughput per batch size, the optimal batch, the cold inference.
#include "analyze/a_list.h"
#include "analyze/runs/a1_cold.h"
#include "analyze/runs/a1_stages.h"
#include "analyze/view.h"

#include <math.h>

enum {
  BATCH,
  LATENCY,
  THROUGHPUT,
  IS_OPTIMAL,
  IS_MAXIMUM,
  SPREAD,
  LOAD = SPREAD + 4,
  PREPROCESS,
  PREPROCESS_PER,
  POSTPROCESS,
  COLD,
  FROM,
  COLUMN_COUNT
};

static const struct table_column columns[COLUMN_COUNT] = {
    COLUMN("batch_size", "", "batch"),
    COLUMN("latency_ms", "ms", "latency"),
    COLUMN("throughput_per_s", "1/s", "throughput"),
    COLUMN("is_optimal", "", "optimal"),
    COLUMN("is_maximum", "", "maximum"),
    SPREAD_COLUMNS,
    COLUMN("load_ms", "ms", "load"),
    COLUMN("preprocess_ms", "ms", "preprocess"),
    COLUMN("preprocess_per", "", "per"),
    COLUMN("postprocess_ms", "ms", "postprocess"),
    COLUMN("cold_ms", "ms", "cold"),
    COLUMN("latency_from", "", "from"),
};

static void summarize(struct question *question, const struct batches *batches, const struct cold *cold)
{
  const struct batch_point *points = batches->points;
  double online_ms = NAN;
  for (size_t i = 0; i < batches->count; i++)
    if (points[i].batch_size == 1)
      online_ms = points[i].latency_ms;
  bool has_maximum = batches->maximum != SIZE_MAX;
  bool has_optimal = batches->optimal != SIZE_MAX;
  struct table_builder *table = &question->table;
  table_summary(table, "online_latency_ms", cell_real(online_ms));
  table_summary(table, "maximum_throughput_per_s",
                cell_real(has_maximum ? points[batches->maximum].throughput_per_s : NAN));
  table_summary(table, "maximum_throughput_batch",
                has_maximum ? cell_int(points[batches->maximum].batch_size) : (struct table_cell){0});
  table_summary(table, "optimal_batch",
                has_optimal ? cell_int(points[batches->optimal].batch_size) : (struct table_cell){0});
  cold_summarize(question, cold);
  if (!has_optimal)
    table_note(table, "%s", batches->why_not_optimal);
}

// What surrounds the predictions, for each batch size.
static enum status load_stages(struct question *question, const struct batches *batches, struct stages **ret_stages,
                               struct error *err)
{
  *ret_stages = arena_alloc_array(question->scratch, batches->count + 1, sizeof **ret_stages);
  if (*ret_stages == NULL)
    return question_no_memory(err);
  for (size_t i = 0; i < batches->count; i++)
    XSP_TRY(stages_load(question, batches->points[i].set, &(*ret_stages)[i], err));
  return STATUS_OK;
}

static void put_stages(const struct stages *stages, struct table_cell *row)
{
  row[LOAD] = cell_real(stages->load_ms);
  row[PREPROCESS] = cell_real(stages->preprocess_ms);
  row[POSTPROCESS] = cell_real(stages->postprocess_ms);
  if (!isnan(stages->preprocess_ms))
    row[PREPROCESS_PER] = cell_text(stages->is_once ? "batch size" : "prediction");
}

// A model is loaded once for all batch sizes: the figure is that of the first one that has it.
static void summarize_stages(struct question *question, const struct stages *stages, size_t count)
{
  double load_ms = NAN;
  bool is_once = false;
  for (size_t i = 0; i < count; i++) {
    load_ms = isnan(load_ms) ? stages[i].load_ms : load_ms;
    is_once |= stages[i].is_once;
  }
  table_summary(&question->table, "load_ms", cell_real(load_ms));
  if (is_once)
    table_note(&question->table,
               "preprocess_ms: the inputs are made once for a batch size, in none of its predictions");
}

static void drop_empty(struct table_builder *table)
{
  static const char *const keys[] = {"load_ms",        "preprocess_ms", "preprocess_per",
                                     "postprocess_ms", "cold_ms",       "latency_from"};
  for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
    table_drop_empty(table, keys[i]);
}

static enum status answer(struct question *question, struct error *err)
{
  struct batches batches;
  XSP_TRY(question_batches(question, &batches, err));
  struct cold cold;
  struct stages *stages;
  if (batches.count == 0)
    return question_lacks(question, err, "there is no run with the model level");
  XSP_TRY(cold_load(question, &cold, err));
  XSP_TRY(load_stages(question, &batches, &stages, err));
  table_columns(&question->table, columns, COLUMN_COUNT);
  int64_t only = question->request->batch;
  bool has_several_from = false;
  for (size_t i = 0; i < batches.count; i++) {
    const struct batch_point *point = &batches.points[i];
    if (only != 0 && point->batch_size != only)
      continue;
    struct table_cell *row = table_row(&question->table);
    row[BATCH] = point->batch_size == 0 ? (struct table_cell){0} : cell_int(point->batch_size);
    row[LATENCY] = cell_real(point->latency_ms);
    row[THROUGHPUT] = cell_real(point->throughput_per_s);
    row[IS_OPTIMAL] = cell_bool(i == batches.optimal);
    row[IS_MAXIMUM] = cell_bool(i == batches.maximum);
    cell_spread(&row[SPREAD], point->set->latencies_ms, point->set->observation_count);
    put_stages(&stages[i], row);
    row[COLD] = cell_real(cold_median_ms(question, &cold, point->batch_size));
    row[FROM] = cell_text(point->from);
    question_uses(question, point->set);
    question_note_from(question, "model", point->from);
    has_several_from |= !level_set_equal(point->set->levels, batches.points[0].set->levels);
    question->batch_size = point->batch_size;
  }
  if (question->table.row_count == 0)
    return question_lacks(question, err, "batch size %lld was not measured", (long long)only);
  if (has_several_from)
    table_note(&question->table, "batch sizes were measured with different levels: their latencies do not compare");
  question->has_several_batches = question->table.row_count > 1;
  summarize(question, &batches, &cold);
  summarize_stages(question, stages, batches.count);
  drop_empty(&question->table);
  return STATUS_OK;
}

const struct analysis analysis_a1 = {.id = "A1", .title = "model information", .needs = "M", .answer = answer};
