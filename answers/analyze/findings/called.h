// SPDX-License-Identifier: Apache-2.0
// The operators that a program calls, in their order: for rules about what follows what.
#ifndef XSP_ANALYZE_FINDINGS_CALLED_H
#define XSP_ANALYZE_FINDINGS_CALLED_H

#include "analyze/findings/findings.h"

struct called { // an operator that no other one calls, of a kept observation
  int64_t track, start_ns;
  uint32_t place, observation;
  double ns;
};
typedef VECTOR(struct called) called_vector;

// Adds those of the run at `run_index` of the set, by track and start. findings_places has been called; the file is not folded.
enum status findings_called(struct findings *findings, size_t run_index, called_vector *called,
                            struct error *err) MUST_CHECK;
// What the next one on the track is, in the same observation; NULL: there is none. `end`: of all.
static inline const struct called *called_next(const struct called *at, const struct called *end)
{
  const struct called *next = at + 1;
  return next < end && next->track == at->track && next->observation == at->observation ? next : NULL;
}
// The function of the program's own code that calls the operator itself, as a place; PLACE_NONE: another one does.
uint32_t findings_called_by(const struct places *places, uint32_t place);

#endif
