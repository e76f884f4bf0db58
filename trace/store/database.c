// SPDX-License-Identifier: Apache-2.0
// The one way to open another's SQLite file; see database.h. Called by open.c and by importers.
//
// The VFS is the system's own but for three functions. Hence a hot journal is never replayed in place (the connection is
// read-only), a super-journal that it names is never deleted, and a write-ahead log leaves no -shm next to the file.
#include "store/database.h"

#include "base/memory.h"
#include "store/sqlite_api.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static sqlite3_vfs reading; // a copy of the system's
static const sqlite3_vfs *system_vfs;

static int open_for_reading(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *ret_flags)
{
  bool is_read_only = (flags & SQLITE_OPEN_READONLY) != 0;
  file->pMethods = NULL;
  if (name == NULL || (is_read_only && (flags & SQLITE_OPEN_MAIN_DB) != 0))
    return system_vfs->xOpen(vfs, name, file, flags, ret_flags);
  if (!is_read_only || (flags & SQLITE_OPEN_MAIN_JOURNAL) == 0)
    return SQLITE_CANTOPEN;
  // Only to look whether it is hot. Called a main journal, it would be given to the database's owner where xsp is root.
  return system_vfs->xOpen(vfs, name, file, SQLITE_OPEN_SUPER_JOURNAL | SQLITE_OPEN_READONLY, ret_flags);
}

static int refuse_to_delete(sqlite3_vfs *vfs, const char *name, int is_synced)
{
  return SQLITE_IOERR_DELETE;
}

// A journal that is a FIFO or a link is none: SQLite makes regular files. Logs are looked for before connecting.
static int see_journals_only(sqlite3_vfs *vfs, const char *name, int question, int *ret_answer)
{
  static const char ending[] = "-journal";
  size_t length = strlen(name);
  *ret_answer = length > sizeof ending && strcmp(name + length - (sizeof ending - 1), ending) == 0 && //
                database_has(name, "");
  return SQLITE_OK;
}

static void register_reading(void)
{
  system_vfs = sqlite3_vfs_find(NULL);
  reading = *system_vfs;
  reading.zName = "xsp-reading";
  reading.xOpen = open_for_reading;
  reading.xDelete = refuse_to_delete;
  reading.xAccess = see_journals_only;
  sqlite3_vfs_register(&reading, 0);
}

// An absolute path as a URI: what has a meaning there is escaped.
static char *uri_of(const char *path, const char *parameters)
{
  size_t size = 3 * strlen(path) + strlen(parameters) + sizeof "file:", at = sizeof "file:" - 1;
  char *uri = memory_new(1, size);
  memcpy(uri, "file:", at);
  for (; *path != 0; path++) {
    unsigned char byte = (unsigned char)*path;
    bool is_special = strchr("%?#", byte) != NULL || byte < 0x20;
    at += (size_t)snprintf(uri + at, size - at, is_special ? "%%%02X" : "%c", byte);
  }
  memcpy(uri + at, parameters, strlen(parameters) + 1);
  return uri;
}

int database_connect(const char *path, bool is_complete, sqlite3 **ret_db)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, register_reading);
  char *uri SCOPED(scoped_free) = uri_of(path, is_complete ? "?immutable=1" : "");
  int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE;
  int code = sqlite3_open_v2(uri, ret_db, flags, reading.zName);
  return code;
}

bool database_has(const char *path, const char *ending)
{
  char *name SCOPED(scoped_free) = memory_new(strlen(path) + strlen(ending) + 1, 1);
  struct stat facts;
  sprintf(name, "%s%s", path, ending);
  bool has = lstat(name, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size > 0;
  return has;
}
