// SPDX-License-Identifier: Apache-2.0
// A2, layer information: every layer in execution order, and how much of the model they account for.
#include "analyze/a_list.h"
#include "analyze/layers/layers.h"

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

// Returns the layer's latency.
static double put_row(struct question *question, const struct layers *layers, const struct layer *layer)
{
  struct table_builder *table = &question->table;
  struct layer_latency latency = layer_latency(question, layers, layer);
  table_row(table);
  put_layer(table, layer);
  table_put(table, "layer_shape", "", "shape", cell_text(layer->shape));
  table_put(table, "latency_ms", "ms", "latency", cell_real(latency.ms));
  table_put(table, "alloc_bytes", "bytes", "allocated", cell_number(layer_alloc(question, layers, layer)));
  put_spread(table, latency.values_ms, latency.count);
  put_partial(table, layer->present < layers->observation_count);
  put_from(table, "latency_from", "from", layers->from);
  return latency.ms;
}

static enum status answer(struct question *question, struct error *err)
{
  struct layers layers;
  int64_t under_1ms = 0;
  XSP_TRY(layers_answer(question, &layers, err));
  put_row(question, &layers, &(struct layer){0});
  table_declared(&question->table, layers.count);
  for (size_t i = 0; i < layers.count; i++)
    under_1ms += put_row(question, &layers, &layers.items[i]) < 1;
  summarize(question, &layers, under_1ms);
  return STATUS_OK;
}

const struct analysis analysis_a2 = {.id = "A2", .title = "layer information", .needs = "L", .answer = answer};
