// SPDX-License-Identifier: Apache-2.0
// Queries over the HTTP interface of ClickHouse, on one kept connection. Inside this room only. One thread.
#ifndef XSP_CLICKHOUSE_CLIENT_H
#define XSP_CLICKHOUSE_CLIENT_H

#include "base/buf.h"
#include "clickhouse/address.h"

#include <stdint.h>

struct client;
// `address` must live as long. STATUS_SYSTEM: there is no libcurl.
enum status clickhouse_client_open(const struct clickhouse_address *address, struct client **ret_client,
                                   struct error *err) MUST_CHECK;
void clickhouse_client_close(struct client *client); // NULL: nothing
// The reply goes into `reply`, or to the end of the file `fd` where reply is NULL. STATUS_INPUT: the server refuses the query.
enum status clickhouse_client_query(struct client *client, const char *sql, struct buf *reply, int fd,
                                    int64_t *ret_bytes, struct error *err) MUST_CHECK;
// Queries ask for settings that make joins faster, which users who may only read cannot choose: without them from now on.
void clickhouse_client_drop_settings(struct client *client);
bool clickhouse_client_refusal_has(const struct client *client, const char *text); // of the last query

#endif
