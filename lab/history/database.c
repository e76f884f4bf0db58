// SPDX-License-Identifier: Apache-2.0
// Records in a PostgreSQL database: schema xsp, a row of xsp.evaluation each, with its figures as JSON. Values are bound to statements,
// never part of their text. Called by the verbs history and publish.
#include "base/slice.h"
#include "history/figures.h"
#include "history/libpq.h"

#include <inttypes.h>
#include <stdio.h>

#define HISTORY_VERSION 1 // of the schema
#define VERSION_TEXT "1"

struct history_database {
  struct libpq pq;
  PGconn *connection;
  bool may_create;
  char name[256]; // for messages: without user and password
};

#define COLUMN_TEXT(name) ", " #name
#define FACT_COLUMNS HISTORY_FACTS(COLUMN_TEXT)
enum { // columns of xsp.evaluation, as they are written and read
  COLUMN_ID,
  COLUMN_CREATED_NS,
  COLUMN_BATCH,
  COLUMN_FIGURES,
#define X(name) COLUMN_##name,
  HISTORY_FACTS(X)
#undef X
      COLUMNS
};
_Static_assert(COLUMNS == 16, "the statement that inserts has as many parameters");

static const char *const schema[] = {
    "BEGIN",
    "SELECT pg_advisory_xact_lock(6365299)", // two that begin at once: one makes it
    "CREATE SCHEMA IF NOT EXISTS xsp",
    "CREATE TABLE IF NOT EXISTS xsp.version(version integer NOT NULL)",
    "INSERT INTO xsp.version SELECT " VERSION_TEXT " WHERE NOT EXISTS (SELECT FROM xsp.version)",
    "CREATE TABLE IF NOT EXISTS xsp.evaluation(id text PRIMARY KEY, created_ns bigint NOT NULL,"
    " created timestamptz GENERATED ALWAYS AS (to_timestamp(created_ns / 1e9)) STORED, batch bigint,"
#define X(name) " " #name " text,"
    HISTORY_FACTS(X)
#undef X
        " figures jsonb NOT NULL, stored timestamptz NOT NULL DEFAULT now())",
    "CREATE INDEX IF NOT EXISTS evaluation_created ON xsp.evaluation(created_ns)",
    "COMMIT",
    NULL,
};

bool history_is_address(const char *text)
{
  return text_begins_with(text, "postgresql://") || text_begins_with(text, "postgres://");
}

// ---- statements ------------------------------------------------------------------------------------------------------
// The first line of libpq's message, without what it begins with.
static enum status failed(struct history_database *database, const PGresult *result, enum status status,
                          struct error *err)
{
  bool is_lost = database->pq.status(database->connection) != CONNECTION_OK;
  const char *message = is_lost || result == NULL ? database->pq.errorMessage(database->connection)
                                                  : database->pq.resultErrorMessage(result);
  message += text_begins_with(message, "ERROR:")   ? strlen("ERROR:")
             : text_begins_with(message, "FATAL:") ? strlen("FATAL:")
                                                   : 0;
  message += strspn(message, " \n");
  return error_set(err, is_lost ? STATUS_SYSTEM : status,
                   is_lost ? "no connection to the database" : "the database refuses", database->name,
                   is_lost ? "again: what is stored already stays, and is not stored twice" : NULL, "%.*s",
                   (int)strcspn(message, "\n"), message);
}

// *ret_result is to be cleared, also after an error.
static enum status ask(struct history_database *database, const char *sql, const char *const *values, int count,
                       PGresult **ret_result, struct error *err)
{
  *ret_result = database->pq.execParams(database->connection, sql, count, NULL, values, NULL, NULL, 0);
  ExecStatusType state = database->pq.resultStatus(*ret_result);
  if (state == PGRES_COMMAND_OK || state == PGRES_TUPLES_OK)
    return STATUS_OK;
  return failed(database, *ret_result, STATUS_INPUT, err);
}

static enum status run(struct history_database *database, const char *sql, struct error *err)
{
  PGresult *result;
  enum status status = ask(database, sql, NULL, 0, &result, err);
  database->pq.clear(result);
  return status;
}

static void roll_back(struct history_database *database)
{
  if (database->pq.status(database->connection) == CONNECTION_OK)
    (void)(run(database, "ROLLBACK", NULL) == STATUS_OK); // else the server does, as the connection ends
}

// ---- the schema ------------------------------------------------------------------------------------------------------
static enum status create_schema(struct history_database *database, struct error *err)
{
  for (size_t i = 0; schema[i] != NULL; i++) {
    enum status status = run(database, schema[i], err);
    if (status != STATUS_OK) {
      roll_back(database);
      return status;
    }
  }
  return STATUS_OK;
}

static enum status one_value(struct history_database *database, const char *sql, char *ret_text, size_t size,
                             struct error *err)
{
  PGresult *result;
  enum status status = ask(database, sql, NULL, 0, &result, err);
  if (status == STATUS_OK)
    snprintf(ret_text, size, "%s", database->pq.ntuples(result) > 0 ? database->pq.getvalue(result, 0, 0) : "");
  database->pq.clear(result);
  return status;
}

static enum status check_schema(struct history_database *database, struct error *err)
{
  char text[32];
  XSP_TRY(one_value(database, "SELECT to_regclass('xsp.version') IS NOT NULL", text, sizeof text, err));
  if (strcmp(text, "t") != 0 && !database->may_create)
    return error_set(err, STATUS_INPUT, "no evaluations", database->name, "xsp history --to ADDRESS FILE...",
                     "the database has no schema xsp");
  if (strcmp(text, "t") != 0)
    XSP_TRY(create_schema(database, err));
  XSP_TRY(one_value(database, "SELECT version FROM xsp.version", text, sizeof text, err));
  if (strcmp(text, VERSION_TEXT) != 0)
    return error_set(err, STATUS_INPUT, "cannot use the database", database->name,
                     "the xsp that made it, or a new database", "its schema xsp has version %s, this xsp knows %d",
                     text[0] != 0 ? text : "none", HISTORY_VERSION);
  return STATUS_OK;
}

// ---- the connection --------------------------------------------------------------------------------------------------
static void ignore_notice(void *context, const char *message)
{
}

static enum status connect_to(struct history_database *database, const char *address, struct error *err)
{
  // The address has the last word.
  const char *const keys[] = {"connect_timeout", "client_encoding", "application_name", "dbname", NULL};
  const char *const values[] = {"10", "UTF8", "xsp", address, NULL};
  XSP_TRY(libpq_open(&database->pq, err));
  database->connection = database->pq.connectdbParams(keys, values, 1);
  if (database->connection == NULL)
    return error_set(err, STATUS_MEMORY, "cannot connect", NULL, NULL, "libpq has no memory");
  const char *host = database->pq.host(database->connection), *name = database->pq.db(database->connection);
  snprintf(database->name, sizeof database->name, "database %.100s of %.100s", name != NULL ? name : "",
           host != NULL ? host : "");
  database->pq.setNoticeProcessor(database->connection, ignore_notice, NULL);
  if (database->pq.status(database->connection) != CONNECTION_OK)
    return failed(database, NULL, STATUS_SYSTEM, err);
  return check_schema(database, err);
}

enum status history_database_open(const char *address, bool may_create, struct history_database **ret_database,
                                  struct error *err)
{
  struct history_database *database = memory_new(1, sizeof *database);
  database->may_create = may_create;
  enum status status = connect_to(database, address, err);
  *ret_database = database;
  if (status != STATUS_OK) {
    history_database_close(database);
    *ret_database = NULL;
  }
  return status;
}

void history_database_close(struct history_database *database)
{
  if (database != NULL && database->connection != NULL)
    database->pq.finish(database->connection);
  free(database);
}

// ---- writing ---------------------------------------------------------------------------------------------------------
static enum status insert(struct history_database *database, const struct history_record *record, size_t *added,
                          struct error *err)
{
  char created[32], batch[32];
  struct buf figures SCOPED(buf_done) = {0};
  PGresult *result;
  figures_write(record, &figures);
  snprintf(created, sizeof created, "%" PRId64, record->created_ns);
  snprintf(batch, sizeof batch, "%" PRId64, record->batch);
  const char *values[COLUMNS] = {record->id, created, record->batch > 0 ? batch : NULL, figures.data,
#define X(name) record->name,
                                 HISTORY_FACTS(X)
#undef X
  };
  enum status status = ask(database,
                           "INSERT INTO xsp.evaluation(id, created_ns, batch, figures" FACT_COLUMNS ") VALUES"
                           " ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)"
                           " ON CONFLICT (id) DO NOTHING",
                           values, COLUMNS, &result, err);
  if (status == STATUS_OK)
    *added += strtoul(database->pq.cmdTuples(result), NULL, 10);
  database->pq.clear(result);
  return status;
}

static enum status put(struct history_database *database, const struct history *history, size_t *ret_new,
                       struct error *err)
{
  *ret_new = 0;
  XSP_TRY(run(database, "BEGIN", err));
  enum status status = STATUS_OK;
  for (size_t i = 0; status == STATUS_OK && i < history->records.count; i++)
    status = insert(database, &history->records.items[i], ret_new, err);
  if (status == STATUS_OK)
    status = run(database, "COMMIT", err);
  if (status != STATUS_OK)
    roll_back(database);
  return status;
}

// A transaction whose COMMIT was not answered may be there or not: storing it again is right in both cases.
enum status history_database_put(struct history_database *database, const struct history *history, size_t *ret_new,
                                 struct error *err)
{
  enum status status = put(database, history, ret_new, err);
  if (status == STATUS_OK || database->pq.status(database->connection) == CONNECTION_OK)
    return status;
  database->pq.reset(database->connection);
  if (database->pq.status(database->connection) != CONNECTION_OK)
    return status;
  XSP_TRY(check_schema(database, err));
  return put(database, history, ret_new, err);
}

// ---- reading ---------------------------------------------------------------------------------------------------------
static const char *text_at(const struct history_database *database, const PGresult *result, int row, int column,
                           struct arena *arena)
{
  if (database->pq.getisnull(result, row, column))
    return NULL;
  return arena_copy(arena, database->pq.getvalue(result, row, column),
                    (size_t)database->pq.getlength(result, row, column));
}

static enum status add_row(struct history_database *database, const PGresult *result, int row, struct history *history,
                           struct error *err)
{
  struct arena *arena = &history->arena;
  struct history_record record = {.id = arena_format(arena, "%s", database->pq.getvalue(result, row, COLUMN_ID)),
                                  .created_ns =
                                      strtoll(database->pq.getvalue(result, row, COLUMN_CREATED_NS), NULL, 10),
                                  .batch = strtoll(database->pq.getvalue(result, row, COLUMN_BATCH), NULL, 10),
#define X(name) .name = text_at(database, result, row, COLUMN_##name, arena),
                                  HISTORY_FACTS(X)
#undef X
  };
  record.kind = record.kind != NULL ? record.kind : "profile";
  if (!figures_read(database->pq.getvalue(result, row, COLUMN_FIGURES),
                    (size_t)database->pq.getlength(result, row, COLUMN_FIGURES), arena, &record))
    return error_set(err, STATUS_INPUT, "cannot read the database", database->name, NULL,
                     "the figures of evaluation %.70s are not an object", record.id);
  *vector_add(&history->records) = record;
  return STATUS_OK;
}

enum status history_database_read(struct history_database *database, const struct history_selection *selection,
                                  struct history *history, struct error *err)
{
  char since[32], until[32];
  PGresult *result;
  snprintf(since, sizeof since, "%" PRId64, selection->since_ns);
  snprintf(until, sizeof until, "%" PRId64, selection->until_ns > 0 ? selection->until_ns : INT64_MAX);
  enum status status = ask(database,
                           "SELECT id, created_ns, batch, figures" FACT_COLUMNS " FROM xsp.evaluation"
                           " WHERE created_ns >= $1 AND created_ns <= $2",
                           (const char *const[]){since, until}, 2, &result, err);
  int count = status == STATUS_OK ? database->pq.ntuples(result) : 0;
  for (int row = 0; status == STATUS_OK && row < count; row++)
    status = add_row(database, result, row, history, err);
  database->pq.clear(result);
  return status;
}
