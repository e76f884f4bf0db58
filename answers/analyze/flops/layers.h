// SPDX-License-Identifier: Apache-2.0
// The analytic work of paired layers, from the shapes in their tags.
#ifndef XSP_ANALYZE_FLOPS_LAYERS_H
#define XSP_ANALYZE_FLOPS_LAYERS_H

#include "analyze/flops/flops.h"
#include "analyze/layers/layers.h"

struct layers_work {
  struct flop_counts *items; // by layer, as layers->items; unknown where any observation's is
  size_t known;              // layers whose flops are known
  bool has_any;              // some of them are not 0, or all are known: layers that only move data are no figure alone
};

// Counts the layers of the runs of `set`, which `layers` was loaded from (alone or with others). Layers nested in one that
// is known are part of it; in the modes where they have rows of their own, their work counts only there.
enum status flops_layers_load(struct question *question, const struct layers *layers, const struct view_set *set,
                              struct layers_work *ret_work, struct error *err) MUST_CHECK;

#endif
