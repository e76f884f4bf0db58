// SPDX-License-Identifier: Apache-2.0
// SQL for people: one statement that reads, nothing else. Part of store.h, which includes it.
#ifndef XSP_STORE_SQL_H
#define XSP_STORE_SQL_H

#include "base/error.h"
#include "base/headway.h"

#include <stddef.h>
#include <stdint.h>

struct store;

#define STORE_NULL 0 // like STORE_INT, STORE_DOUBLE, STORE_TEXT
#define STORE_BLOB 4
struct store_cell { // valid during the call of `row`
  int type;
  int64_t integer;
  double real;
  const char *text; // TEXT and BLOB: `length` bytes; a TEXT is also NUL-terminated (and may hold NUL bytes)
  size_t length;
};
struct store_query_sink {
  void *context;
  // Once, before the first row, also where there are no rows. May be NULL.
  enum status (*columns)(void *context, const char *const *names, size_t count, struct error *err);
  // Once a row. A status other than STATUS_OK ends the query and is what store_query returns.
  enum status (*row)(void *context, const struct store_cell *cells, size_t count, struct error *err);
  unsigned timeout_s;             // how long the query may run; 0: as long as it takes
  struct headway_watcher watcher; // of the spans, tags or samples that the statement's outermost loop takes
};
// Runs one SELECT (or WITH … SELECT, VALUES, EXPLAIN of one). STATUS_USE: not one such statement, a syntax error, a
// table or column that does not exist, or something that is not allowed (write, attach, pragma, load_extension).
// STATUS_INPUT: the file is broken where the query looked, or the query ran for too long.
enum status store_query(struct store *store, const char *sql, const struct store_query_sink *sink,
                        struct error *err) MUST_CHECK;

#endif
