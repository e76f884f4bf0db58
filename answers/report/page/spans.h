// SPDX-License-Identifier: Apache-2.0
// A run's spans as the page holds them: in rows of spans that do not overlap, each known by its place. order.c lays
// the rows, spans.c fills in the values, merge.c makes fewer rectangles of them, columns.c packs them. Inside this
// room only.
#ifndef XSP_REPORT_PAGE_SPANS_H
#define XSP_REPORT_PAGE_SPANS_H

#include "base/buf.h"
#include "base/interner.h"
#include "report/exports/timeline.h"
#include "report/report.h"

#define PAGE_NOWHERE UINT32_MAX // in the place of a place: none

// ---- texts that the page shows; the same text of several files has one number
struct page_names {
  struct interner texts;
  VECTOR(uint32_t) by_string; // of the current file, by its string id: number + 1, 0: not yet used
};
void page_names_start_file(struct page_names *names); // string ids are another file's from here on
void page_names_done(struct page_names *names);
uint32_t page_names_string(struct page_names *names, struct store *store, uint32_t string);
uint32_t page_names_and_others(struct page_names *names, uint32_t number); // "NAME and others", for several spans

// ---- order
struct page_row { // spans of one lane that nest equally deep; places first … first + count
  size_t lane;    // index into timeline_run.lanes
  uint32_t depth;
  size_t first, count;
};
struct page_rows {
  struct page_row *rows; // in the arena given
  size_t row_count;
  size_t span_count; // less than the run's where tracks have clocks of their own, or where some are not kept
  uint32_t *place;   // by row of the store: place on the page, PAGE_NOWHERE: not shown
  uint32_t *source;  // by place: row of the store
};
// Puts the run's spans in the page's order. `kept`: by row of the store, which spans to show; NULL: all.
void page_rows_lay(const struct timeline_run *run, const bool *kept, struct arena *arena, struct page_rows *ret_rows);

// Finds the spans that overlap the range, and their ancestors; `run` needs ids, times, flags and parents. Returns, by
// row of the store, whether the span is kept; in `arena`.
bool *page_range_keep(const struct timeline_run *run, int64_t first_ns, const struct page_range *range,
                      struct arena *arena, size_t *ret_count);

// ---- values, by place
struct page_spans {
  size_t count;
  int64_t *start_ns, *duration_ns; // as stored
  int64_t *id;                     // span_id; 0: a rectangle of several spans
  uint32_t *name;                  // number in page_names
  uint32_t *parent, *launch;       // places; launch: of a backward operator its forward operator, of a
                                   // collective that of the lowest rank
  uint8_t *attributes;             // level | kind << 3 | basis << 5
  const uint32_t *context;         // number of the call path; NULL: no span has one
  uint32_t *merged;                // how many spans the rectangle is; NULL: 1 each
  int64_t *busy_ns;                // sum of their durations; NULL: its own
};
#define PAGE_LEVEL(attributes) ((attributes)&7)
#define PAGE_KIND(attributes) ((attributes) >> 3 & 3)
void page_spans_alloc(struct arena *arena, size_t count, bool is_merged, struct page_spans *ret_spans);
void page_spans_fill(const struct timeline_run *run, const struct page_rows *rows, struct store *store,
                     struct page_names *names, struct arena *arena, struct page_spans *ret_spans);

// ---- columns: one value a span, each cut into planes of bytes; answers/web/src/data.ts reads them
enum page_column {
  PAGE_GAP,        // start, from the end of the span before it in its row; the row's first: from the run's first start
  PAGE_DURATION,   // ns
  PAGE_NAME,       // number of the name
  PAGE_PARENT,     // place of the parent, from the place of the previous span's parent; -1: none
  PAGE_ATTRIBUTES, // level | kind << 3 | basis << 5
  PAGE_LINK,       // place of `launch` + 1, from the previous one's; 0: none
  PAGE_ID,         // span_id, from the previous one's; read on demand
  PAGE_CONTEXT,    // number of the call path, 0: none; only where a span has one
  PAGE_MERGED,     // how many spans the rectangle is; merged runs only, as the next
  PAGE_IDLE,       // duration less the durations of the rectangle's spans
  PAGE_COLUMNS,
};
extern const char *const page_column_names[PAGE_COLUMNS];
// Whether these spans have such a column.
bool page_column_is_there(const struct page_spans *spans, enum page_column column);
// The planes of a column, one after the other; owned by the caller. Returns how many there are: bytes a value.
unsigned page_column_planes(const struct page_spans *spans, const struct page_rows *rows, int64_t first_ns,
                            enum page_column column, uint8_t **ret_planes);

enum page_pack { PAGE_PACK_QUICK = 1, PAGE_PACK_FAST = 3, PAGE_PACK_SMALL = 6 }; // levels of zlib
// Appends gzip of `length` bytes, `as_text` in base64. Sets out->failed where they are 4 GiB or more.
void page_put_packed(const void *bytes, size_t length, enum page_pack pack, bool as_text, struct buf *out);

#endif
