// SPDX-License-Identifier: Apache-2.0
// A3, layer latency: the series over layers, and in which third of the model the time goes.
#include "analyze/a_list.h"
#include "analyze/layers/layers.h"

enum { INDEX, NAME, LATENCY, SPREAD, FROM = SPREAD + 4, COLUMN_COUNT };

static const struct table_column columns[COLUMN_COUNT] = {
    COLUMN("layer_index", "", "index"),    COLUMN("layer_name", "", "layer"),
    COLUMN("latency_ms", "ms", "latency"), SPREAD_COLUMNS,
    COLUMN("latency_from", "", "from"),
};

static enum status answer(struct question *question, struct error *err)
{
  struct layers layers;
  XSP_TRY(layers_answer(question, &layers, err));
  table_columns(&question->table, columns, COLUMN_COUNT);
  double *values = arena_alloc_array(question->arena, layers.observation_count + 1, sizeof *values);
  if (values == NULL)
    return question_no_memory(err);
  for (size_t i = 0; i < layers.count; i++) {
    struct table_cell *row = table_row(&question->table);
    size_t count = layer_values(&layers, &layers.items[i], LAYER_LATENCY, values);
    row[INDEX] = cell_int(layers.items[i].index);
    row[NAME] = cell_text(layers.items[i].name_text);
    row[LATENCY] = cell_real(question_statistic(question, values, count));
    cell_spread(&row[SPREAD], values, count);
    row[FROM] = cell_text(layers.from);
  }
  layers_stages(question, &layers, LAYER_LATENCY);
  table_drop_empty(&question->table, "latency_from");
  return STATUS_OK;
}

const struct analysis analysis_a3 = {.id = "A3", .title = "layer latency", .needs = "L", .answer = answer};
