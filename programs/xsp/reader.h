// SPDX-License-Identifier: Apache-2.0
// What the verbs that read .xsp files share: the output format, opening with correlation, answers of analyses.
#ifndef XSP_PROGRAMS_XSP_READER_H
#define XSP_PROGRAMS_XSP_READER_H

#include "base/vector.h"
#include "format/detail.h"
#include "programs/xsp/verb.h"
#include "report/report.h"
#include "store/store.h"

// --format and --json of a verb with is_reader; STATUS_USE for an unknown or a contradictory format.
enum status verb_reader_format(const struct invocation *invocation, enum report_format *ret_format,
                               struct error *err) MUST_CHECK;
// Opens a file, or fetches the spans of a database, and makes sure that they are correlated. The caller closes with store_close.
enum status verb_reader_open(const char *path, struct store **ret_store, struct error *err) MUST_CHECK;

struct reader_detail {
  enum trace_detail detail;
  const char *layer_mode; // of analyze --layer; NULL: as the runs say
};
// The files that a verb was given. Where a question is about many files, broken ones are named and left out, so that one of
// them does not prevent the answer about all others.
typedef enum status reader_visit(void *context, struct store *store, struct error *err);
struct reader_file { // which one it is, whatever its path
  uint64_t device, inode;
};
struct reader_files {
  struct arena arena;
  VECTOR(struct store *) stores; // correlated
  size_t count;                  // of files that were opened
  VECTOR(const char *) left_out; // "PATH: why"
  struct error broken;           // of the first broken file; STATUS_OK: none
  reader_visit *visit;           // private, as what follows
  void *context;
  VECTOR(struct reader_file) seen;
};

// With `are_many` (the question is about all of them) a folder means the `*.xsp` in it, by name; a folder without any
// is STATUS_INPUT; unreadable files, and one that was given before, are reported on stderr and left out, and where nothing else is
// left, that is the error. Else every path is a file, and the first that cannot be read is the error. The caller ends with
// verb_reader_files_close, also after an error. `detail`: of databases; NULL: everything.
enum status verb_reader_files_open(const char *const *paths, size_t path_count, bool are_many,
                                   const struct reader_detail *detail, struct reader_files *ret_files,
                                   struct error *err) MUST_CHECK;
void verb_reader_files_close(struct reader_files *files);
// As with `are_many`, but each file is closed after `visit`, so that there may be any number. STATUS_INPUT of `visit` leaves the file
// out, as one that cannot be read.
enum status verb_reader_files_visit(const char *const *paths, size_t path_count, reader_visit *visit, void *context,
                                    struct reader_files *ret_files, struct error *err) MUST_CHECK;

// Tables of several analyses, to be printed together. Starts as {0}, or with a cache that other answers about the same files share;
// it must live as long as the tables.
#define ANSWERS_CACHE_BYTES                                                                                            \
  ((size_t)1 << 30) // of {.bytes_most = …}: what summaries ask reads a file of ten million spans once
struct answers {
  struct analyze_cache *cache; // NULL: none
  struct arena arena;
  VECTOR(struct table) tables;
};
// Adds the tables of one analysis. STATUS_NO where the files lack what it needs.
enum status answers_add(struct answers *answers, const char *id, struct store *const *stores, size_t store_count,
                        const struct analyze_request *request, struct error *err) MUST_CHECK;
// For summaries: adds the first `top` rows (0: all) by `sort` (NULL: the analysis's order), or nothing where the file lacks
// what the analysis needs.
enum status answers_add_top(struct answers *answers, const char *id, struct store *store, const char *sort, int64_t top,
                            struct error *err) MUST_CHECK;
// For summaries: appends the cause of each experiment in the file.
enum status answers_put_causes(struct answers *answers, struct store *store, struct buf *out,
                               struct error *err) MUST_CHECK;
void answers_done(struct answers *answers);

#endif
