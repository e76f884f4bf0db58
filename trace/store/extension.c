// SPDX-License-Identifier: Apache-2.0
// The tables `span` and `tag` for any SQLite: `.load build/xsp_sqlite`, then they are there for the connection's main
// database. Read only. This file and its dependencies are compiled against sqlite3ext.h. Exhausted memory ends the
// process that loaded it, as in xsp (base/memory.h).
#include "base/memory.h"
#include "store/handle.h"

#include <stdlib.h>

SQLITE_EXTENSION_INIT1

static void free_reader(void *reader)
{
  reader_done(reader);
  free(reader);
}

__attribute__((visibility("default"))) int sqlite3_xspsqlite_init(sqlite3 *db, char **ret_message,
                                                                  const sqlite3_api_routines *api);

int sqlite3_xspsqlite_init(sqlite3 *db, char **ret_message, const sqlite3_api_routines *api)
{
  SQLITE_EXTENSION_INIT2(api);
  struct reader *reader = memory_new(1, sizeof *reader);
  reader_start(reader, db, "main", NULL);
  reader->is_guest = true;
  // The last module registered owns the reader: closing a connection drops its modules in no promised order, but only
  // after all cursors are gone.
  int code = store_table_register(db, reader);
  if (code == SQLITE_OK) // a module that is never used: its destructor frees the reader with the connection
    code = sqlite3_create_module_v2(db, "xsp_reader", &(sqlite3_module){0}, reader, free_reader);
  return code;
}
