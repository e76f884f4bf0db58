// SPDX-License-Identifier: Apache-2.0
// Columns of a query, or of a table, as contiguous arrays. Inside this room only.
#ifndef XSP_READ_COLUMNS_H
#define XSP_READ_COLUMNS_H

#include "base/interner.h"
#include "base/vector.h"
#include "report/report.h"

#include <xsp/read.h>

struct column {
  char *name;
  VECTOR(int64_t) values; // integers, the bits of doubles, numbers of texts
  VECTOR(uint8_t) types;
  uint64_t null_count;
  uint32_t type; // enum xsp_read_type
};
struct xsp_read_table {
  VECTOR(struct column) columns;
  size_t row_count;
  struct interner texts;
  VECTOR(int64_t) offsets; // of the texts, from columns_finish on
  VECTOR(char) bytes;
};

enum status columns_query(struct store *store, const char *sql, struct xsp_read_table *table,
                          struct error *err) MUST_CHECK;
void columns_of_table(const struct table *from, struct xsp_read_table *table);
void columns_finish(struct xsp_read_table *table); // once, after the last row
void columns_done(struct xsp_read_table *table);

#endif
