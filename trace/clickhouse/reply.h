// SPDX-License-Identifier: Apache-2.0
// What a database replies: its list of runs, and why it refuses. Pure; the bytes may be hostile. Inside this room only.
#ifndef XSP_CLICKHOUSE_REPLY_H
#define XSP_CLICKHOUSE_REPLY_H

#include "base/slice.h"
#include "base/vector.h"

struct reply_run {
  uint64_t run;                         // the database's number for it
  int64_t spans, observations, foreign; // foreign: spans of other programs, whose parents are not final
  bool has_metrics;
  bool is_repeated; // some id came more than once
};
struct reply_runs { // clickhouse_reply_runs_done frees it
  VECTOR(struct reply_run) runs;
};
// False: it is not such a list.
bool clickhouse_reply_read_runs(struct slice text, struct reply_runs *ret_runs);
void clickhouse_reply_runs_done(struct reply_runs *runs);

#define REPLY_PROBLEM_SIZE 400
// The first line of a refusal, without control bytes.
void clickhouse_reply_problem(struct slice text, char problem[REPLY_PROBLEM_SIZE]);

#endif
