// SPDX-License-Identifier: Apache-2.0
// What PyTorch's engine runs in the backward passes of a run, in order: which gradients of parameters it sets, to which it adds, and how
// many parameters the optimizers then update.
#ifndef XSP_ANALYZE_FINDINGS_BACKWARD_PASSES_H
#define XSP_ANALYZE_FINDINGS_BACKWARD_PASSES_H

#include "analyze/findings/findings.h"

enum part_kind { PART_OTHER, PART_SET, PART_ADDED }; // the latter two: the gradient of a parameter
struct backward_part {
  double ns;
  uint32_t place; // of the forward operator; of a gradient, of backward(). PLACE_NONE
  uint8_t kind;
};
struct backward_pass {
  uint32_t observation;
  size_t first, end; // parts
  size_t last_set;   // the part after the last gradient that is set; `first`: none is
  size_t set, added; // gradients
  uint32_t place;    // of its last part that is no gradient; PLACE_NONE
  double updated;    // parameters, by steps of optimizers before the next pass; 0: no step
  bool is_single;    // of its observation
};
struct backward_passes {
  const struct view_run *run;
  VECTOR(struct backward_part) parts;
  VECTOR(struct backward_pass) passes; // in order
  size_t *zeroed;                      // by observation: tensors, in place
  size_t *passes_of;                   // by observation
  bool are_updates_known;              // each optimizer has an operator for each parameter
};

// STATUS_NO (findings_lack): the file has none.
enum status findings_passes_load(struct findings *findings, const struct places *places, size_t run_index,
                                 struct backward_passes *ret, struct error *err) MUST_CHECK;
void findings_passes_done(struct backward_passes *passes);

#endif
