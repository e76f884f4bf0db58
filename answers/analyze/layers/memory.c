// SPDX-License-Identifier: Apache-2.0
// Memory of layers: what they allocated. Called by A2, A4, A7 and T9.
#include "analyze/layers/layers.h"

#include <math.h>

enum status layers_need_alloc(struct question *question, const struct layers *layers, struct error *err)
{
  size_t unknown = 0;
  for (size_t i = 0; i < layers->count; i++) {
    bool is_known = false;
    for (size_t k = 0; k < layers->observation_count && !is_known; k++)
      is_known = !isnan(layers->items[i].alloc_bytes[k]);
    unknown += !is_known;
  }
  if (unknown == layers->count)
    return question_lacks(question, err, "no layer has alloc_bytes, the memory that it allocated");
  if (unknown > 0)
    table_note(&question->table, "%zu of %zu layers have no alloc_bytes; sums leave them out", unknown, layers->count);
  return STATUS_OK;
}
