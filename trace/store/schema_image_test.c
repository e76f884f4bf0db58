// SPDX-License-Identifier: Apache-2.0
// The bytes of a file without rows are those of a file that SQLite makes by the same statements.
#include "store/schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sqlite3.h>

#define EXEC(db, sql) assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK)

// A row: its size and number, the record's head (its size, four types of at most two bytes, that of the page), the values. Page 1: the
// file's head, the leaf's, places, rows.
static void test_all_has_room(void **state)
{
  (void)state;
  size_t page = 100 + 8;
  for (size_t i = 0; i < SCHEMA_OBJECTS; i++) {
    const struct schema_object *object = &schema_objects[i];
    size_t record = 1 + 4 * 2 + 1 + strlen("table") + strlen(object->name) + strlen(object->table) + 1 +
                    (object->sql != NULL ? strlen(object->sql) : 0);
    if (record > SCHEMA_ROW_BYTES)
      fail_msg("%s takes %zu bytes", object->name, record);
    page += 2 + 2 + 1 + record;
  }
  if (page > SCHEMA_PAGE_BYTES)
    fail_msg("the schema takes %zu bytes", page);
}

static void put_rows(sqlite3 *db, const char *sql, FILE *out)
{
  sqlite3_stmt *statement = NULL;
  assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
  int code;
  while ((code = sqlite3_step(statement)) == SQLITE_ROW)
    for (int i = 0; i < sqlite3_column_count(statement); i++) {
      const unsigned char *text = sqlite3_column_text(statement, i);
      fprintf(out, "%s%s", text != NULL ? (const char *)text : "NULL",
              i + 1 < sqlite3_column_count(statement) ? "|" : "\n");
    }
  assert_int_equal(code, SQLITE_DONE);
  sqlite3_finalize(statement);
}

static char *describe(sqlite3 *db)
{
  static const char *const questions[] = {
      "SELECT rowid, * FROM sqlite_schema ORDER BY rowid",
      "PRAGMA page_size",
      "PRAGMA page_count",
      "PRAGMA encoding",
      "PRAGMA application_id",
      "PRAGMA user_version",
      "PRAGMA freelist_count",
      "PRAGMA auto_vacuum",
      "PRAGMA integrity_check",
  };
  char *text = NULL;
  size_t length = 0;
  FILE *out = open_memstream(&text, &length);
  for (size_t i = 0; i < sizeof questions / sizeof questions[0]; i++)
    put_rows(db, questions[i], out);
  fclose(out);
  return text;
}

static sqlite3 *open_made(const char *path)
{
  sqlite3 *db = NULL;
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  EXEC(db, "PRAGMA page_size=8192; BEGIN; PRAGMA application_id=0x58535031; PRAGMA user_version=1");
  for (size_t i = 0; i < SCHEMA_OBJECTS; i++)
    if (schema_objects[i].sql != NULL)
      EXEC(db, schema_objects[i].sql);
  EXEC(db, "COMMIT");
  return db;
}

static sqlite3 *open_image(const char *path)
{
  sqlite3 *db = NULL;
  size_t size = 0;
  void *image = schema_image(&size);
  FILE *file = fopen(path, "w");
  assert_int_equal(fwrite(image, 1, size, file), size);
  fclose(file);
  free(image);
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  return db;
}

static void test_as_sqlite_makes_it(void **state)
{
  (void)state;
  char folder[] = "/tmp/xsp-schema-test-XXXXXX", path[64];
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/made", folder);
  sqlite3 *db = open_made(path);
  char *made = describe(db);
  sqlite3_close(db);
  remove(path);
  snprintf(path, sizeof path, "%s/image", folder);
  db = open_image(path);
  char *image = describe(db);
  assert_string_equal(image, made);
  EXEC(db, "INSERT INTO trace VALUES(1, 1, 'a'), (1, 2, 'b'); INSERT INTO output VALUES(1, 1, 'f', 't', 's', x'00')");
  EXEC(db, "INSERT INTO note VALUES(1, 'k', 'v'); INSERT INTO log VALUES(1, NULL, 1, 'm'); DROP TABLE frame");
  free(image);
  image = describe(db);
  assert_non_null(strstr(image, "\nok\n"));
  sqlite3_close(db);
  remove(path);
  free(image);
  free(made);
  assert_int_equal(remove(folder), 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_all_has_room),
      cmocka_unit_test(test_as_sqlite_makes_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
