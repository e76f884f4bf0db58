// SPDX-License-Identifier: Apache-2.0
// Series of records that have facts in common, and verdicts in them. Inside this room only.
#ifndef XSP_HISTORY_SERIES_H
#define XSP_HISTORY_SERIES_H

#include "history/history.h"

struct judged { // a record, or a series, against what was before
  enum verdict verdict;
  const char *reason;                       // of one that is not decided; NULL
  bool has_verdict;                         // there was something before
  double difference_pct, low_pct, high_pct; // NaN: unknown
};
struct history_series {
  size_t *records; // places in the history, in order of time: those with a latency
  size_t count;
  size_t segments;      // between changes; 0: too few records
  double latency_ms;    // of the last segment, or record
  struct judged judged; // from four records on of the last segment against the one before, else of the last record
};
struct all_series {
  const char *facts[16];        // that the records of a series have in common; NULL-terminated
  struct history_series *items; // in order of their first records
  size_t count;
  struct judged *judged; // of each record of the history, against the one before it in its series
};
// In `arena`. STATUS_USE: request->by names no fact.
enum status history_series_of(const struct history *history, const struct history_request *request, struct arena *arena,
                              struct all_series *ret_series, struct error *err) MUST_CHECK;

#endif
