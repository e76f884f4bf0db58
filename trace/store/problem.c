// SPDX-License-Identifier: Apache-2.0
// Error texts of the store. Called where SQLite or a chunk reports an error; allocates nothing.
#include "store/problem.h"

#include "store/sqlite_api.h"

#include <stdarg.h>
#include <stdio.h>

static enum status of_code(int code, const char **ret_advice)
{
  *ret_advice = NULL;
  switch (code & 0xff) {
  case SQLITE_NOMEM:
    return STATUS_MEMORY;
  case SQLITE_FULL:
    *ret_advice = "free space there or write to another file system; what was committed before is intact";
    return STATUS_SYSTEM;
  case SQLITE_BUSY:
  case SQLITE_LOCKED:
    *ret_advice = "wait for the other process that has the file open";
    return STATUS_SYSTEM;
  case SQLITE_READONLY:
  case SQLITE_PERM:
  case SQLITE_AUTH:
  case SQLITE_CANTOPEN:
    *ret_advice = "check the permissions of the file and its folder";
    return STATUS_SYSTEM;
  case SQLITE_IOERR:
    return STATUS_SYSTEM;
  default:
    return STATUS_INPUT;
  }
}

enum status problem_sqlite(struct error *err, const char *what, const char *path, struct sqlite3 *db)
{
  const char *advice = NULL;
  int code = db == NULL ? SQLITE_NOMEM : sqlite3_extended_errcode(db);
  enum status status = of_code(code, &advice);
  return error_set(err, status, what, path, advice, "%s", db == NULL ? "out of memory" : sqlite3_errmsg(db));
}

enum status problem_broken(struct error *err, const char *path, const char *why_format, ...)
{
  char why[400];
  va_list args;
  va_start(args, why_format);
  vsnprintf(why, sizeof why, why_format, args);
  va_end(args);
  return error_set(err, STATUS_INPUT, "broken trace", path, NULL, "%s", why);
}
