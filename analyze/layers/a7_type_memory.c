// SPDX-License-Identifier: Apache-2.0
// A7, memory allocated by layer type.
#include "analyze/a_list.h"
#include "analyze/layers/types.h"

static const struct table_column columns[] = {
    COLUMN("layer_type", "", "type"),
    COLUMN("alloc_bytes", "bytes", "allocated"),
    COLUMN("alloc_pct", "%", "share"),
};

static enum status answer(struct question *question, struct error *err)
{
  struct layers layers;
  struct types types;
  XSP_TRY(layers_answer(question, &layers, err));
  if (!layers_have_alloc(&layers))
    return question_lacks(question, err, "no layer says how much memory it allocated (alloc_bytes)");
  XSP_TRY(types_load(question, &layers, LAYER_ALLOC, &types, err));
  layers_note_alloc(question, &layers);
  table_columns(&question->table, columns, sizeof columns / sizeof columns[0]);
  for (size_t i = 0; i < types.count; i++) {
    size_t group = types.order[i];
    struct table_cell *row = table_row(&question->table);
    row[0] = cell_text(types.names[group]);
    row[1] = cell_number(types.values[group]);
    row[2] = cell_real(types_share_pct(types.values[group], types.total));
  }
  return STATUS_OK;
}

const struct analysis analysis_a7 = {
    .id = "A7", .title = "layer allocated memory by type", .needs = "L", .answer = answer};
