// SPDX-License-Identifier: Apache-2.0
// A7, memory allocated by layer type.
#include "analyze/a_list.h"
#include "analyze/layers/types.h"

static void put_row(struct table_builder *table, const struct types *types, size_t group)
{
  double bytes = types->values[group];
  table_row(table);
  table_put(table, types->key, cell_text(types->names[group]));
  table_put(table, "alloc_bytes", cell_number(bytes));
  table_put_share(table, "alloc_pct", "all", cell_real(types_share_pct(bytes, types->total)));
}

static enum status answer(struct question *question, struct error *err)
{
  struct layers layers;
  struct types types;
  XSP_TRY(layers_answer(question, LAYERS_FOR_MEMORY, &layers, err));
  XSP_TRY(layers_need_alloc(question, &layers, err));
  types_load(question, &layers, LAYER_ALLOC, &types);
  for (size_t i = 0; i < types.count; i++)
    put_row(&question->table, &types, types.order[i]);
  return STATUS_OK;
}

const struct analysis analysis_a7 = {.id = "A7",
                                     .title = "layer allocated memory by type",
                                     .summary = "layers by type: memory",
                                     .needs = "L",
                                     .detail = TRACE_LAYERS,
                                     .answer = answer};
