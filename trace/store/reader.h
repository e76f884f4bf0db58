// SPDX-License-Identifier: Apache-2.0
// Reads column chunks of one SQLite connection: a catalogue of what is there, and a bounded cache of decoded columns.
// Used by store_load_… and the virtual tables, in xsp and in the loadable extension. One thread.
#ifndef XSP_STORE_READER_H
#define XSP_STORE_READER_H

#include "store/schema.h"
#include "store/strings.h"

struct sqlite3;
struct sqlite3_stmt;

// A decoded column of one part. While `pins` is not 0 it stays; else it may go when the cache is over its budget.
struct block {
  struct block *newer, *older; // by last use
  struct block **owner;        // where the catalogue points at it
  size_t size_bytes;
  unsigned pins;
  const void *values; // after this struct, or an overlay's
};
struct reader_slot {
  int64_t chunk_id; // 0: the part lacks this column
  int64_t minimum, maximum;
  struct block *block; // NULL: not decoded at present
};
struct reader_part {
  uint64_t first_row;
  uint32_t row_count;
  struct reader_slot slot[STORE_COLUMNS]; // of store_series_kinds[].columns
};
struct reader_series {
  enum series_name name;
  struct reader_part *parts;
  size_t part_count, part_capacity;
  size_t recorded_count; // parts before the derived ones (SCHEMA_DERIVED_TAGS)
  uint64_t row_count;
  struct key_list *lists[STORE_COLUMNS]; // by column, built at the first question; see reader_list
};
struct run_chunks {
  int64_t run_id;
  struct reader_series series[SERIES_COUNT];
  bool has_derived;
};
struct overlay { // derived columns that exist in memory only
  struct overlay *next;
  int64_t run_id;
  size_t row_count;
  void *columns[STORE_COLUMNS]; // owned; [STORE_PARENT_ID …]
};

struct reader {
  struct sqlite3 *db;      // borrowed
  const char *path;        // borrowed, for messages
  struct strings *strings; // borrowed or own
  struct strings own_strings;
  uint32_t context_count; // call paths of the file
  struct chunk_codec *codec;
  struct sqlite3_stmt *chunk_statement, *version_statement;
  struct sqlite3_stmt *rows_statement, *run_rows_statement; // of catalogue.c
  bool is_guest;        // of a connection that others close: no statement outlives its use, sqlite3_close would refuse
  bool is_writer;       // strings are complete in memory
  bool is_loaded;       // catalogue is there
  int64_t data_version; // of the catalogue
  struct run_chunks *runs;
  size_t run_count, run_capacity;
  int64_t stale_run_id; // of the catalogue: to be read again; 0: none
  struct overlay *overlays;
  struct block *newest, *oldest;
  size_t cached_bytes, budget_bytes;
  unsigned cursors;             // open ones; the catalogue stays as it is meanwhile
  const struct scan *outermost; // of the statement that runs: the walk within which others begin; NULL: none
};

#define READER_BUDGET_BYTES ((size_t)512 << 20)
#define READER_KEPT_BYTES ((size_t)16 << 20) // below it reads of whole parts fill the cache, too

void reader_start(struct reader *reader, struct sqlite3 *db, const char *path, struct strings *strings);
void reader_done(struct reader *reader);       // before the connection is closed
void reader_rest(struct reader *reader);       // a guest finalizes its statements; when the last cursor is gone
void reader_invalidate(struct reader *reader); // after this connection wrote chunks
void reader_invalidate_run(struct reader *reader, int64_t run_id); // of one run only
// Makes catalogue and strings current. To be called before anything below.
enum status reader_refresh(struct reader *reader, struct error *err) MUST_CHECK;
struct run_chunks *reader_run(struct reader *reader, int64_t run_id); // NULL: no spans and no tags
// The decoded column, pinned: the caller decrements its `pins`.
enum status reader_pin(struct reader *reader, const struct reader_series *series, struct reader_part *part,
                       unsigned column, struct block **ret_block, struct error *err) MUST_CHECK;
// A part's column into `ret_values` (row_count values of the column's type). Goes past the cache where that has much.
enum status reader_part_column(struct reader *reader, const struct reader_series *series,
                               const struct reader_part *part, unsigned column, void *ret_values,
                               struct error *err) MUST_CHECK;
// A whole column into `ret_values` (row_count values of the column's type), past the cache. `are_zeros`: it holds zeros.
enum status reader_column(struct reader *reader, const struct reader_series *series, unsigned column, bool are_zeros,
                          void *ret_values, struct error *err) MUST_CHECK;
// Whether an int64 column counts up by one through all parts: the common case for span_id, which needs no array.
bool reader_is_counting(struct reader *reader, const struct reader_series *series, unsigned column, int64_t *ret_first);
// The rows of each value of an int64 column. *ret_list NULL with STATUS_OK: too many rows for an index.
struct key_list;
enum status reader_list(struct reader *reader, struct reader_series *series, unsigned column,
                        const struct key_list **ret_list, struct error *err) MUST_CHECK;
// STATUS_MEMORY where row_count values of `width` bytes are more than this machine has.
enum status reader_check_memory(const struct reader *reader, const struct reader_series *series, unsigned column,
                                uint64_t row_count, size_t width, struct error *err) MUST_CHECK;
// The part that holds `row` of the series.
struct reader_part *reader_part_of(const struct reader_series *series, uint64_t row);
enum status reader_add_overlay(struct reader *reader, struct overlay *overlay,
                               struct error *err) MUST_CHECK; // takes it
// "" for 0 and for ids that do not exist.
const char *reader_text(const struct reader *reader, uint32_t string_id, size_t *ret_length);

// For catalogue.c: the list of blocks by last use.
void reader_add_block(struct reader *reader, struct block *block); // as the newest
void reader_free_block(struct reader *reader, struct block *block);

// catalogue.c, for reader.c alone: which chunks there are. STATUS_INPUT where parts are missing, repeated, or disagree.
enum status store_catalogue_load(struct reader *reader, struct error *err) MUST_CHECK;
// Reads the chunks of one run anew: an import that correlates thousands of runs, one by one, changes one at a time.
enum status store_catalogue_load_run(struct reader *reader, int64_t run_id, struct error *err) MUST_CHECK;
void store_catalogue_free(struct reader *reader); // with all cached columns
// The rows of the largest part: what buffers for one part after the other need.
size_t reader_largest_part(const struct reader_series *series);

#endif
