// SPDX-License-Identifier: Apache-2.0
// A6, latency by layer type, and the convolutions' share of the layers and of the model.
#include "analyze/layers/a6_type_latency.h"

#include "analyze/a_list.h"

#include <math.h>
#include <string.h>
#include <strings.h>

// conv(?!ert|ers), in any case: Conv, FusedConv2D, depthwise ones; not Convert or Conversion.
static bool names_convolution(const char *type)
{
  for (const char *at = type; at != NULL && (at = strcasestr(at, "conv")) != NULL; at += 4)
    if (strncasecmp(at + 4, "ert", 3) != 0 && strncasecmp(at + 4, "ers", 3) != 0)
      return true;
  return false;
}

static double convolutions_ms(struct question *question, struct type_latencies *latencies)
{
  const struct layers *layers = &latencies->layers;
  uint32_t *is_convolution = arena_alloc_array(question->scratch, layers->count + 1, sizeof *is_convolution);
  bool has_types = false, has_convolution = false;
  for (size_t i = 0; i < layers->count; i++) {
    // A framework may name its layers by what computes them: XNNPACK's 1×1 convolutions are of type "Fully Connected".
    bool by_type = names_convolution(layers->items[i].type);
    is_convolution[i] = by_type || names_convolution(layers->items[i].operation);
    latencies->by_operation += is_convolution[i] && !by_type;
    has_convolution |= is_convolution[i];
    has_types |= layers->items[i].type != NULL;
  }
  if (!has_convolution)
    return has_types ? 0 : NAN;
  const double *sums = layers_sums(question, layers, is_convolution, 2, LAYER_LATENCY);
  return question_value(question, layers->set, sums + layers->observation_count);
}

enum status type_latencies_load(struct question *question, struct type_latencies *ret, struct error *err)
{
  *ret = (struct type_latencies){0};
  XSP_TRY(layers_answer(question, LAYERS_FOR_LATENCY, &ret->layers, err));
  types_load(question, &ret->layers, LAYER_LATENCY, &ret->types);
  double ms = convolutions_ms(question, ret);
  const struct view_set *model = layers_model_set(question, &ret->layers, &ret->model_from);
  ret->convolution_pct_of_layers = types_share_pct(ms, ret->types.total);
  ret->convolution_pct_of_model = types_share_pct(ms, question_model_latency(question, model));
  return STATUS_OK;
}

static void put_row(struct table_builder *table, const struct type_latencies *latencies, const char *type,
                    const struct figure *latency)
{
  table_row(table);
  table_put(table, latencies->types.key, cell_text(type));
  table_put(table, "latency_ms", cell_real(latency->value));
  table_put_share(table, "latency_pct", "layers", cell_real(types_share_pct(latency->value, latencies->types.total)));
  analyze_put_spread(table, latency);
  analyze_put_partial(table, latency->occurring != NULL && latency->count < latencies->layers.observation_count);
  analyze_put_from(table, "latency_from", latencies->layers.source.from);
  layer_put_basis(table, &latencies->layers.source);
}

static enum status answer(struct question *question, struct error *err)
{
  struct table_builder *table = &question->table;
  struct type_latencies latencies;
  double rows_sum_ms = 0;
  XSP_TRY(type_latencies_load(question, &latencies, err));
  const struct types *types = &latencies.types;
  put_row(table, &latencies, NULL, &(struct figure){.value = NAN, .occurrence = NAN});
  table_declared(table, types->count);
  for (size_t i = 0; i < types->count; i++) {
    struct figure latency = type_figure(question, &latencies.layers, types, types->order[i]);
    put_row(table, &latencies, types->names[types->order[i]], &latency);
    rows_sum_ms += latency.value;
  }
  analyze_summarize_sums(question, types->total, rows_sum_ms);
  if (latencies.by_operation > 0)
    table_note(table, "convolutions: %zu of them by the model's operator, not by their type", latencies.by_operation);
  question_note_from(question, "model", latencies.model_from);
  table_summary(table, "model_latency_from", cell_text(latencies.model_from));
  layer_source_summarize(question, &latencies.layers.source);
  table_summary(table, "convolution_pct_of_layers", cell_real(latencies.convolution_pct_of_layers));
  table_summary(table, "convolution_pct_of_model", cell_real(latencies.convolution_pct_of_model));
  return STATUS_OK;
}

const struct analysis analysis_a6 = {.id = "A6",
                                     .title = "layer latency by type",
                                     .summary = "layers by type: latency",
                                     .needs = "L",
                                     .detail = TRACE_DEVICES_BY_LAYER,
                                     .answer = answer};
