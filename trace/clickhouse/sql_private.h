// SPDX-License-Identifier: Apache-2.0
// Parts of queries: table expressions and quoting. Inside this room only.
#ifndef XSP_CLICKHOUSE_SQL_PRIVATE_H
#define XSP_CLICKHOUSE_SQL_PRIVATE_H

#include "clickhouse/sql.h"

void sql_put_runs(const struct reply_runs *runs, struct buf *sql); // "(1,2,3)"; never empty
// `facts`: by span, what devices do in it, as a part of a list of attributes; of layers only where `are_by_layer`. After `ancestors`.
void sql_put_device_facts(const struct reply_runs *whole, bool are_by_layer, struct buf *sql);

#endif
