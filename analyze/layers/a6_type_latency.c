// SPDX-License-Identifier: Apache-2.0
// A6, latency by layer type, and the convolutions' share of the layers and of the model.
#include "analyze/a_list.h"
#include "analyze/layers/types.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

enum { TYPE, LATENCY, LATENCY_PCT, SPREAD, FROM = SPREAD + 4, COLUMN_COUNT };

static const struct table_column columns[COLUMN_COUNT] = {
    COLUMN("layer_type", "", "type"),    COLUMN("latency_ms", "ms", "latency"),
    COLUMN("latency_pct", "%", "share"), SPREAD_COLUMNS,
    COLUMN("latency_from", "", "from"),
};

// conv(?!ert|ers), in any case: Conv, FusedConv2D, depthwise ones; not Convert or Conversion.
static bool says_convolution(const char *type)
{
  for (const char *at = type; at != NULL && (at = strcasestr(at, "conv")) != NULL; at += 4)
    if (strncasecmp(at + 4, "ert", 3) != 0 && strncasecmp(at + 4, "ers", 3) != 0)
      return true;
  return false;
}

// A framework may name its layers by what computes them: XNNPACK's 1×1 convolutions are of type "Fully Connected".
static bool is_convolution(const struct layer *layer)
{
  return says_convolution(layer->type) || says_convolution(layer->operation);
}

static void summarize(struct question *question, const struct layers *layers, const struct types *types)
{
  uint32_t *group_of = arena_alloc_array(question->arena, layers->count + 1, sizeof *group_of);
  double convolutions_ms = NAN;
  bool has_types = false;
  bool has_convolution = false;
  for (size_t i = 0; i < types->count; i++)
    has_types |= types->names[i] != NULL;
  size_t by_operator = 0;
  for (size_t i = 0; group_of != NULL && i < layers->count; i++) {
    group_of[i] = is_convolution(&layers->items[i]);
    has_convolution |= group_of[i] != 0;
    by_operator += group_of[i] != 0 && !says_convolution(layers->items[i].type);
  }
  if (by_operator > 0)
    table_note(&question->table, "convolutions: %zu of them by the model's operator, their type does not say so",
               by_operator);
  if (has_types && !has_convolution)
    convolutions_ms = 0;
  double *sums = has_convolution && group_of != NULL ? layers_sums(question, layers, group_of, 2, LAYER_LATENCY) : NULL;
  if (sums != NULL)
    convolutions_ms = layers_statistic(question, sums + layers->observation_count, layers->observation_count);
  const char *from;
  const struct view_set *model = view_rule(question->view, question->batch_size, XSP_LEVEL_MODEL, &from);
  question_note_from(question, "model", from);
  table_summary(&question->table, "convolution_pct_of_layers",
                cell_real(types_share_pct(convolutions_ms, types->total)));
  table_summary(&question->table, "convolution_pct_of_model",
                cell_real(types_share_pct(convolutions_ms, question_model_latency(question, model))));
}

static enum status answer(struct question *question, struct error *err)
{
  struct layers layers;
  struct types types;
  XSP_TRY(layers_answer(question, &layers, err));
  XSP_TRY(types_load(question, &layers, LAYER_LATENCY, &types, err));
  table_columns(&question->table, columns, COLUMN_COUNT);
  double *values = arena_alloc_array(question->arena, layers.observation_count + 1, sizeof *values);
  if (values == NULL)
    return question_no_memory(err);
  for (size_t i = 0; i < types.count; i++) {
    size_t group = types.order[i];
    struct table_cell *row = table_row(&question->table);
    size_t count = 0;
    for (size_t k = 0; k < layers.observation_count; k++)
      if (!isnan(types.sums[group * layers.observation_count + k]))
        values[count++] = types.sums[group * layers.observation_count + k];
    row[TYPE] = cell_text(types.names[group]);
    row[LATENCY] = cell_real(types.values[group]);
    row[LATENCY_PCT] = cell_real(types_share_pct(types.values[group], types.total));
    cell_spread(&row[SPREAD], values, count);
    row[FROM] = cell_text(layers.from);
  }
  summarize(question, &layers, &types);
  table_drop_empty(&question->table, "latency_from");
  return STATUS_OK;
}

const struct analysis analysis_a6 = {.id = "A6", .title = "layer latency by type", .needs = "L", .answer = answer};
