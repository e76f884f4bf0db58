// SPDX-License-Identifier: Apache-2.0
// Tables of an .xsp file, and which columns its chunks have. Documented in docs/format.md.
#ifndef XSP_STORE_SCHEMA_H
#define XSP_STORE_SCHEMA_H

#include "store/chunk.h"
#include "store/store.h"

#define SCHEMA_APPLICATION_ID 0x58535031 // "XSP1", in the SQLite header
#define SCHEMA_PAGE_BYTES 8192

extern const char schema_sql[];

enum series_name { SERIES_SPAN, SERIES_TAG, SERIES_COUNT };
#define SCHEMA_DERIVED_TAGS "tag_derived" // chunks of SERIES_TAG that only SQL sees; sorts after "tag"
enum tag_column { TAG_SPAN_ID, TAG_KEY, TAG_TYPE, TAG_VALUE, TAG_COLUMNS };

struct store_columns { // all columns of spans
  struct store_spans spans;
  struct store_derived derived;
};
struct column_kind {
  const char *name;
  enum chunk_type type;
  bool is_string;      // values are string ids, checked against the file's strings
  int64_t least, most; // what a valid value may be; checked on decode
  size_t row_offset;   // in struct store_span or store_tag
  size_t offset;       // of its array in struct store_columns
  bool absent_is_zero; // 0 in all rows of a part that lacks it
};
struct series_kind {
  const char *name;
  const struct column_kind *columns;
  unsigned column_count;
  unsigned base_count; // columns that every part has
};
extern const struct series_kind store_series_kinds[SERIES_COUNT];

#endif
