// SPDX-License-Identifier: Apache-2.0
// A2, layer information: every layer in execution order, and how much of the model they account for.
#include "analyze/a_list.h"
#include "analyze/layers/layers.h"

#include <math.h>

enum { INDEX, NAME, TYPE, SHAPE, LATENCY, ALLOC, SPREAD, PARTIAL = SPREAD + 4, FROM, COLUMN_COUNT };

static const struct table_column columns[COLUMN_COUNT] = {
    COLUMN("layer_index", "", "index"),
    COLUMN("layer_name", "", "layer"),
    COLUMN("layer_type", "", "type"),
    COLUMN("layer_shape", "", "shape"),
    COLUMN("latency_ms", "ms", "latency"),
    COLUMN("alloc_bytes", "bytes", "allocated"),
    SPREAD_COLUMNS,
    COLUMN("partial", "", "partial"),
    COLUMN("latency_from", "", "from"),
};

static void summarize(struct question *question, const struct layers *layers, int64_t under_1ms)
{
  const char *from;
  const struct view_set *model = view_rule(question->view, question->batch_size, XSP_LEVEL_MODEL, &from);
  double model_ms = question_model_latency(question, model);
  double sum_ms = layers_total(question, layers, LAYER_LATENCY);
  question_note_from(question, "model", from);
  double outside_ms = question_difference_ms(question, model_ms, sum_ms, "time outside layers");
  struct table_builder *table = &question->table;
  table_summary(table, "layers", cell_int((int64_t)layers->count));
  table_summary(table, "layers_under_1ms", cell_int(under_1ms));
  table_summary(table, "sum_ms", cell_real(sum_ms));
  table_summary(table, "model_latency_ms", cell_real(model_ms));
  table_summary(table, "outside_layers_ms", cell_real(outside_ms));
}

static enum status answer(struct question *question, struct error *err)
{
  struct layers layers;
  XSP_TRY(layers_answer(question, &layers, err));
  table_columns(&question->table, columns, COLUMN_COUNT);
  double *values = arena_alloc_array(question->arena, layers.observation_count + 1, sizeof *values);
  if (values == NULL)
    return question_no_memory(err);
  int64_t under_1ms = 0;
  for (size_t i = 0; i < layers.count; i++) {
    const struct layer *layer = &layers.items[i];
    struct table_cell *row = table_row(&question->table);
    row[INDEX] = cell_int(layer->index);
    row[NAME] = cell_text(layer->name_text);
    row[TYPE] = cell_text(layer->type);
    row[SHAPE] = cell_text(layer->shape);
    row[ALLOC] = cell_number(layers_statistic(question, layer->alloc_bytes, layers.observation_count));
    size_t count = layer_values(&layers, layer, LAYER_LATENCY, values);
    double latency_ms = question_statistic(question, values, count);
    row[LATENCY] = cell_real(latency_ms);
    cell_spread(&row[SPREAD], values, count);
    row[PARTIAL] = layer->present < layers.observation_count ? cell_bool(true) : (struct table_cell){0};
    row[FROM] = cell_text(layers.from);
    under_1ms += latency_ms < 1;
  }
  summarize(question, &layers, under_1ms);
  table_drop_empty(&question->table, "partial");
  table_drop_empty(&question->table, "latency_from");
  return STATUS_OK;
}

const struct analysis analysis_a2 = {.id = "A2", .title = "layer information", .needs = "L", .answer = answer};
