// SPDX-License-Identifier: Apache-2.0
// The queries, as texts. Inside this room only.
#ifndef XSP_CLICKHOUSE_SQL_H
#define XSP_CLICKHOUSE_SQL_H

#include "base/buf.h"
#include "clickhouse/address.h"
#include "clickhouse/clickhouse.h"
#include "clickhouse/reply.h"

// What the table has, and whether all columns that queries can use instead of maps are in this description.
void sql_columns(const struct clickhouse_address *address, struct buf *sql);
bool sql_has_columns(struct slice description);
// The list of runs, as clickhouse_reply_read_runs reads it. `finds_repeated`: with reply_run.is_repeated, which takes longer.
void sql_runs(const struct clickhouse_address *address, bool finds_repeated, struct buf *sql);
struct sql_question {
  const struct clickhouse_address *address;
  enum trace_detail detail;
  const char *layer_mode;         // of analyze --layer; NULL: the runs' own
  const struct reply_runs *runs;  // all
  const struct reply_runs *whole; // of which every span is wanted
  const struct reply_runs *loose; // with kernels that are in no observation by their parents, which are wanted, too
};
// Runs with kernels that are in no observation by their parents, without the whole runs; the same form of a list.
void sql_runs_with_loose_kernels(const struct sql_question *question, struct buf *sql);
// Queries that follow parents may be refused with SQL_DEEP: too many spans are above one, or they are a circle. This lists such runs in
// the same form. No query follows parents in whole runs.
#define SQL_DEEP "xsp: a span has too many above it"
void sql_runs_that_are_deep(const struct sql_question *question, struct buf *sql);
// Requests of OTLP, one a line: spans as they are.
void sql_spans(const struct sql_question *question, struct buf *sql);
#define SQL_LOOSE "xsp: a kernel is in no observation by its parents"
// The same: kernels, added up; not of the whole runs. `refuses_loose`: the database refuses, with SQL_LOOSE, where there is a loose one,
// which takes less than to look for them first; else they are left out.
void sql_kernels(const struct sql_question *question, bool refuses_loose, struct buf *sql);

#endif
