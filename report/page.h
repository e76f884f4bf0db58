// SPDX-License-Identifier: Apache-2.0
// The parts of the page that is written by report_page: the document (JSON) and each run's columns. Inside this room only.
#ifndef XSP_REPORT_PAGE_H
#define XSP_REPORT_PAGE_H

#include "base/json_write.h"
#include "report/page_columns.h"
#include "report/report.h"

#define PAGE_VERSION 1 // of the document; web/src/data.ts reads this one

struct page_run {
  const struct store_run *run;
  bool is_shown;         // its spans are on the page
  size_t span_count;     // of the run
  struct page_rows rows; // row_count, span_count, first_ns; arrays only while the run is encoded
  struct page_encoded columns[PAGE_COLUMNS];
};

// page_tables.c: every analysis that the file has an answer to, for each batch size, as an array of objects.
enum status page_put_tables(struct store *store, const struct store_run *runs, size_t run_count, struct buf *out,
                            struct error *err) MUST_CHECK;

#endif
