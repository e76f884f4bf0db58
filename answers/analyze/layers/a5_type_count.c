// SPDX-License-Identifier: Apache-2.0
// A5, layers by type: how many there are of each.
#include "analyze/a_list.h"
#include "analyze/layers/types.h"

#include <math.h>

static void put_row(struct table_builder *table, const struct types *types, const char *type, double count)
{
  table_row(table);
  table_put(table, types->key, cell_text(type));
  table_put(table, "count", cell_number(count));
  table_put_share(table, "count_pct", "layers", cell_real(types_share_pct(count, types->total)));
}

static enum status answer(struct question *question, struct error *err)
{
  struct layers layers;
  struct types types;
  XSP_TRY(layers_answer(question, LAYERS_FOR_COUNT, &layers, err));
  types_load(question, &layers, LAYER_ONE, &types);
  put_row(&question->table, &types, NULL, NAN);
  table_declared(&question->table, types.count);
  for (size_t i = 0; i < types.count; i++)
    put_row(&question->table, &types, types.names[types.order[i]], types.values[types.order[i]]);
  table_summary(&question->table, "layers", cell_number(types.total));
  return STATUS_OK;
}

const struct analysis analysis_a5 = {.id = "A5",
                                     .title = "layers by type",
                                     .summary = "layers by type: count",
                                     .needs = "L",
                                     .detail = TRACE_LAYERS,
                                     .answer = answer};
