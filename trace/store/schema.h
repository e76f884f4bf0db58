// SPDX-License-Identifier: Apache-2.0
// Tables of an .xsp file, and which columns its chunks have. Documented in docs/format.md.
#ifndef XSP_STORE_SCHEMA_H
#define XSP_STORE_SCHEMA_H

#include "store/chunk.h"
#include "store/store.h"

#define SCHEMA_APPLICATION_ID 0x58535031 // "XSP1", in the SQLite header
#define SCHEMA_PAGE_BYTES 8192
#define SCHEMA_ROW_BYTES 1024 // what schema_image has room for in the row of an object

#define SCHEMA_OBJECTS 20
struct schema_object {      // of the file's own schema
  const char *name, *table; // the same: a table; else an index of the table
  const char *sql;          // NULL: an index that a constraint of the table makes
  bool is_keyed;            // its pages are an index's: also those of a table without row ids
};
extern const struct schema_object schema_objects[SCHEMA_OBJECTS];
// The file that SQLite would make of them, without rows, to be freed. SQLite takes five times as many instructions: it parses each
// statement twice, and statements of its own for each.
void *schema_image(size_t *ret_size);

enum series_name { SERIES_SPAN, SERIES_TAG, SERIES_SAMPLE, SERIES_COUNT };
#define SCHEMA_DERIVED_TAGS "tag_derived" // chunks of SERIES_TAG that only SQL sees; sorts after "tag"
enum tag_column { TAG_SPAN_ID, TAG_KEY, TAG_TYPE, TAG_VALUE, TAG_COLUMNS };
enum sample_column {
  SAMPLE_TIME_NS,
  SAMPLE_DURATION_NS,
  SAMPLE_SPAN_ID,
  SAMPLE_TRACK_ID,
  SAMPLE_CONTEXT_ID,
  SAMPLE_KIND,
  SAMPLE_COLUMNS,
};

struct store_columns { // all columns of spans
  struct store_spans spans;
  struct store_derived derived;
};
enum column_of { COLUMN_OF_VALUES, COLUMN_OF_STRINGS, COLUMN_OF_CONTEXTS }; // ids are checked against the file's
struct column_kind {
  const char *name;
  enum chunk_type type;
  enum column_of of;
  int64_t least, most; // what a valid value may be; checked on decode
  size_t row_offset;   // in the struct of a row: store_span, store_tag, store_sample
  size_t offset;       // of its array in struct store_columns, or store_samples
  bool absent_is_zero; // 0 in all rows of a part that lacks it
};
struct series_kind {
  const char *name;
  const struct column_kind *columns;
  unsigned column_count;
  unsigned base_count; // columns that every part has
  size_t row_bytes;    // of the struct of a row
};
extern const struct series_kind store_series_kinds[SERIES_COUNT];

#endif
