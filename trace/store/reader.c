// SPDX-License-Identifier: Apache-2.0
// Decoded columns on demand, least recently used out first. Everything read from the file is checked here, once: row
// counts, ids of strings, ranges of enums. Callers index by what they get without asking again.
#include "store/reader.h"

#include "base/memory.h"
#include "base/sorted.h"
#include "store/key_list.h"
#include "store/problem.h"
#include "store/sqlite_api.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char what[] = "cannot read trace";

void reader_start(struct reader *reader, struct sqlite3 *db, const char *path, struct strings *strings)
{
  *reader = (struct reader){.db = db, .path = path, .budget_bytes = READER_BUDGET_BYTES};
  reader->strings = strings;
  reader->is_writer = strings != NULL;
}

static void overlay_free(struct overlay *overlay)
{
  if (overlay == NULL)
    return;
  for (unsigned column = 0; column < STORE_COLUMNS; column++)
    free(overlay->columns[column]);
  free(overlay);
}

static void end_statements(struct reader *reader)
{
  sqlite3_stmt **const all[] = {&reader->chunk_statement, &reader->version_statement, &reader->rows_statement,
                                &reader->run_rows_statement};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    sqlite3_finalize(*all[i]);
    *all[i] = NULL;
  }
}

void reader_done(struct reader *reader)
{
  store_catalogue_free(reader);
  while (reader->overlays != NULL) {
    struct overlay *overlay = reader->overlays;
    reader->overlays = overlay->next;
    overlay_free(overlay);
  }
  end_statements(reader);
  chunk_codec_free(reader->codec);
  strings_done(&reader->own_strings);
  *reader = (struct reader){0};
}

void reader_rest(struct reader *reader)
{
  if (!reader->is_guest || reader->cursors > 0)
    return;
  end_statements(reader);
}

void reader_invalidate(struct reader *reader)
{
  if (reader->cursors == 0)
    store_catalogue_free(reader);
}

void reader_invalidate_run(struct reader *reader, int64_t run_id)
{
  bool is_only_one = reader->stale_run_id == 0 || reader->stale_run_id == run_id;
  if (!is_only_one || reader->overlays != NULL)
    reader_invalidate(reader);
  else if (reader->is_loaded && reader->cursors == 0)
    reader->stale_run_id = run_id;
}

static enum status prepare_once(const struct reader *reader, const char *sql, sqlite3_stmt **statement,
                                struct error *err)
{
  if (*statement != NULL || sqlite3_prepare_v2(reader->db, sql, -1, statement, NULL) == SQLITE_OK)
    return STATUS_OK;
  return problem_sqlite(err, what, reader->path, reader->db);
}

// Changes whenever another connection commits.
static enum status read_data_version(struct reader *reader, int64_t *ret_version, struct error *err)
{
  XSP_TRY(prepare_once(reader, "PRAGMA main.data_version", &reader->version_statement, err));
  int code = sqlite3_step(reader->version_statement);
  *ret_version = code == SQLITE_ROW ? sqlite3_column_int64(reader->version_statement, 0) : 0;
  if (sqlite3_reset(reader->version_statement) != SQLITE_OK)
    return problem_sqlite(err, what, reader->path, reader->db);
  return STATUS_OK;
}

static uint32_t count_contexts(sqlite3 *db) // 0 where a file of before has no such table
{
  sqlite3_stmt *statement = NULL;
  int64_t count = 0;
  if (sqlite3_prepare_v2(db, "SELECT max(context_id) FROM context", -1, &statement, NULL) == SQLITE_OK &&
      sqlite3_step(statement) == SQLITE_ROW)
    count = sqlite3_column_int64(statement, 0);
  sqlite3_finalize(statement);
  return count < 0 ? 0 : count > UINT32_MAX ? UINT32_MAX : (uint32_t)count;
}

enum status reader_refresh(struct reader *reader, struct error *err)
{
  if (reader->cursors > 0)
    return STATUS_OK;
  if (reader->codec == NULL)
    reader->codec = chunk_codec_create();
  int64_t version = 0;
  enum status status = read_data_version(reader, &version, err);
  reader_rest(reader);
  if (status != STATUS_OK)
    return status;
  int64_t stale_run_id = reader->stale_run_id;
  reader->stale_run_id = 0;
  if (reader->is_loaded && version == reader->data_version) {
    if (stale_run_id != 0)
      XSP_TRY(store_catalogue_load_run(reader, stale_run_id, err));
    reader->is_loaded = true;
    return STATUS_OK;
  }
  store_catalogue_free(reader);
  if (!reader->is_writer) {
    reader->strings = &reader->own_strings;
    XSP_TRY(strings_load(reader->strings, reader->db, reader->path, err));
    reader->context_count = count_contexts(reader->db);
  }
  XSP_TRY(store_catalogue_load(reader, err));
  reader->data_version = version;
  reader->is_loaded = true;
  return STATUS_OK;
}

struct run_chunks *reader_run(struct reader *reader, int64_t run_id)
{
  if (reader->run_count == 0)
    return NULL;
  size_t at = sorted_lower_bound_i64(run_id, &reader->runs->run_id, reader->run_count, sizeof *reader->runs);
  return at < reader->run_count && reader->runs[at].run_id == run_id ? &reader->runs[at] : NULL;
}

// ---- one chunk -------------------------------------------------------------------------------------------------------
// Signs and maxima instead of comparisons with an exit: vector code, of a column that is in the cache.
static bool in_range(const struct column_kind *kind, uint32_t count, const void *values)
{
  if (kind->type == CHUNK_INT64) {
    const int64_t *value = values;
    uint64_t outside = 0;
    if (kind->least == INT64_MIN && kind->most == INT64_MAX)
      return true;
    if (kind->least >= 0 && kind->most == INT64_MAX) // ids
      for (uint32_t i = 0; i < count; i++)
        outside |= (uint64_t)value[i] | ((uint64_t)value[i] - (uint64_t)kind->least);
    else
      for (uint32_t i = 0; i < count; i++)
        outside |= (uint64_t)(value[i] < kind->least || value[i] > kind->most) << 63;
    return outside >> 63 == 0;
  }
  uint32_t largest = 0;
  uint8_t largest_byte = 0, smallest_byte = UINT8_MAX;
  if (kind->type == CHUNK_UINT32)
    for (uint32_t i = 0; i < count; i++)
      largest = ((const uint32_t *)values)[i] > largest ? ((const uint32_t *)values)[i] : largest;
  else
    for (uint32_t i = 0; i < count; i++) {
      uint8_t byte = ((const uint8_t *)values)[i];
      largest_byte = byte > largest_byte ? byte : largest_byte;
      smallest_byte = byte < smallest_byte ? byte : smallest_byte;
    }
  return (int64_t)(largest | largest_byte) <= kind->most &&
         (kind->type == CHUNK_UINT32 || smallest_byte >= kind->least);
}

static enum status check_values(const struct reader *reader, const struct column_kind *kind, uint32_t count,
                                const void *values, struct error *err)
{
  struct column_kind limits = *kind;
  if (kind->of == COLUMN_OF_STRINGS)
    limits.most = (int64_t)strings_count(reader->strings) - 1;
  else if (kind->of == COLUMN_OF_CONTEXTS)
    limits.most = reader->context_count;
  if (in_range(&limits, count, values))
    return STATUS_OK;
  return problem_broken(err, reader->path, "a chunk of column %s holds a value that is out of range", kind->name);
}

// The blob of a chunk, valid until the statement is reset.
static enum status fetch_chunk(struct reader *reader, int64_t chunk_id, const uint8_t **ret_data, size_t *ret_size,
                               struct error *err)
{
  XSP_TRY(prepare_once(reader, "SELECT data FROM main.chunk WHERE chunk_id = ?1", &reader->chunk_statement, err));
  sqlite3_bind_int64(reader->chunk_statement, 1, chunk_id);
  int code = sqlite3_step(reader->chunk_statement);
  if (code == SQLITE_DONE)
    return error_set(err, STATUS_SYSTEM, what, reader->path, "ask again", "it was changed while it was read");
  if (code != SQLITE_ROW)
    return problem_sqlite(err, what, reader->path, reader->db);
  *ret_data = sqlite3_column_blob(reader->chunk_statement, 0);
  *ret_size = *ret_data == NULL ? 0 : (size_t)sqlite3_column_bytes(reader->chunk_statement, 0);
  return STATUS_OK;
}

// `are_zeros`: ret_values holds zeros already, which then are not written: memory that was never touched costs nothing.
static enum status decode_chunk(struct reader *reader, const struct reader_series *series,
                                const struct reader_part *part, unsigned column, bool are_zeros, void *ret_values,
                                struct error *err)
{
  const struct column_kind *kind = &store_series_kinds[series->name].columns[column];
  int64_t chunk_id = part->slot[column].chunk_id;
  if (chunk_id == 0 && kind->absent_is_zero) {
    if (!are_zeros)
      memset(ret_values, 0, part->row_count * chunk_type_size(kind->type));
    return STATUS_OK;
  }
  const uint8_t *data = NULL;
  size_t size = 0;
  enum status status = fetch_chunk(reader, chunk_id, &data, &size, err);
  if (status == STATUS_OK &&
      !(are_zeros && kind->least <= 0 && chunk_is_zero(reader->codec, kind->type, data, size, part->row_count))) {
    const char *why = chunk_decode(reader->codec, kind->type, data, size, part->row_count, ret_values);
    status = why == NULL ? check_values(reader, kind, part->row_count, ret_values, err)
                         : problem_broken(err, reader->path, "chunk %lld (column %s, rows from %llu): %s",
                                          (long long)chunk_id, kind->name, (unsigned long long)part->first_row, why);
  }
  sqlite3_reset(reader->chunk_statement);
  return status;
}

bool reader_is_counting(struct reader *reader, const struct reader_series *series, unsigned column, int64_t *ret_first)
{
  for (size_t i = 0; i < series->part_count; i++) {
    const struct reader_part *part = &series->parts[i];
    const uint8_t *data = NULL;
    size_t size = 0;
    int64_t first = 0;
    bool is_good = part->slot[column].chunk_id > 0 &&
                   fetch_chunk(reader, part->slot[column].chunk_id, &data, &size, NULL) == STATUS_OK &&
                   chunk_is_counting(reader->codec, data, size, part->row_count, &first);
    if (reader->chunk_statement != NULL)
      sqlite3_reset(reader->chunk_statement);
    *ret_first = i == 0 ? first : *ret_first;
    if (!is_good || first < 1 || (uint64_t)first != (uint64_t)*ret_first + part->first_row)
      return false;
  }
  return series->part_count > 0;
}

enum status reader_part_column(struct reader *reader, const struct reader_series *series,
                               const struct reader_part *part, unsigned column, void *ret_values, struct error *err)
{
  size_t size = part->row_count * chunk_type_size(store_series_kinds[series->name].columns[column].type);
  // Correlate reads few columns twice: to decode them again costs less than memory that is new.
  size_t kept_bytes = reader->is_writer ? 0 : READER_KEPT_BYTES;
  if (part->slot[column].block == NULL && reader->cached_bytes + size > kept_bytes)
    return decode_chunk(reader, series, part, column, false, ret_values, err);
  struct block *block; // several analyses read the same columns
  XSP_TRY(reader_pin(reader, series, &series->parts[part - series->parts], column, &block, err));
  memcpy(ret_values, block->values, size);
  block->pins--;
  return STATUS_OK;
}

enum status reader_column(struct reader *reader, const struct reader_series *series, unsigned column, bool are_zeros,
                          void *ret_values, struct error *err)
{
  size_t width = chunk_type_size(store_series_kinds[series->name].columns[column].type);
  for (size_t i = 0; i < series->part_count; i++) {
    const struct reader_part *part = &series->parts[i];
    void *to = (char *)ret_values + part->first_row * width;
    XSP_TRY(part->slot[column].block != NULL ? reader_part_column(reader, series, part, column, to, err)
                                             : decode_chunk(reader, series, part, column, are_zeros, to, err));
  }
  return STATUS_OK;
}

// ---- cache -----------------------------------------------------------------------------------------------------------
static void remove_block(struct reader *reader, struct block *block)
{
  *(block->newer != NULL ? &block->newer->older : &reader->newest) = block->older;
  *(block->older != NULL ? &block->older->newer : &reader->oldest) = block->newer;
}

void reader_add_block(struct reader *reader, struct block *block)
{
  block->newer = NULL;
  block->older = reader->newest;
  *(reader->newest != NULL ? &reader->newest->newer : &reader->oldest) = block;
  reader->newest = block;
}

void reader_free_block(struct reader *reader, struct block *block)
{
  remove_block(reader, block);
  reader->cached_bytes -= block->size_bytes;
  *block->owner = NULL;
  free(block);
}

static void make_room(struct reader *reader, size_t size)
{
  struct block *block = reader->oldest;
  while (block != NULL && reader->cached_bytes + size > reader->budget_bytes) {
    struct block *newer = block->newer;
    if (block->pins == 0)
      reader_free_block(reader, block);
    block = newer;
  }
}

enum status reader_pin(struct reader *reader, const struct reader_series *series, struct reader_part *part,
                       unsigned column, struct block **ret_block, struct error *err)
{
  struct reader_slot *slot = &part->slot[column];
  struct block *block = slot->block;
  if (block == NULL) {
    size_t size = part->row_count * chunk_type_size(store_series_kinds[series->name].columns[column].type);
    make_room(reader, size);
    block = memory_resize(NULL, 1, sizeof *block + size);
    enum status status = decode_chunk(reader, series, part, column, false, block + 1, err);
    if (status != STATUS_OK) {
      free(block);
      return status;
    }
    *block = (struct block){.owner = &slot->block, .size_bytes = size, .values = block + 1};
    slot->block = block;
    reader->cached_bytes += size;
    reader_add_block(reader, block);
  } else if (block != reader->newest) {
    remove_block(reader, block);
    reader_add_block(reader, block);
  }
  block->pins++;
  *ret_block = block;
  return STATUS_OK;
}

enum status reader_list(struct reader *reader, struct reader_series *series, unsigned column,
                        const struct key_list **ret_list, struct error *err)
{
  *ret_list = series->lists[column];
  if (*ret_list != NULL || series->row_count >= UINT32_MAX)
    return STATUS_OK;
  int64_t first = 0;
  if (reader_is_counting(reader, series, column, &first)) {
    *ret_list = series->lists[column] = key_list_create_counting(first, series->row_count);
    return STATUS_OK;
  }
  XSP_TRY(reader_check_memory(reader, series, column, series->row_count, sizeof(int64_t), err));
  int64_t *values SCOPED(scoped_free) = memory_resize(NULL, series->row_count, sizeof *values);
  enum status status = reader_column(reader, series, column, false, values, err);
  if (status == STATUS_OK)
    series->lists[column] = key_list_create(values, series->row_count);
  *ret_list = series->lists[column];
  return status;
}

// A few broken bytes can claim billions of rows: what cannot fit into this machine is refused before it is asked for.
enum status reader_check_memory(const struct reader *reader, const struct reader_series *series, unsigned column,
                                uint64_t row_count, size_t width, struct error *err)
{
  uint64_t machine_bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
  if (row_count <= machine_bytes / width)
    return STATUS_OK;
  return error_set(err, STATUS_MEMORY, what, reader->path, NULL, "column %s of %llu rows does not fit into memory",
                   store_series_kinds[series->name].columns[column].name, (unsigned long long)row_count);
}

// ---- overlays and texts ----------------------------------------------------------------------------------------------
enum status reader_add_overlay(struct reader *reader, struct overlay *overlay, struct error *err)
{
  struct overlay **at = &reader->overlays;
  while (*at != NULL && (*at)->run_id != overlay->run_id)
    at = &(*at)->next;
  struct overlay *old = *at;
  overlay->next = old != NULL ? old->next : NULL;
  *at = overlay;
  store_catalogue_free(reader); // its blocks point into the old one
  overlay_free(old);
  return reader_refresh(reader, err);
}

const char *reader_text(const struct reader *reader, uint32_t string_id, size_t *ret_length)
{
  const struct strings *strings = reader->strings;
  if (strings == NULL || string_id >= interner_count(&strings->texts)) {
    *ret_length = 0;
    return "";
  }
  struct slice text = interner_text(&strings->texts, string_id);
  *ret_length = text.length;
  return text.data;
}
