// SPDX-License-Identifier: Apache-2.0
// From the tags of a run's layers to the counts of their operators.
#ifndef XSP_ANALYZE_FLOPS_TAGS_H
#define XSP_ANALYZE_FLOPS_TAGS_H

#include "analyze/flops/flops.h"
#include "analyze/run_columns.h"
#include "base/interner.h"
#include "base/map.h"

struct flop_facts { // a layer's tags; string ids, 0: none
  uint32_t type, name, shape, inputs, dims, types, values, kernel_shape, mode, operation, fused, primitive;
  uint32_t tracer;                                                 // names the dialect
  int64_t size, group, input_bytes, parameter_bytes, output_bytes; // STORE_NONE: not recorded
};
enum flop_role {
  FLOP_OPERATOR, // has a count of its own, or none
  FLOP_WRAPPER,  // does nothing itself: its work is that of the layers in it
};
struct flop_known {
  struct flop_counts counts;
  enum flop_role role; // of a layer whose category is not `module`; a module is a wrapper
};
struct flop_tags {
  struct store *store;
  struct flop_facts *facts;         // by layer
  struct interner known;            // different facts: layers of equal facts have equal counts and roles
  VECTOR(struct flop_known) counts; // by these
  struct map match_of;              // place in `matches` by the operator's name and dialect
  VECTOR(struct flop_match) matches;
  struct shapes inputs, outputs; // of the layer that is counted
  struct values values;
};

// Reads the tags of the layers in columns->spans (with their names): `layer_count` of them, numbered by `layer_of`.
enum status flop_tags_load(const struct run_columns *columns, const uint32_t *layer_of, size_t layer_count,
                           struct arena *arena, struct flop_tags *ret_tags, struct error *err) MUST_CHECK;
// Valid until the next call.
const struct flop_known *flop_tags_count(struct flop_tags *tags, uint32_t layer);
void flop_tags_done(struct flop_tags *tags);

#endif
