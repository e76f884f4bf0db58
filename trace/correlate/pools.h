// SPDX-License-Identifier: Apache-2.0
// Library calls on threads of pools: parents from the operator in whose parallel region they run. Private to correlate.
#ifndef XSP_CORRELATE_POOLS_H
#define XSP_CORRELATE_POOLS_H

#include "correlate/parents.h"

struct pools_source { // of one run
  struct store *store;
  int64_t run_id;
  const struct store_spans *spans;
  const struct store_track *tracks;
  size_t track_count;
};
// After parents_learn. A thread that has library calls only works for others: those of its calls that libraries announced (ITT, or
// functions by name) and that have no parent get the announced call of their name, on a thread that is none of a pool, that lasts
// from before their start to after their end, else the innermost such layer, of their process and if such are on one thread only
// (basis containment). On several: ambiguous.
enum status pools_find(const struct pools_source *source, struct parents *parents, struct error *err) MUST_CHECK;

#endif
