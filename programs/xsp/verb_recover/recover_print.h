// SPDX-License-Identifier: Apache-2.0
// A recovery, and what is said about it.
#ifndef XSP_PROGRAMS_XSP_RECOVER_PRINT_H
#define XSP_PROGRAMS_XSP_RECOVER_PRINT_H

#include "base/arena.h"
#include "collect/collect.h"
#include "correlate/correlate.h"
#include "store/store.h"

#define SESSIONS_MAXIMUM 64

struct recovered {
  const char *directory;
  struct collect_session *session;
  struct collect_origin origin; // path NULL: none, or not the session's own
  int64_t run_id;               // what its rings are drained into
  struct collect_counts counts;
};
struct recovery {
  struct recovered sessions[SESSIONS_MAXIMUM];
  size_t session_count;
  char source[4200];  // the file that holds what was committed; "": none
  bool keeps;         // --keep: the sessions stay as they are
  bool aggregates;    // --aggregate
  bool has_left_out;  // a journal of another user lies next to it
  struct store *from; // the same, open
  struct store *to;
  struct correlate_fold *fold; // of `to`; NULL: spans are stored
  uint64_t copied;             // spans
  int64_t last_run_id;
  struct arena arena;
};

void recover_report(struct recovery *recovery, const char *path); // on stderr
enum status recover_print_json(const struct recovery *recovery, const char *path, struct error *err) MUST_CHECK;

#endif
