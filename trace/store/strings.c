// SPDX-License-Identifier: Apache-2.0
// String table. Used by the writer (interning) and by every reader (names of spans, keys of tags).
#include "store/strings.h"

#include "store/problem.h"
#include "store/sqlite_api.h"

#define SEARCHES_MOST 4 // from one end to the other, before building the index pays: it costs some 50 of them

void strings_done(struct strings *strings)
{
  interner_done(&strings->texts);
  *strings = (struct strings){0};
}

static void start(struct strings *strings)
{
  if (interner_count(&strings->texts) == 0)
    interner_append(&strings->texts, "", 0);
}

uint32_t strings_intern(struct strings *strings, const char *text, size_t length)
{
  start(strings);
  return length == 0 ? 0 : interner_at(&strings->texts, text, length);
}

uint32_t strings_add(struct strings *strings, const char *text, size_t length)
{
  start(strings);
  return length == 0 ? 0 : interner_append(&strings->texts, text, length);
}

// Once or twice, comparing lengths is far cheaper than hashing all texts.
static bool search(const struct strings *strings, struct slice text, uint32_t *ret_id)
{
  for (uint32_t id = 1; id < interner_count(&strings->texts); id++)
    if (slice_equal(interner_text(&strings->texts, id), text)) {
      *ret_id = id;
      return true;
    }
  return false;
}

bool strings_find(struct strings *strings, const char *text, size_t length, uint32_t *ret_id)
{
  *ret_id = 0;
  if (length == 0)
    return true;
  if (strings->texts.slots == NULL && strings->searches++ < SEARCHES_MOST)
    return search(strings, (struct slice){text, length}, ret_id);
  return interner_find(&strings->texts, text, length, ret_id);
}

enum status strings_load(struct strings *strings, struct sqlite3 *db, const char *path, struct error *err)
{
  start(strings);
  sqlite3_stmt *statement = NULL;
  int code = sqlite3_prepare_v2(db, "SELECT string_id, text FROM main.string WHERE string_id >= ?1 ORDER BY string_id",
                                -1, &statement, NULL);
  if (code != SQLITE_OK)
    return problem_sqlite(err, "cannot read trace", path, db);
  sqlite3_bind_int64(statement, 1, interner_count(&strings->texts));
  enum status status = STATUS_OK;
  while (status == STATUS_OK && (code = sqlite3_step(statement)) == SQLITE_ROW) {
    const char *text = (const char *)sqlite3_column_text(statement, 1);
    size_t length = (size_t)sqlite3_column_bytes(statement, 1);
    if (sqlite3_column_int64(statement, 0) != interner_count(&strings->texts))
      status = problem_broken(err, path, "the ids of its strings have gaps");
    else
      interner_append(&strings->texts, text, text != NULL ? length : 0);
  }
  if (status == STATUS_OK && code != SQLITE_DONE)
    status = problem_sqlite(err, "cannot read trace", path, db);
  sqlite3_finalize(statement);
  return status;
}
