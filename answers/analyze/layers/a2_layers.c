// SPDX-License-Identifier: Apache-2.0
// A2, layer information: every layer in execution order, and how much of the model they account for.
#include "analyze/a_list.h"
#include "analyze/layers/layers.h"

#include <math.h>
#include <string.h>

static void summarize(struct question *question, const struct layers *layers, int64_t under_1ms, double rows_sum_ms)
{
  const char *from;
  const struct view_set *model = layers_model_set(question, layers, &from);
  bool on_device = layers->source.on_device;
  double model_ms = question_model_latency(question, model);
  double covered_ms = on_device ? question_value(question, layers->set, layers->covered_ms) : NAN;
  double sum_ms = layers_total(question, layers, LAYER_LATENCY);
  question_note_from(question, "model", from);
  double outside_ms =
      question_difference_ms(question, model_ms, on_device ? covered_ms : sum_ms, "time outside layers");
  struct table_builder *table = &question->table;
  table_summary(table, "layers", cell_int((int64_t)layers->count));
  table_summary(table, "layers_under_1ms", cell_int(under_1ms));
  if (!question_is_by_value(question))
    table_summary(table, "sum_ms", cell_real(sum_ms));
  analyze_summarize_sums(question, sum_ms, rows_sum_ms);
  table_summary(table, "model_latency_ms", cell_real(model_ms));
  table_summary(table, "model_latency_from", cell_text(from));
  table_summary(table, "outside_layers_ms", cell_real(outside_ms));
  if (on_device)
    table_summary(table, "covered_ms", cell_real(covered_ms));
  layer_source_summarize(question, &layers->source);
  if (covered_ms > 0 && sum_ms > covered_ms * (1 + 1e-9))
    table_note(table,
               "layers add up to %.4g times the time that they cover: they overlap, on several streams, devices or "
               "threads, or "
               "their work ends after the observation",
               sum_ms / covered_ms);
}

static bool is_by_source(const struct question *question)
{
  return question->request->by != NULL && strcmp(question->request->by, "source") == 0;
}

// Returns the layer's latency.
static double put_row(struct question *question, const struct layers *layers, const struct layer *layer)
{
  struct table_builder *table = &question->table;
  double alloc_bytes = layer_value(question, layers, layer, LAYER_ALLOC);
  double host_ms = layer_value(question, layers, layer, LAYER_HOST);
  struct figure latency = layer_latency(question, layers, layer);
  table_row(table);
  layer_put(table, layer);
  table_put_optional(table, "iteration", cell_int_if(layer->iteration > 0, layer->iteration));
  table_put_optional(table, "module", cell_text(layer->module));
  table_put_optional(table, "source_layers", cell_text(layer->source_layers));
  table_put(table, "layer_shape", cell_text(layer->shape));
  if (is_by_source(question)) {
    table_put_optional(table, "iterations", cell_int_if(layer->turns > 0, layer->turns));
    table_put(table, "source", cell_text(layer->source));
  }
  table_put(table, "latency_ms", cell_real(latency.value));
  table_put_optional(table, "host_ms", cell_real(host_ms));
  table_put(table, "alloc_bytes", cell_number(alloc_bytes));
  analyze_put_spread(table, &latency);
  analyze_put_partial(table, layer->present < layers->observation_count);
  analyze_put_from(table, "latency_from", layers->source.from);
  layers_put_alloc_from(table, layers);
  layer_put_basis(table, &layers->source);
  return latency.value;
}

static enum status answer(struct question *question, struct error *err)
{
  struct layers layers;
  int64_t under_1ms = 0;
  double rows_sum_ms = 0;
  size_t known = 0;
  XSP_TRY(layers_answer(question, LAYERS_FOR_LATENCY, &layers, err));
  put_row(question, &layers, &(struct layer){0});
  table_declared(&question->table, layers.count);
  for (size_t i = 0; i < layers.count; i++) {
    double ms = put_row(question, &layers, &layers.items[i]);
    under_1ms += ms < 1;
    known += layers.items[i].source != NULL;
    rows_sum_ms += ms;
  }
  summarize(question, &layers, under_1ms, rows_sum_ms);
  layers_note_alloc(question, &layers);
  if (is_by_source(question) && known == 0)
    table_note(&question->table, "no layer recorded what it was made of, as operations of JAX do");
  return STATUS_OK;
}

const struct analysis analysis_a2 = {.id = "A2",
                                     .name = "layers",
                                     .title = "layer information",
                                     .summary = "layers in execution order",
                                     .needs = "L",
                                     .main_figure = "latency_ms",
                                     .detail = TRACE_DEVICES_BY_LAYER,
                                     .answer = answer};
