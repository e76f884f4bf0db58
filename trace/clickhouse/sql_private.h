// SPDX-License-Identifier: Apache-2.0
// Parts of queries: table expressions and quoting. Inside this room only.
#ifndef XSP_CLICKHOUSE_SQL_PRIVATE_H
#define XSP_CLICKHOUSE_SQL_PRIVATE_H

#include "clickhouse/sql.h"

// `rows`: the selected spans, with the columns that the others are made of.
void sql_put_rows(const struct clickhouse_address *address, struct buf *sql);
// `ancestors`: of every span that may be another one's parent the observation that it is in or is (0: none). After `rows`; the query
// begins WITH RECURSIVE. Not of the whole runs: parents may form circles there, or be several.
void sql_put_observations(const struct reply_runs *whole, struct buf *sql);
// The same, and the nearest layer that it is in or is (0: none), and the layer that this one counts as (`layer_mode`; NULL: the run's
// own).
void sql_put_ancestors(const char *layer_mode, const struct reply_runs *whole, struct buf *sql);
void sql_put_runs(const struct reply_runs *runs, struct buf *sql); // "(1,2,3)"; never empty
// `facts`: by span, what devices do in it, as a part of a list of attributes; of layers only where `are_by_layer`. After `ancestors`.
void sql_put_device_facts(const struct reply_runs *whole, bool are_by_layer, struct buf *sql);

#endif
