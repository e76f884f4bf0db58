// SPDX-License-Identifier: Apache-2.0
// A2, layer information: every layer in execution order, and how much of the model they account for.
#include "analyze/a_list.h"
#include "analyze/layers/layers.h"

static void summarize(struct question *question, const struct layers *layers, int64_t under_1ms, double rows_sum_ms)
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
  if (!question_is_by_value(question))
    table_summary(table, "sum_ms", cell_real(sum_ms));
  summarize_sums(question, sum_ms, rows_sum_ms);
  table_summary(table, "model_latency_ms", cell_real(model_ms));
  table_summary(table, "outside_layers_ms", cell_real(outside_ms));
}

// Returns the layer's latency.
static double put_row(struct question *question, const struct layers *layers, const struct layer *layer)
{
  struct table_builder *table = &question->table;
  double alloc_bytes = layer_alloc(question, layers, layer);
  struct figure latency = layer_latency(question, layers, layer);
  table_row(table);
  put_layer(table, layer);
  table_put(table, "layer_shape", "", "shape", cell_text(layer->shape));
  table_put(table, "latency_ms", "ms", "latency", cell_real(latency.value));
  table_put(table, "alloc_bytes", "bytes", "allocated", cell_number(alloc_bytes));
  put_spread(table, &latency);
  put_partial(table, layer->present < layers->observation_count);
  put_from(table, "latency_from", "from", layers->from);
  return latency.value;
}

static enum status answer(struct question *question, struct error *err)
{
  struct layers layers;
  int64_t under_1ms = 0;
  double rows_sum_ms = 0;
  XSP_TRY(layers_answer(question, &layers, err));
  put_row(question, &layers, &(struct layer){0});
  table_declared(&question->table, layers.count);
  for (size_t i = 0; i < layers.count; i++) {
    double ms = put_row(question, &layers, &layers.items[i]);
    under_1ms += ms < 1;
    rows_sum_ms += ms;
  }
  summarize(question, &layers, under_1ms, rows_sum_ms);
  return STATUS_OK;
}

const struct analysis analysis_a2 = {.id = "A2", .title = "layer information", .needs = "L", .answer = answer};
