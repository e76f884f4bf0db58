// SPDX-License-Identifier: Apache-2.0
// A3, layer latency: the series over layers, and in which third of the model the time goes.
#include "analyze/a_list.h"
#include "analyze/layers/layers.h"

// Returns the latency.
static double put_row(struct question *question, const struct layers *layers, const struct layer *layer)
{
  struct table_builder *table = &question->table;
  struct figure latency = layer_latency(question, layers, layer);
  table_row(table);
  table_put(table, "layer_index", cell_int(layer->index));
  table_put(table, "layer_name", cell_text(layer->name_text));
  table_put(table, "latency_ms", cell_real(latency.value));
  analyze_put_spread(table, &latency);
  analyze_put_partial(table, layer->present < layers->observation_count);
  analyze_put_from(table, "latency_from", layers->source.from);
  layer_put_basis(table, &layers->source);
  return latency.value;
}

static enum status answer(struct question *question, struct error *err)
{
  struct layers layers;
  double rows_sum_ms = 0;
  XSP_TRY(layers_answer(question, LAYERS_FOR_LATENCY, &layers, err));
  put_row(question, &layers, &(struct layer){0});
  table_declared(&question->table, layers.count);
  for (size_t i = 0; i < layers.count; i++)
    rows_sum_ms += put_row(question, &layers, &layers.items[i]);
  analyze_summarize_sums(question, layers_total(question, &layers, LAYER_LATENCY), rows_sum_ms);
  layer_source_summarize(question, &layers.source);
  thirds_summarize(&question->table, layers_thirds(question, &layers, LAYER_LATENCY));
  return STATUS_OK;
}

const struct analysis analysis_a3 = {.id = "A3",
                                     .title = "layer latency",
                                     .summary = "latency of the layers, by thirds",
                                     .needs = "L",
                                     .main_figure = "latency_ms",
                                     .detail = TRACE_DEVICES_BY_LAYER,
                                     .answer = answer};
