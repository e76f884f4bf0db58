// SPDX-License-Identifier: Apache-2.0
// T8, the models side by side, as the paper's Table VIII: what each is for, how large it is, how fast at one input and at
// its best, and how much of it is convolutions. One row an experiment, from A1 and A6.
#include "analyze/a_list.h"
#include "analyze/models/survey.h"

#include <string.h>

enum {
  MODEL,
  FRAMEWORK,
  FRAMEWORK_VERSION,
  SYSTEM,
  TASK,
  GRAPH_BYTES,
  ONLINE,
  MAXIMUM,
  MAXIMUM_BATCH,
  OPTIMAL_BATCH,
  BATCH,
  CONVOLUTION,
  DOMINANT_TYPE,
  DOMINANT_PCT,
  SPREAD,
  FROM = SPREAD + 4,
  LAYER_FROM,
  COLUMN_COUNT
};

static const struct table_column columns[] = {
    COLUMN("model_name", "", "model"),
    COLUMN("framework", "", "framework"),
    COLUMN("framework_version", "", "version"),
    COLUMN("system", "", "system"),
    COLUMN("task", "", "task"),
    COLUMN("graph_bytes", "bytes", "graph size"),
    COLUMN("online_latency_ms", "ms", "online"),
    COLUMN("maximum_throughput_per_s", "1/s", "maximum"),
    COLUMN("maximum_throughput_batch", "", "at batch"),
    COLUMN("optimal_batch", "", "optimal"),
    COLUMN("batch_size", "", "layers at"),
    COLUMN("convolution_pct_of_model", "%", "convolution"),
    COLUMN("dominant_layer_type", "", "dominant type"),
    COLUMN("dominant_layer_pct", "%", "of layers"),
    SPREAD_COLUMNS, // of the online latency
    COLUMN("latency_from", "", "from"),
    COLUMN("layer_latency_from", "", "layers from"),
};
_Static_assert(sizeof columns / sizeof columns[0] == COLUMN_COUNT, "a column and its place in the rows");

static size_t row_of_batch_one(const struct table *table)
{
  for (size_t row = 0; row < table->row_count; row++)
    for (size_t i = 0; i < table->column_count; i++)
      if (strcmp(table->columns[i].key, "batch_size") == 0 &&
          cell_double(&table->rows[row * table->column_count + i]) == 1)
        return row;
  return SIZE_MAX;
}

static enum status add_latency(struct survey *survey, const struct survey_item *item, struct table_cell *row,
                               bool *ret_has, struct error *err)
{
  static const char *const spread[] = {"n", "min_ms", "max_ms", "cv_pct"};
  struct table models;
  XSP_TRY(survey_ask(survey, item, &analysis_a1, 0, false, &models, ret_has, err));
  if (!*ret_has) {
    survey_note(survey, item, "without the model level: no latency, no throughput");
    return STATUS_OK;
  }
  row[ONLINE] = survey_summary(survey, &models, "online_latency_ms");
  row[MAXIMUM] = survey_summary(survey, &models, "maximum_throughput_per_s");
  row[MAXIMUM_BATCH] = survey_summary(survey, &models, "maximum_throughput_batch");
  row[OPTIMAL_BATCH] = survey_summary(survey, &models, "optimal_batch");
  size_t one = row_of_batch_one(&models);
  for (size_t i = 0; i < 4; i++)
    row[SPREAD + i] = survey_cell(survey, &models, one, spread[i]);
  row[FROM] = survey_cell(survey, &models, one != SIZE_MAX ? one : 0, "latency_from");
  survey->observations += models.observations;
  if (row[ONLINE].type == CELL_NULL)
    survey_note(survey, item, "not measured at batch size 1: no online latency");
  if (row[OPTIMAL_BATCH].type == CELL_NULL)
    survey_note(survey, item, "optimal batch size not reached");
  if (row[FROM].type != CELL_NULL)
    survey_note(survey, item, "model latencies come from a deeper level: its overhead is included");
  return STATUS_OK;
}

static enum status add_layers(struct survey *survey, const struct survey_item *item, struct table_cell *row,
                              bool *ret_has, struct error *err)
{
  struct table types;
  XSP_TRY(survey_ask(survey, item, &analysis_a6, survey->request->batch, false, &types, ret_has, err));
  if (!*ret_has) {
    survey_note(survey, item,
                survey->request->batch == 0 ? "without the layer level: no share of convolutions"
                                            : "without the layer level at this batch size: no share of convolutions");
    return STATUS_OK;
  }
  row[BATCH] = types.batch_size != 0 ? cell_int(types.batch_size) : (struct table_cell){0};
  row[CONVOLUTION] = survey_summary(survey, &types, "convolution_pct_of_model");
  row[DOMINANT_TYPE] = survey_cell(survey, &types, 0, "layer_type");
  row[DOMINANT_PCT] = survey_cell(survey, &types, 0, "latency_pct");
  row[LAYER_FROM] = survey_cell(survey, &types, 0, "latency_from");
  if (row[LAYER_FROM].type != CELL_NULL)
    survey_note(survey, item, "layer latencies come from a deeper level: its overhead is included");
  if (row[OPTIMAL_BATCH].type == CELL_INT && survey->request->batch == 0 &&
      row[OPTIMAL_BATCH].value.integer != types.batch_size)
    survey_note(survey, item, "layers were not recorded at the optimal batch size: see batch_size");
  return STATUS_OK;
}

static enum status answer_all(struct survey *survey, struct error *err)
{
  bool is_any = false;
  table_columns(&survey->table, columns, COLUMN_COUNT);
  for (size_t i = 0; i < survey->count; i++) {
    const struct survey_item *item = &survey->items[i];
    struct table_cell *row = table_row(&survey->table);
    bool has_latency, has_layers;
    row[MODEL] = cell_text(item->model_name);
    row[FRAMEWORK] = cell_text(item->of.experiment->framework);
    row[FRAMEWORK_VERSION] = cell_text(item->of.experiment->framework_version);
    row[SYSTEM] = cell_text(item->system_name);
    row[TASK] = survey_workload_cell(survey, item, "task");
    row[GRAPH_BYTES] = survey_workload_cell(survey, item, "graph_bytes");
    XSP_TRY(add_latency(survey, item, row, &has_latency, err));
    XSP_TRY(add_layers(survey, item, row, &has_layers, err));
    survey_next(survey);
    is_any |= has_latency || has_layers;
  }
  if (!is_any)
    return survey_lacks(survey, err, "no experiment has a run with the model or the layer level");
  table_drop_empty(&survey->table, "latency_from");
  table_drop_empty(&survey->table, "layer_latency_from");
  return STATUS_OK;
}

const struct analysis analysis_t8 = {.id = "T8", .title = "models", .needs = "M, L", .answer_all = answer_all};
