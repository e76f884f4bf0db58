// SPDX-License-Identifier: Apache-2.0
// The thirds of the layers, by position in execution order: which has the largest share of a value. Called by A2 to A4, A12
// and T9.
#include "analyze/layers/layers.h"

#include <math.h>

static const char *const third_names[] = {"B", "M", "E"};

struct thirds layers_thirds_of(const double pct[3])
{
  struct thirds thirds = {.pct = {pct[0], pct[1], pct[2]}};
  double most = -INFINITY;
  for (size_t third = 0; third < 3; third++)
    if (pct[third] > most) {
      most = pct[third];
      thirds.stage = third_names[third];
    }
  return thirds;
}

struct thirds layers_thirds(struct question *question, const struct layers *layers, enum layer_value which)
{
  uint32_t *third_of = arena_alloc_array(question->scratch, layers->count + 1, sizeof *third_of);
  bool has_layers[3] = {false};
  for (size_t i = 0; i < layers->count; i++) {
    third_of[i] = (uint32_t)(3 * i / layers->count);
    has_layers[third_of[i]] = true;
  }
  const double *sums = layers_sums(question, layers, third_of, 3, which);
  double total = layers_total(question, layers, which);
  double pct[3];
  for (size_t third = 0; third < 3; third++) {
    double sum = question_value(question, layers->set, sums + third * layers->observation_count);
    if (layers->count > 0 && !has_layers[third]) // fewer than three layers
      sum = 0;
    pct[third] = total != 0 ? sum / total * 100 : NAN;
  }
  return layers_thirds_of(pct);
}

void thirds_summarize(struct table_builder *table, struct thirds thirds)
{
  table_summary(table, "beginning_pct", cell_real(thirds.pct[0]));
  table_summary(table, "middle_pct", cell_real(thirds.pct[1]));
  table_summary(table, "end_pct", cell_real(thirds.pct[2]));
  table_summary(table, "stage", cell_text(thirds.stage));
}
