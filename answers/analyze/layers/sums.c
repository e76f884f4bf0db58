// SPDX-License-Identifier: Apache-2.0
// Figures of paired layers, of all parts or of one, and sums over them. Called by A2 to A7, L0 and those about kernels.
#include "analyze/layers/layers.h"

#include <math.h>

const struct view_set *layers_model_set(const struct question *question, const struct layers *layers,
                                        const char **ret_from)
{
  const struct layer_source *source = &layers->source;
  if (!source->on_device)
    return view_rule(question->view, question->batch_size, XSP_LEVEL_MODEL, ret_from);
  *ret_from = source->set->levels_text;
  return source->set->levels.mask & XSP_LEVEL_MASK(XSP_LEVEL_MODEL) ? source->set : NULL;
}

struct layers layers_of_part(const struct layers *layers, const struct layers_part *part)
{
  struct layers of = *layers;
  of.set = part->set;
  of.first_observation = part->first_observation;
  of.observation_count = part->set->observation_count;
  return of;
}

struct figure layer_latency(struct question *question, const struct layers *layers, const struct layer *layer)
{
  const double *values = layer->latency_ms; // NULL of an empty layer
  return question_figure(question, layers->set, values == NULL ? NULL : values + layers->first_observation);
}

void layer_put(struct table_builder *table, const struct layer *layer)
{
  table_put(table, "layer_index", cell_int(layer->index));
  table_put(table, "layer_name", cell_text(layer->name_text));
  table_put(table, "layer_type", cell_text(layer->type));
}

static const double *values_of(const struct layer *layer, enum layer_value which)
{
  switch (which) {
  case LAYER_ALLOC:
    return layer->alloc_bytes;
  case LAYER_KERNELS:
    return layer->kernels;
  case LAYER_HOST:
    return layer->host_ms;
  case LAYER_EXECUTED:
    return layer->executed_ms;
  case LAYER_ALONE:
    return layer->alone_ms;
  default:
    return layer->latency_ms;
  }
}

double layer_value(struct question *question, const struct layers *layers, const struct layer *layer,
                   enum layer_value which)
{
  const double *values = values_of(layer, which);
  return question_value(question, layers->set, values == NULL ? NULL : values + layers->first_observation);
}

double *layers_sums(const struct question *question, const struct layers *layers, const uint32_t *group_of,
                    size_t group_count, enum layer_value which)
{
  size_t observations = layers->observation_count;
  double *sums = analyze_unknowns(question->scratch, group_count * observations);
  for (size_t k = 0; k < layers->count; k++) {
    const double *values = values_of(&layers->items[k], which);
    for (size_t i = 0; i < observations; i++) {
      double value = values == NULL ? NAN : values[layers->first_observation + i];
      double *sum = &sums[(group_of != NULL ? group_of[k] : 0) * observations + i];
      value = which == LAYER_ONE && !isnan(value) ? 1 : value;
      if (!isnan(value))
        *sum = isnan(*sum) ? value : *sum + value;
    }
  }
  return sums;
}

double layers_total(struct question *question, const struct layers *layers, enum layer_value which)
{
  return question_value(question, layers->set, layers_sums(question, layers, NULL, 1, which));
}
