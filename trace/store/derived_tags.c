// SPDX-License-Identifier: Apache-2.0
// Tags that follow from what is recorded. Called by correlate. SQL sees them like any others; the typed readers do not, so
// that exports and analyses only see what a source recorded. Older versions of xsp pass over their chunks.
#include "base/memory.h"
#include "store/handle.h"

#include <stdlib.h>

struct derived_rows { // of one part
  int64_t span_id[STORE_CHUNK_ROWS], value[STORE_CHUNK_ROWS];
  uint32_t key[STORE_CHUNK_ROWS];
  uint8_t type[STORE_CHUNK_ROWS];
};

static enum status write_part(struct store *store, int64_t run_id, int64_t part, const struct derived_rows *rows,
                              uint32_t count, struct error *err)
{
  const void *const columns[TAG_COLUMNS] = {
      [TAG_SPAN_ID] = rows->span_id, [TAG_KEY] = rows->key, [TAG_TYPE] = rows->type, [TAG_VALUE] = rows->value};
  for (unsigned i = 0; i < TAG_COLUMNS; i++)
    XSP_TRY(pending_write_chunk(store, run_id, SCHEMA_DERIVED_TAGS, part, &store_series_kinds[SERIES_TAG].columns[i],
                                columns[i], count, err));
  return STATUS_OK;
}

enum status store_put_derived_tags(struct store *store, int64_t run_id, const char *key,
                                   const struct store_derived_tags *tags, struct error *err)
{
  XSP_TRY(writer_check(store, err));
  XSP_TRY(writer_execute(store, err, "DELETE FROM chunk WHERE run_id = %lld AND series = %Q", (long long)run_id,
                         SCHEMA_DERIVED_TAGS));
  struct derived_rows *rows = memory_resize(NULL, 1, sizeof *rows);
  size_t count = tags->next(tags->context, STORE_CHUNK_ROWS, rows->span_id, rows->value);
  uint32_t string = count > 0 ? store_string(store, key, strlen(key)) : 0;
  for (size_t i = 0; i < count; i++) { // the same in all parts
    rows->key[i] = string;
    rows->type[i] = STORE_INT;
  }
  enum status status = pending_flush(store, err);
  for (int64_t part = 0; count > 0 && status == STATUS_OK; part++) {
    status = write_part(store, run_id, part, rows, (uint32_t)count, err);
    count = tags->next(tags->context, STORE_CHUNK_ROWS, rows->span_id, rows->value);
  }
  free(rows);
  reader_invalidate_run(&store->reader, run_id);
  return status;
}
