// SPDX-License-Identifier: Apache-2.0
// A4, memory allocated by layer: the series over layers, and in which third of the model it goes.
#include "analyze/a_list.h"
#include "analyze/layers/layers.h"

static void put_row(struct question *question, const struct layers *layers, const struct layer *layer)
{
  struct table_builder *table = &question->table;
  table_row(table);
  table_put(table, "layer_index", cell_int(layer->index));
  table_put(table, "layer_name", cell_text(layer->name_text));
  table_put(table, "alloc_bytes", cell_number(layer_value(question, layers, layer, LAYER_ALLOC)));
  analyze_put_partial(table, layer->present < layers->observation_count);
  layers_put_alloc_from(table, layers);
}

static enum status answer(struct question *question, struct error *err)
{
  struct layers layers;
  XSP_TRY(layers_answer(question, LAYERS_FOR_MEMORY, &layers, err));
  XSP_TRY(layers_need_alloc(question, &layers, err));
  for (size_t i = 0; i < layers.count; i++)
    put_row(question, &layers, &layers.items[i]);
  thirds_summarize(&question->table, layers_thirds(question, &layers, LAYER_ALLOC));
  return STATUS_OK;
}

const struct analysis analysis_a4 = {.id = "A4",
                                     .title = "layer allocated memory",
                                     .summary = "memory of the layers, by thirds",
                                     .needs = "L",
                                     .main_figure = "alloc_bytes",
                                     .detail = TRACE_LAYERS,
                                     .answer = answer};
