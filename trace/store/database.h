// SPDX-License-Identifier: Apache-2.0
// Opens SQLite files that anyone may have made, for reading. Everything in xsp that reads one opens it here.
#ifndef XSP_STORE_DATABASE_H
#define XSP_STORE_DATABASE_H

#include "base/error.h"

#include <stdbool.h>

struct sqlite3;

// Connects read-only through a VFS that opens the file and its rollback journal for reading, opens no other named file,
// and deletes none; SQLite's own temporary files have no name. `is_complete`: as the file is, without locks and without
// looking for a journal. Returns SQLite's code: SQLITE_READONLY_ROLLBACK, at the first read, where a journal has to be
// replayed. *ret_db is to be closed in any case. `path`: by realpath.
int database_connect(const char *path, bool is_complete, struct sqlite3 **ret_db);

// Is there a non-empty regular file PATH + ending?
bool database_has(const char *path, const char *ending);

enum database_trust {
  DATABASE_TRUST_OWN,   // the caller's or root's files in a folder that no other user can write to
  DATABASE_TRUST_OWNER, // a person asked for it: anyone's file, and a journal of its owner, of the caller or of root
};
// Copies the file with its journal or write-ahead log into a fresh folder under TMPDIR, completes the copy there, and
// connects to it read-only. The copy has no name by then and goes with the connection. The original is only read.
// `path`: by realpath; `what` and `shown_path` are for the message. *ret_left_out: a journal of another user was.
enum status database_connect_to_copy(const char *path, enum database_trust trust, const char *what,
                                     const char *shown_path, struct sqlite3 **ret_db, bool *ret_left_out,
                                     struct error *err) MUST_CHECK;

#endif
