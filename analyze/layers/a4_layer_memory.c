// SPDX-License-Identifier: Apache-2.0
// A4, memory allocated by layer: the series over layers, and in which third of the model it goes.
#include "analyze/a_list.h"
#include "analyze/layers/layers.h"

enum { INDEX, NAME, ALLOC, COLUMN_COUNT };

static const struct table_column columns[COLUMN_COUNT] = {
    COLUMN("layer_index", "", "index"),
    COLUMN("layer_name", "", "layer"),
    COLUMN("alloc_bytes", "bytes", "allocated"),
};

static enum status answer(struct question *question, struct error *err)
{
  struct layers layers;
  XSP_TRY(layers_answer(question, &layers, err));
  if (!layers_have_alloc(&layers))
    return question_lacks(question, err, "no layer says how much memory it allocated (alloc_bytes)");
  layers_note_alloc(question, &layers);
  table_columns(&question->table, columns, COLUMN_COUNT);
  for (size_t i = 0; i < layers.count; i++) {
    struct table_cell *row = table_row(&question->table);
    row[INDEX] = cell_int(layers.items[i].index);
    row[NAME] = cell_text(layers.items[i].name_text);
    row[ALLOC] = cell_number(layers_statistic(question, layers.items[i].alloc_bytes, layers.observation_count));
  }
  layers_stages(question, &layers, LAYER_ALLOC);
  return STATUS_OK;
}

const struct analysis analysis_a4 = {.id = "A4", .title = "layer allocated memory", .needs = "L", .answer = answer};
