// SPDX-License-Identifier: Apache-2.0
// The writer's commits and the end: commit, sync, rename; the same connection then reads.
#include "base/debug.h"
#include "base/file_place.h"
#include "base/memory.h"
#include "base/scoped.h"
#include "store/handle.h"
#include "store/problem.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum status store_commit(struct store *store, struct error *err)
{
  XSP_TRY(writer_check(store, err));
  if (store->fold != NULL)
    XSP_TRY(store->fold->commit(store->fold->context, err));
  XSP_TRY(pending_flush(store, err));
  XSP_TRY(writer_execute(store, err, "COMMIT"));
  return writer_execute(store, err, "BEGIN");
}

// ---- files of a program that ends early ------------------------------------------------------------------------------
void store_unfinished_keep(struct store *store)
{
  unfinished_forget(&store->unfinished);
}

void partial_remove(const char *partial_path)
{
  unfinished_unlink(partial_path, "");
  unfinished_unlink(partial_path, "-journal");
}

// Of a database that was closed: an empty journal undoes nothing. One with something in it belongs to the file.
static void remove_empty_journal(const char *partial_path)
{
  char journal[4096];
  struct stat facts;
  int length = snprintf(journal, sizeof journal, "%s-journal", partial_path);
  if (length < (int)sizeof journal && lstat(journal, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size == 0)
    unlink(journal);
}

// ---- the end ---------------------------------------------------------------------------------------------------------
static void end_statements(struct store *store)
{
  for (unsigned i = 0; i < STATEMENT_COUNT; i++) {
    sqlite3_finalize(store->statements[i]);
    store->statements[i] = NULL;
  }
  for (unsigned i = 0; i < 2 * ROWS_COUNT; i++) {
    sqlite3_finalize(store->row_statements[i / 2][i % 2]);
    store->row_statements[i / 2][i % 2] = NULL;
  }
}

static void close_database(struct store *store)
{
  end_statements(store);
  reader_done(&store->reader);
  sqlite3_close(store->db);
  store->db = NULL;
  if (store->is_writing)
    remove_empty_journal(store->partial_path);
}

// fsync of the file and of its folder: the one place that pays for safety against power loss.
static enum status sync_and_rename(struct store *store, struct error *err)
{
  static const char what[] = "cannot finish trace";
  if (fsync(store->lock_file) != 0 || file_place(store->partial_path, store->path, store->may_replace) != 0) {
    if (errno != EEXIST)
      (void)error_set_errno(&store->failure, STATUS_SYSTEM, what, store->partial_path,
                            "the unfinished file is readable");
    else
      (void)error_set(&store->failure, STATUS_USE, what, store->path, "moving one of the two to another name",
                      "it appeared meanwhile; the complete trace is in %s", store->partial_path);
    store->has_failed = true;
    return writer_failed(store, err);
  }
  char *copy SCOPED(scoped_free) = memory_text(store->path);
  int folder SCOPED(scoped_close) = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0)
    (void)fsync(folder); // some file systems refuse it; the file itself is safe
  return STATUS_OK;
}

enum status store_finish(struct store *store, struct error *err)
{
  XSP_TRY(writer_check(store, err));
  XSP_TRY(pending_flush(store, err));
  XSP_TRY(writer_execute(store, err, "COMMIT"));
  pending_free(store);
  end_statements(store);
  enum status reading = store_read_on(store, err); // while the journal is in its place
  store->is_writing = false;
  remove_empty_journal(store->partial_path);
  enum status status = store->is_temporary ? STATUS_OK : sync_and_rename(store, err);
  flock(store->lock_file, LOCK_UN); // open until the end: closing it would give back SQLite's own lock of the file
  store->is_finished = true;
  if (store->is_temporary) // open, it needs no name any more, and no death of this process leaves it
    partial_remove(store->partial_path);
  unfinished_forget(&store->unfinished);
  XSP_TRY(status);
  DEBUG(store, "finished %s", store->path);
  return reading;
}

static void close_handle(struct store *store)
{
  if (store->db != NULL && store->is_writing)
    sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL); // no transaction: an error that says nothing new
  close_database(store);
  pending_free(store);
  strings_done(&store->strings);
  store_call_paths_done(&store->call_paths);
  if (store->lock_file >= 0) // after SQLite's descriptor of the file
    close(store->lock_file);
  free(store->path);
  unfinished_forget(&store->unfinished);
  free(store->partial_path);
  free(store->aside_path);
  free(store);
}

void store_close(struct store *store)
{
  if (store != NULL)
    close_handle(store);
}

void store_discard(struct store *store)
{
  if (store == NULL)
    return;
  if (store->lock_file >= 0 && !store->is_finished && store->partial_path != NULL) // ours: the lock says so
    partial_remove(store->partial_path);
  close_handle(store);
}

enum status store_end(struct store *store, enum status so_far, struct error *err)
{
  enum status status = so_far == STATUS_OK ? store_finish(store, err) : so_far;
  if (status == STATUS_OK)
    store_close(store);
  else
    store_discard(store);
  return status;
}
