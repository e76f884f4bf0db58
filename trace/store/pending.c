// SPDX-License-Identifier: Apache-2.0
// Rows on their way into chunks: columns in memory until a part is full or a commit asks for what is there. An open part
// that was written by a commit is written again when it has grown, so that parts stay full-sized.
#include "base/memory.h"
#include "store/handle.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_ROWS 256u
#define SLICE_ROWS 256u // rows turned into columns at a time: they stay in the first-level cache

void pending_free(struct store *store)
{
  while (store->pending != NULL) {
    struct pending_run *run = store->pending;
    store->pending = run->next;
    for (unsigned s = 0; s < SERIES_COUNT; s++)
      for (unsigned column = 0; column < STORE_BASE_COLUMNS; column++)
        free(run->series[s].columns[column]);
    free(run);
  }
  store->last_pending = NULL;
  map_done(&store->pending_of);
}

struct pending_run *pending_find(struct store *store, int64_t run_id)
{
  if (store->last_pending != NULL && store->last_pending->run_id == run_id)
    return store->last_pending;
  bool is_new;
  uint64_t *place = map_at(&store->pending_of, map_number((uint64_t)run_id), &is_new);
  if (is_new) {
    struct pending_run *run = memory_new(1, sizeof *run);
    *run = (struct pending_run){.next = store->pending, .run_id = run_id};
    store->pending = run;
    *place = (uintptr_t)run;
  }
  return store->last_pending = (struct pending_run *)(uintptr_t)*place;
}

enum status pending_write_chunk(struct store *store, int64_t run_id, const char *series, int64_t part,
                                const struct column_kind *kind, const void *values, uint32_t count, struct error *err)
{
  struct chunk_blob blob;
  chunk_encode(store->reader.codec, kind->type, values, count, &blob);
  if (kind->absent_is_zero && blob.minimum == 0 && blob.maximum == 0)
    return STATUS_OK;
  sqlite3_stmt *statement = NULL;
  XSP_TRY(writer_start(store, STATEMENT_CHUNK, &statement, err));
  sqlite3_bind_int64(statement, 1, run_id);
  sqlite3_bind_text(statement, 2, series, -1, SQLITE_STATIC);
  sqlite3_bind_int64(statement, 3, part);
  sqlite3_bind_text(statement, 4, kind->name, -1, SQLITE_STATIC);
  sqlite3_bind_int64(statement, 5, count);
  sqlite3_bind_int64(statement, 6, blob.minimum);
  sqlite3_bind_int64(statement, 7, blob.maximum);
  sqlite3_bind_blob64(statement, 8, blob.data, blob.size, SQLITE_STATIC);
  return writer_step(store, statement, err);
}

enum status pending_write_column(struct store *store, int64_t run_id, enum series_name series, int64_t part,
                                 unsigned column, const void *values, uint32_t count, struct error *err)
{
  const struct series_kind *kind = &store_series_kinds[series];
  return pending_write_chunk(store, run_id, kind->name, part, &kind->columns[column], values, count, err);
}

bool pending_is_dirty(const struct store *store)
{
  return store->dirty_count > 0;
}

static enum status write_part(struct store *store, struct pending_run *run, enum series_name name, struct error *err)
{
  struct pending_series *series = &run->series[name];
  reader_invalidate(&store->reader);
  for (unsigned column = 0; column < store_series_kinds[name].base_count; column++)
    XSP_TRY(pending_write_column(store, run->run_id, name, series->part, column, series->columns[column],
                                 series->row_count, err));
  store->dirty_count -= series->is_dirty;
  series->is_dirty = false;
  if (series->row_count == STORE_CHUNK_ROWS) {
    series->part++;
    series->row_count = 0;
  }
  return STATUS_OK;
}

// Batch inserts: a statement costs about two rows.
static enum status write_strings(struct store *store, struct error *err)
{
  while (store->strings_written < strings_count(&store->strings)) {
    uint32_t left = strings_count(&store->strings) - store->strings_written;
    uint32_t rows = left >= WRITER_STRINGS ? WRITER_STRINGS : 1;
    sqlite3_stmt *statement = NULL;
    XSP_TRY(writer_start(store, rows == 1 ? STATEMENT_STRING : STATEMENT_STRINGS, &statement, err));
    for (uint32_t i = 0; i < rows; i++) {
      struct slice text = interner_text(&store->strings.texts, store->strings_written + i);
      sqlite3_bind_text64(statement, (int)i + 1, text.data, text.length, SQLITE_STATIC, SQLITE_UTF8);
    }
    XSP_TRY(writer_step(store, statement, err));
    store->strings_written += rows;
    if (sqlite3_last_insert_rowid(store->db) != (int64_t)store->strings_written - 1)
      return writer_failed(store, err); // nobody else writes to the table
  }
  return STATUS_OK;
}

enum status pending_flush(struct store *store, struct error *err)
{
  for (struct pending_run *run = store->pending; run != NULL && store->dirty_count > 0; run = run->next)
    for (unsigned s = 0; s < SERIES_COUNT; s++)
      if (run->series[s].is_dirty)
        XSP_TRY(write_part(store, run, (enum series_name)s, err));
  XSP_TRY(store_call_paths_write(store, err));
  return write_strings(store, err);
}

// Room for up to `wanted` more rows in the open part, at most to its end. Returns how many fit.
static uint32_t reserve(struct pending_series *series, enum series_name name, size_t wanted)
{
  uint32_t room = STORE_CHUNK_ROWS - series->row_count;
  uint32_t more = wanted < room ? (uint32_t)wanted : room;
  if (series->row_count + more <= series->capacity)
    return more;
  uint32_t capacity = series->capacity == 0 ? FIRST_ROWS : series->capacity;
  while (capacity < series->row_count + more)
    capacity *= 2;
  for (unsigned column = 0; column < store_series_kinds[name].base_count; column++) {
    size_t width = chunk_type_size(store_series_kinds[name].columns[column].type);
    series->columns[column] = memory_resize(series->columns[column], capacity, width);
  }
  series->capacity = capacity;
  return more;
}

#define COPY(type)                                                                                                     \
  for (uint32_t i = 0; i < count; i++)                                                                                 \
  ((type *)to)[i] = *(const type *)(const void *)(from + i * row_bytes)

static void append_column(const struct column_kind *kind, const char *restrict from, size_t row_bytes, uint32_t count,
                          void *restrict to)
{
  if (kind->type == CHUNK_INT64)
    COPY(int64_t);
  else if (kind->type == CHUNK_UINT32)
    COPY(uint32_t);
  else
    COPY(uint8_t);
}

static void append(struct pending_series *series, enum series_name name, const char *rows, size_t row_bytes,
                   uint32_t count)
{
  const struct column_kind *kinds = store_series_kinds[name].columns;
  for (unsigned column = 0; column < store_series_kinds[name].base_count; column++)
    append_column(&kinds[column], rows + kinds[column].row_offset, row_bytes, count,
                  (char *)series->columns[column] + series->row_count * chunk_type_size(kinds[column].type));
  // A text's id is the lower half of the value (the file's integers are little-endian, see chunk.c); a mask, not a
  // branch: texts and numbers come in any order.
  if (name == SERIES_TAG) {
    const uint8_t *types = (const uint8_t *)series->columns[TAG_TYPE] + series->row_count;
    uint64_t *values = (uint64_t *)series->columns[TAG_VALUE] + series->row_count;
    for (uint32_t i = 0; i < count; i++)
      values[i] &= types[i] == STORE_TEXT ? UINT32_MAX : UINT64_MAX;
  }
  series->row_count += count;
}

// What a reader would refuse must not get into a file.
static const char *find_bad_span(const struct store *store, const struct store_span *spans, size_t count)
{
  uint32_t strings = strings_count(&store->strings);
  for (size_t i = 0; i < count; i++) {
    const struct store_span *span = &spans[i];
    if (span->span_id < 1)
      return "a span's id is less than 1";
    if (span->level >= XSP_LEVEL_COUNT || span->kind > XSP_KIND_EXECUTION)
      return "a span's level or kind does not exist";
    if (STORE_BASIS_OF_FLAGS(span->flags) >= BASIS_COUNT)
      return "the basis of a span's parent does not exist";
    if (span->name >= strings || span->category >= strings || span->tracer >= strings)
      return "a span refers to a string that was never interned";
    if (span->context_id > store->call_paths.contexts.count)
      return "a span refers to a call path that was never interned";
  }
  return NULL;
}

static const char *find_bad_tag(const struct store *store, const struct store_tag *tags, size_t count)
{
  uint32_t strings = strings_count(&store->strings);
  bool is_bad_type = false;
  bool is_bad_string = false;
  for (size_t i = 0; i < count; i++) {
    is_bad_type |= (tags[i].type < STORE_INT) | (tags[i].type > STORE_TEXT);
    is_bad_string |= (tags[i].key >= strings) | ((tags[i].type == STORE_TEXT) & (tags[i].value.string >= strings));
  }
  return is_bad_type     ? "a tag's type does not exist"
         : is_bad_string ? "a tag refers to a string that was never interned"
                         : NULL;
}

static const char *find_bad_sample(const struct store *store, const struct store_sample *samples, size_t count)
{
  for (size_t i = 0; i < count; i++) {
    if (sample_kind_name(samples[i].kind) == NULL)
      return "a sample's kind does not exist";
    if (samples[i].duration_ns < 0 || samples[i].span_id < 0)
      return "a sample's duration or span is negative";
    if (samples[i].context_id > store->call_paths.contexts.count)
      return "a sample refers to a call path that was never interned";
  }
  return NULL;
}

static enum status add_rows(struct store *store, struct pending_run *run, enum series_name name, const char *rows,
                            size_t count, struct error *err)
{
  struct pending_series *series = &run->series[name];
  const size_t row_bytes = store_series_kinds[name].row_bytes;
  while (count > 0) {
    uint32_t fits = reserve(series, name, count);
    for (uint32_t from = 0; from < fits; from += SLICE_ROWS) {
      uint32_t slice = fits - from < SLICE_ROWS ? fits - from : SLICE_ROWS;
      append(series, name, rows + from * row_bytes, row_bytes, slice);
    }
    store->dirty_count += !series->is_dirty;
    series->is_dirty = true;
    rows += fits * row_bytes;
    count -= fits;
    if (series->row_count == STORE_CHUNK_ROWS)
      XSP_TRY(write_part(store, run, name, err));
  }
  return STATUS_OK;
}

void store_set_fold(struct store *store, const struct store_fold *fold)
{
  store->fold = fold;
}

bool store_is_folding(const struct store *store)
{
  return store->fold != NULL;
}

enum status store_add_spans(struct store *store, int64_t run_id, const struct store_span *spans, size_t count,
                            struct error *err)
{
  XSP_TRY(writer_check(store, err));
  const char *why = find_bad_span(store, spans, count);
  if (why != NULL)
    return error_set(err, STATUS_INPUT, "cannot store spans", store->path, NULL, "%s", why);
  for (size_t i = 0; i < count && store->fold != NULL; i++)
    if (!store->fold->take_span(store->fold->context, run_id, &spans[i]))
      XSP_TRY(add_rows(store, pending_find(store, run_id), SERIES_SPAN, (const char *)&spans[i], 1, err));
  if (store->fold != NULL)
    return STATUS_OK;
  struct pending_run *run = pending_find(store, run_id);
  if (run->has_derived && count > 0)
    XSP_TRY(store_drop_derived(store, run_id, err));
  return add_rows(store, run, SERIES_SPAN, (const char *)spans, count, err);
}

enum status store_add_tags(struct store *store, int64_t run_id, const struct store_tag *tags, size_t count,
                           struct error *err)
{
  XSP_TRY(writer_check(store, err));
  const char *why = find_bad_tag(store, tags, count);
  if (why != NULL)
    return error_set(err, STATUS_INPUT, "cannot store tags", store->path, NULL, "%s", why);
  for (size_t i = 0; i < count && store->fold != NULL; i++)
    if (!store->fold->take_tag(store->fold->context, run_id, &tags[i]))
      XSP_TRY(add_rows(store, pending_find(store, run_id), SERIES_TAG, (const char *)&tags[i], 1, err));
  if (store->fold != NULL)
    return STATUS_OK;
  return add_rows(store, pending_find(store, run_id), SERIES_TAG, (const char *)tags, count, err);
}

enum status store_add_samples(struct store *store, int64_t run_id, const struct store_sample *samples, size_t count,
                              struct error *err)
{
  XSP_TRY(writer_check(store, err));
  const char *why = find_bad_sample(store, samples, count);
  if (why != NULL)
    return error_set(err, STATUS_INPUT, "cannot store samples", store->path, NULL, "%s", why);
  for (size_t i = 0; i < count && store->fold != NULL; i++)
    store->fold->take_sample(store->fold->context, run_id, &samples[i]);
  if (store->fold != NULL)
    return STATUS_OK;
  return add_rows(store, pending_find(store, run_id), SERIES_SAMPLE, (const char *)samples, count, err);
}

static size_t row_count(const struct pending_series *series)
{
  return (size_t)series->part * STORE_CHUNK_ROWS + series->row_count;
}

enum status store_place(struct store *store, int64_t run_id, struct store_place *ret_place, struct error *err)
{
  const struct pending_run *run = pending_find(store, run_id);
  *ret_place =
      (struct store_place){.spans = row_count(&run->series[SERIES_SPAN]), .tags = row_count(&run->series[SERIES_TAG])};
  return store_rows_last_log(store, &ret_place->logs, err);
}
