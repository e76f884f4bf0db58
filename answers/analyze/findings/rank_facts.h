// SPDX-License-Identifier: Apache-2.0
// The ranks of a job as rules of findings need them (rank_facts.c).
#ifndef XSP_ANALYZE_FINDINGS_RANK_FACTS_H
#define XSP_ANALYZE_FINDINGS_RANK_FACTS_H

#include "analyze/findings/exchange_sums.h"
#include "analyze/findings/links.h"

// Collectives are added up run by run: there may be millions.
struct rank_facts {
  struct ranks ranks; // without collectives
  struct store_call_paths paths;
  struct exchange_sums exchanges;
  struct links links;
  struct map collective_ns; // by rank and the program's line around the start: from the arrival to the end
  struct map waiting_ns;    // by rank; and kind or name, and is_scattered
};
// As ranks_load, for at least two ranks.
enum status rank_facts_load(struct question *question, struct rank_facts *ret_facts, struct error *err) MUST_CHECK;
void rank_facts_done(struct rank_facts *facts); // NULL: nothing

#endif
