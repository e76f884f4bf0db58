// SPDX-License-Identifier: Apache-2.0
// A file of the page's parts, for a server: PARTS_MAGIC, then records, each a struct parts_record and its bytes. Parts of the
// page are packed as in the page (gzip); levels are arrays that are used where they lie. The file is read on the
// machine that made it, and can be made again. Inside this room only.
#ifndef XSP_REPORT_PAGE_PARTS_H
#define XSP_REPORT_PAGE_PARTS_H

#include "base/json_write.h"
#include "report/exports/file.h"
#include "report/page/spans.h"

#define PARTS_MAGIC "xspparts"
#define PARTS_ID_SIZE 48
#define PARTS_ALIGNMENT 8u // of each record
#define PARTS_LEVELS_MOST 40u

struct parts_record {
  char id[PARTS_ID_SIZE]; // "document", "0-gap", "0-level-1"
  uint64_t length;        // of the bytes that follow; zeros fill up to the next record
  uint64_t is_level;      // not for clients
};

// ---- writing
size_t parts_begin(struct buf *out, const char *id); // returns the record's place, for parts_end
void parts_end(struct buf *out, size_t place);
// All spans of a run, or rectangles of them that were merged below `below_ns`.
void parts_put_level(struct export_file *file, size_t run, unsigned level, const struct page_spans *spans,
                     const struct page_rows *rows, int64_t first_ns, int64_t below_ns);

// "rows" of the document and of windows (run.c).
void page_put_rows(struct json_writer *json, const struct page_rows *rows);

// ---- reading
struct parts_level {
  struct page_spans spans; // in the file
  struct page_rows rows;   // the same; `place` and `source` are not there
  int64_t first_ns;        // the run's first start
  int64_t below_ns;        // merged below; 0: each is a span
};
struct parts_run {
  size_t run;
  size_t level_count;
  struct parts_level levels[PARTS_LEVELS_MOST]; // the spans first, then ever fewer rectangles; of the same rows
};
struct report_parts { // nothing changes after it is opened: any thread may read
  char *bytes;        // mapped
  size_t size;
  VECTOR(const struct parts_record *) packed; // by id
  VECTOR(struct parts_run) runs;              // those with levels
};
// NULL: the run has no levels.
const struct parts_run *parts_run_of(const struct report_parts *parts, size_t run);

#endif
