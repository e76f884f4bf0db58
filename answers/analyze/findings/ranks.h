// SPDX-License-Identifier: Apache-2.0
// What rules about the ranks of a job share (ranks.c).
#ifndef XSP_ANALYZE_FINDINGS_RANKS_H
#define XSP_ANALYZE_FINDINGS_RANKS_H

#include "analyze/findings/findings.h"
#include "analyze/findings/rank_facts.h"

// Loaded once for all rules. `*ret_ranks` NULL: fewer than two ranks made observations.
enum status findings_ranks(struct findings *findings, const struct ranks **ret_ranks, struct error *err) MUST_CHECK;

struct straggler_places {
  const char *slow_file, *wait_file; // NULL: unknown
  int64_t slow_line, wait_line;      // 0: unknown
  double slow_ms;                    // what the slow rank takes longer at slow_line, in a step
  double sampled_pct;                // the same at all lines, of what the rank's samples show; NaN: no samples
  const char *wait_name;             // the collective with most waiting of the others: "all_reduce"
};
// By samples: the line of the program at which the rank takes longer than the others do, waiting for others left out; and the line at
// which these wait.
enum status findings_straggler_places(struct findings *findings, const struct ranks *ranks, uint32_t rank,
                                      struct straggler_places *ret_places, struct error *err) MUST_CHECK;

#endif
