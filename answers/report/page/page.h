// SPDX-License-Identifier: Apache-2.0
// The page's parts, written by report_page: the document (JSON), each run's columns, contexts and tags. They go into the
// page itself, or into a file of parts for a server (parts.h). Inside this room only.
#ifndef XSP_REPORT_PAGE_PAGE_H
#define XSP_REPORT_PAGE_PAGE_H

#include "base/json_write.h"
#include "base/slice.h"
#include "report/exports/file.h"
#include "report/exports/stacks.h"
#include "report/page/spans.h"
#include "report/report.h"

#define PAGE_VERSION 5 // of the document; answers/web/src/data.ts reads this one
#define PAGE_TAG_BLOCK 4096
#define PAGE_TAG_BYTES_MOST (32u << 20) // of all packed tags; further ones are counted
#define PAGE_CACHE_BYTES_MOST ((size_t)512 << 20)
#define PAGE_OVERVIEW_SPANS 40000u // rectangles of a run whose spans a server has

struct page_file {
  const char *name;
  struct timeline timeline;
  struct stacks stacks;
  struct context_paths paths; // of `stacks`, with numbers of page.names
  struct interner kernels;    // their names, of all tables
  struct interner code;       // source files that rows of tables name, those with the most time first
  struct analyze_cache cache; // of the question for the cause and those for tables
};
struct page_run { // known by its place in page.runs
  size_t file;    // place in page.files
  size_t index;   // in its file's timeline
  size_t wanted;  // spans to be shown: all, or those of the range; 0 where the run was not asked for
  size_t room;    // rectangles that the page has for them
};
struct page {
  const struct report_page_options *options;
  struct arena arena;
  struct page_file *files;
  size_t file_count;
  struct page_run *runs;
  size_t run_count;
  struct export_file file;
  struct buf tags; // their parts, which come last: a browser shows the page while it still reads them
  struct page_names names;
  size_t tag_bytes;  // packed so far
  int64_t last_ns;   // latest end of what is shown, from its run's first start
  size_t step_count; // of page_step
};
static inline struct timeline *page_timeline(const struct page *page, const struct page_run *run)
{
  return &page->files[run->file].timeline;
}
// Appends one part, packed: in the page an element of no executable type, "xsp-<id>".
void page_put_part(const struct page *page, struct buf *out, const char *id, enum page_pack pack, struct slice bytes);
// The same of a text, which is freed.
void page_put_text(const struct page *page, struct buf *out, const char *id, enum page_pack pack, struct buf *text);

// page.c: another run or analysis is done, for who watches.
void page_step(struct page *page);
// choose.c: how many rectangles each run gets.
enum status page_choose(struct page *page, struct error *err) MUST_CHECK;
// run.c: a run's facts into `json`, its parts into the file.
enum status page_put_run(struct page *page, size_t run, struct json_writer *json, struct error *err) MUST_CHECK;
// facts.c: "experiments" and "notes" of all files.
enum status page_put_facts(struct page *page, struct json_writer *json, struct error *err) MUST_CHECK;

// merge.c: the finest resolution at which a run's spans make no more than `room` rectangles. False: there is none.
bool page_merge_resolution(const struct page_spans *spans, const struct page_rows *rows, size_t room,
                           int64_t *ret_below_ns, size_t *ret_count);
// Makes one rectangle of neighbours that are shorter than `below_ns` and start within it. Rows keep lanes and depths
// only.
void page_merge(const struct page_spans *spans, const struct page_rows *rows, int64_t below_ns, size_t count,
                struct page_names *names, struct arena *arena, struct page_spans *ret_spans,
                struct page_rows *ret_rows);
// contexts.c: contexts and names of all spans, as JSON.
void page_put_contexts(const struct timeline_run *run, const struct page_spans *all, const struct page_rows *rows,
                       const struct context_paths *paths, int64_t first_ns, struct page_names *names, struct buf *out);
// The same of a run whose spans were folded, without totals by name.
void page_put_folded(const struct stacks *stacks, int64_t run_id, const struct context_paths *paths, struct buf *out);
// counters.c: a member `counters`; times are from `first_ns`.
void page_put_counters(struct json_writer *json, const struct timeline *timeline, const struct timeline_run *run,
                       int64_t first_ns);
// tags.c: the parts of a run's tags, as far as they fit. Returns how many tags were left out.
size_t page_put_tags(struct page *page, size_t run, const struct timeline_run *timeline_run,
                     const struct page_spans *spans);
// tables.c: every analysis that a file has an answer to, for each batch size, as elements of an array.
enum status page_put_tables(struct page *page, size_t file, struct json_writer *json, struct error *err) MUST_CHECK;
// The member "comparison", if the page is of one.
void page_put_comparison(struct page *page, struct json_writer *json);
// Then, for each file, the kernels' short names, as in text tables: an array of name, short name, name, …; only where they
// differ.
void page_put_short_names(struct page *page, struct json_writer *json);
// code.c: source files that the table's rows name; then the part "code" with their texts, if any are wanted and named.
void page_code_keep(const struct table *table, struct interner *files);
bool page_reads_source(const struct page *page);
bool page_has_code(const struct page *page);
enum status page_put_code(struct page *page, struct error *err) MUST_CHECK;

#endif
