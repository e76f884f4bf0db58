// SPDX-License-Identifier: Apache-2.0
// The address of a table, and which of its spans are meant. Inside this room only.
#ifndef XSP_CLICKHOUSE_ADDRESS_H
#define XSP_CLICKHOUSE_ADDRESS_H

#include "base/arena.h"
#include "base/error.h"

#include <stdbool.h>

// clickhouse://[USER@]HOST[:PORT]/[DATABASE][?table=T&experiment=E&from=TIME&to=TIME]. Texts live in the arena.
struct clickhouse_address {
  const char *given;           // for messages
  const char *url;             // of the HTTP interface
  const char *user, *password; // NULL: the server's default
  const char *database, *table;
  const char *experiment, *from, *to; // NULL: all
  bool has_columns;                   // sql_has_columns of the table; filled in later
};

enum status clickhouse_address_read(const char *given, struct arena *arena, struct clickhouse_address *ret,
                                    struct error *err) MUST_CHECK;

#endif
