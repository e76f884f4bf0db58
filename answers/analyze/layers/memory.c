// SPDX-License-Identifier: Apache-2.0
// Memory of layers: where alloc_bytes comes from, and why it is missing. Called by A2, A4, A7 and T9.
#include "analyze/layers/layers.h"

#include <math.h>

#define NO_ALLOC "no layer has alloc_bytes: neither what layers allocated nor the size of their outputs was recorded"

static size_t count_unknown(const struct layers *layers)
{
  size_t unknown = 0;
  for (size_t i = 0; i < layers->count; i++) {
    bool is_known = false;
    for (size_t k = 0; k < layers->observation_count && !is_known; k++)
      is_known = !isnan(layers->items[i].alloc_bytes[k]);
    unknown += !is_known;
  }
  return unknown;
}

void layers_note_alloc(struct question *question, const struct layers *layers)
{
  if (count_unknown(layers) == layers->count)
    table_note(&question->table, NO_ALLOC);
  else if (layers->alloc_is_outputs)
    table_note(&question->table, "alloc_bytes are the bytes of the layers' outputs: allocations were not recorded, "
                                 "or not in all runs");
}

enum status layers_need_alloc(struct question *question, const struct layers *layers, struct error *err)
{
  size_t unknown = count_unknown(layers);
  if (unknown == layers->count)
    return question_lacks(question, err, NO_ALLOC);
  layers_note_alloc(question, layers);
  if (unknown > 0)
    table_note(&question->table, "%zu of %zu layers have no alloc_bytes; sums leave them out", unknown, layers->count);
  return STATUS_OK;
}

void layers_put_alloc_from(struct table_builder *table, const struct layers *layers)
{
  analyze_put_from(table, "alloc_from", layers->alloc_is_outputs ? "outputs" : NULL);
}
