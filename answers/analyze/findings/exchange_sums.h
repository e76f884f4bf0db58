// SPDX-License-Identifier: Apache-2.0
// What the ranks of a job exchange in their steps, added up run by run.
#ifndef XSP_ANALYZE_FINDINGS_EXCHANGE_SUMS_H
#define XSP_ANALYZE_FINDINGS_EXCHANGE_SUMS_H

#include "analyze/ranks/ranks.h"

struct exchanges { // means over the steps of all ranks that are no warm-up
  size_t steps;
  double step_ms, compute_ms, exposed_ms;
  double transfer_ms; // exposed, without waiting for others
  double collectives, bytes;
  double passes;       // backward passes
  double repeated_pct; // steps with several passes that each exchange the same number of bytes
  double after_passes; // collectives that begin after the step's last pass
  const char *file;    // line that starts those with most bytes; NULL: unknown
  int64_t line;
};

struct exchange_sums {  // rank_facts_done frees `bytes_of`
  struct exchanges all; // sums, not means
  double repeated;      // steps
  struct map bytes_of;  // by line
  uint64_t most_bytes;  // of the line that is in `all`
};

void findings_add_exchanges(struct exchange_sums *sums, const struct ranks *ranks, const struct rank_run *run,
                            const struct store_call_paths *paths);

#endif
