// SPDX-License-Identifier: Apache-2.0
// Tables as text, Markdown, CSV and JSON; files for other tools; the page. One file = one output.
#ifndef XSP_REPORT_REPORT_H
#define XSP_REPORT_REPORT_H

#include "analyze/analyze.h"
#include "base/buf.h"

// In REPORT_CSV a text that a spreadsheet would take for a formula begins with ', and controls are escaped (\n, \xNN);
// REPORT_CSV_RAW has texts as they are.
enum report_format { REPORT_TEXT, REPORT_MARKDOWN, REPORT_CSV, REPORT_JSON, REPORT_CSV_RAW };
static inline bool report_format_is_csv(enum report_format format)
{
  return format == REPORT_CSV || format == REPORT_CSV_RAW;
}
bool report_format_from_name(const char *text, enum report_format *ret_format);
// Appends tables to `out`. JSON: an object for one table, an array for several or with `as_array`. A table without a
// title is a plain grid; without an id, its empty columns are shown as well. Text scales units and prints them;
// `width` is the terminal's (0: unlimited). Numbers in JSON and CSV are exact.
void report_tables(const struct table *tables, size_t count, enum report_format format, bool as_array, unsigned width,
                   struct buf *out);

// Appends a comparison. CSV: the rows alone.
void report_comparison(const struct compare_answer *answer, enum report_format format, unsigned width, struct buf *out);

struct report_export_options {
  bool force;                     // replace an existing file
  bool is_raw;                    // texts as they are; only with has_raw
  const char *metric;             // of context_metric, only with has_metric; NULL: what the format is of
  struct headway_watcher watcher; // of spans that were written
};
struct report_export {
  const char *name;    // "perfetto"
  const char *summary; // one line, for help
  const char *extension;
  // Writes the whole store to `path` (temporary, next to the output; the caller renames).
  // "-": to stdout, unless the format `needs_file`.
  enum status (*write)(struct store *store, const char *path, const struct report_export_options *options,
                       struct error *err);
  bool has_raw, has_metric;
  const char *needs_file; // why stdout cannot take it; NULL
};
extern const struct report_export *const report_exports[]; // perfetto, chrome, otlp, …; ends with NULL
// STATUS_USE, with the nearest name as advice, where there is no such format.
enum status report_export_find(const char *name, const struct report_export **ret_export, struct error *err) MUST_CHECK;
// Writes a file next to `path`, then renames it; refuses an existing path unless `force`. "-": writes to stdout; where its
// reader has gone away the status is STATUS_SYSTEM and *err stays empty.
enum status report_export_file(struct store *store, const char *format, const char *path,
                               const struct report_export_options *options, struct error *err) MUST_CHECK;

// The requests of the exports otlp and otlp-proto, one after the other, as those files hold them.
struct report_otlp_sink {
  // One request with `span_count` spans, which may be none; check request->failed. The caller clears it. Another status
  // than STATUS_OK ends the export, which returns it.
  enum status (*put)(void *context, struct buf *request, size_t span_count, struct error *err);
  void *context;
};
enum status report_otlp_requests(struct store *store, bool is_json, const struct report_otlp_sink *sink,
                                 struct error *err) MUST_CHECK;

// Spans of a run that goes on, as they were recorded: they have no parents but recorded ones, and no basis, so that readers
// find their parents. What is known of the run only at its end comes with the last part, for which run_goes_on is false. It must
// have a span: servers keep no request without one. The levels, too, come then, unless has_levels.
struct report_otlp_part {
  int64_t run_id;
  struct store_place from, to;
  int64_t step_count; // of the parts before; 0 at first
  bool run_goes_on, has_levels;
  bool has_no_file_notes; // the last part of another run of the file has them
};
enum status report_otlp_part(struct store *store, struct report_otlp_part *part, const struct report_otlp_sink *sink,
                             struct error *err) MUST_CHECK;

// Folded stacks of both sides: "stack NANOSECONDS_A NANOSECONDS_B", which flamegraph.pl draws as a difference. b's times are as of
// as many observations as a has. The same file handling as report_export_file.
enum status report_difference_file(const struct compare_answer *answer, const char *path, bool force,
                                   struct error *err) MUST_CHECK;

// The calling context tree of a run as flame graphs show it, one node a row, callers first (docs/python.md, "The tree"). The
// table lives in `arena`. STATUS_USE: the file has no such run.
enum status report_tree(struct store *store, int64_t run_id, struct arena *arena, struct table *ret_table,
                        struct error *err) MUST_CHECK;

// Removes the half-made file, if there is one. For a program that is about to end; safe in signal handlers: it only
// unlinks. One file is written at a time.
void report_unfinished_remove(void);

// The cause as a sentence, without a full stop; names in it are escaped and cut.
void report_cause(const struct cause *cause, struct buf *out);
// A line for each, "cause    …", with its experiment where the files have several.
void report_causes(const struct cause *causes, size_t count, struct buf *out);

// The rows of tables of findings, a line each, and how to see all of `path`'s. Nothing where there are none.
void report_findings(const struct table *tables, size_t count, const char *path, struct buf *out);

// ---- the page
struct report_page_file {
  struct store *store; // correlated
  const char *name;    // as the page shows it
};
struct report_page_options {
  size_t max_spans;                        // rectangles of all runs; further spans are merged
  const int64_t *run_ids;                  // only these runs' spans
  size_t run_count;                        // 0: of all runs
  const struct page_range *range;          // only spans that overlap it, and their ancestors; NULL: all
  const struct compare_answer *comparison; // page "comparison"; NULL: there is none
  size_t first_of_a;                       // the files from here on are side a of it, those before are b
  bool has_source;                // source files that findings and lines name, read now; never of a server's page
  bool is_of_server;              // instead of the page a file of its parts, for report_parts_open
  struct headway_watcher watcher; // of runs and tables
};
struct page_range {       // from each run's first start
  int64_t from_ns, to_ns; // 0 <= from_ns <= to_ns
};
// Writes one HTML file that opens offline from disk. `path` is temporary, next to the output; the caller renames.
enum status report_page(const struct report_page_file *files, size_t count, const struct report_page_options *options,
                        const char *path, struct error *err) MUST_CHECK;
// ---- the page of a server, which gives out its parts one by one
// The file of parts is of one .xsp file and this machine; it is not synced. Of runs with more than max_spans it has all spans,
// by time, for windows.
#define REPORT_SERVED_SPANS 300000 // that a browser gets at once
// Appends the page without data: its script asks the server for "parts/ID" and the queries below, relative to the page's address
// and a slash. `about`: "" or "live".
void report_page_served(const char *about, struct buf *out);

struct report_parts; // nothing in it changes: any thread may read
enum status report_parts_open(const char *path, struct report_parts **ret_parts, struct error *err) MUST_CHECK;
void report_parts_close(struct report_parts *parts); // NULL is fine
// A part, as gzip. False: there is none with this id.
bool report_parts_get(const struct report_parts *parts, const char *id, struct slice *ret_bytes);

struct report_window {
  size_t run;             // its place in the document
  int64_t from_ns, to_ns; // from the run's first start
  size_t most;            // with more spans: rectangles of merged ones, as few or as in the document
};
// Appends the spans of a range of time, as JSON: facts and columns as in the document. False: there is no such run, or the
// document has all its spans.
bool report_parts_window(const struct report_parts *parts, const struct report_window *window, struct buf *out);
struct report_find {
  size_t run;
  const char *names;      // numbers of names, "3-7,9"
  int64_t at_ns, place;   // from here on; `place` -1: before all that start at at_ns
  bool backwards;         // the one before instead of the next one
  int64_t from_ns, to_ns; // only spans that overlap this range
};
// Appends the next span with one of the names, as JSON: how many there are, its number among them, where it is. At the end
// it begins again. False: as above, or `names` is malformed.
bool report_parts_find(const struct report_parts *parts, const struct report_find *find, struct buf *out);

// The same as report_export_file does it.
enum status report_page_write(const struct report_page_file *files, size_t count,
                              const struct report_page_options *options, const char *path, bool force,
                              struct error *err) MUST_CHECK;

#endif
