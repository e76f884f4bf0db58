// SPDX-License-Identifier: Apache-2.0
// A run's spans as the page's columns: sorted so that neighbours are alike, cut into planes of bytes, gzip, base64. Inside
// this room only; web/src/data.ts reads them, docs/internals/page.md describes them.
#ifndef XSP_REPORT_PAGE_COLUMNS_H
#define XSP_REPORT_PAGE_COLUMNS_H

#include "base/buf.h"
#include "report/timeline.h"

enum page_column { // one value a span, in the page's order; all but ATTRIBUTES as differences that are small
  PAGE_GAP,        // start, from the end of the span before it in its row; the row's first: from the run's first start
  PAGE_DURATION,   // ns
  PAGE_NAME,       // place in page_names
  PAGE_PARENT,     // place of the parent, from the place of the previous span's parent; -1: none
  PAGE_ATTRIBUTES, // level | kind << 3 | basis << 5
  PAGE_LINK,       // of executions: place of the launch + 1, from the previous one's; 0: none
  PAGE_COLUMNS,
};
extern const char *const page_column_names[PAGE_COLUMNS];

// Texts that the page shows, numbered as they are met.
struct page_names {
  uint32_t *place; // by string id of the store: place + 1, 0: not met
  size_t capacity;
  uint32_t *strings; // by place: string id of the store
  uint32_t count, room;
};
void page_names_done(struct page_names *names);

struct page_row { // of rectangles: spans of one lane that nest equally deep; places first … first + count
  size_t lane;    // index into timeline_run.lanes
  uint32_t depth;
  size_t first, count;
};
struct page_rows {
  struct page_row *rows; // in the arena given
  size_t row_count;
  size_t span_count; // less than the run's where tracks have clocks of their own
  int64_t first_ns;  // earliest start, as stored
  uint32_t *place;   // by row of the store: place on the page, UINT32_MAX: not shown
  uint32_t *source;  // by place: row of the store
};
// Puts the run's spans in the page's order.
enum status page_rows_lay(const struct timeline_run *run, struct arena *arena, struct page_rows *ret_rows,
                          struct error *err) MUST_CHECK;

struct page_encoded {
  unsigned width;   // bytes a value: as many planes
  size_t raw_bytes; // count * width
};
// Appends column `column` as base64 of gzip of its planes.
enum status page_column_encode(const struct timeline_run *run, const struct page_rows *rows, enum page_column column,
                               struct page_names *names, struct arena *arena, struct buf *out,
                               struct page_encoded *ret_encoded, struct error *err) MUST_CHECK;

// Appends base64 of gzip of `length` bytes.
enum status page_put_packed(const void *bytes, size_t length, struct buf *out, struct error *err) MUST_CHECK;

#endif
