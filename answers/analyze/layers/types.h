// SPDX-License-Identifier: Apache-2.0
// Layers grouped by type, for A5, A6 and A7.
#ifndef XSP_ANALYZE_LAYERS_TYPES_H
#define XSP_ANALYZE_LAYERS_TYPES_H

#include "analyze/layers/layers.h"

struct types {
  const char *key;    // of the column of names: the type, or with --by module the module
  const char **names; // by group; NULL: layers without it
  size_t count;
  uint32_t *group_of; // by layer
  double *sums;       // groups x observations
  double *values;     // the statistic over each group's sums; NaN: none
  double total;       // the statistic over the sums of all layers
  size_t *order;      // groups by value falling, then by name
};
void types_load(struct question *question, const struct layers *layers, enum layer_value which,
                struct types *ret_types);
struct figure type_figure(struct question *question, const struct layers *layers, const struct types *types,
                          size_t group);
double types_share_pct(double part, double whole); // NaN where the whole is 0 or unknown

#endif
